"""An event as a sentence: one text for the terminal, the console and the report."""

from collections.abc import Mapping
from typing import Final

from migration.image.summary import Phase
from migration.metadata.event_kinds import EventKind, Weight
from migration.metadata.events import Event
from migration.metadata.versions import name_of
from migration.observed.jmx_names import JmxName
from migration.values.durations import duration_text
from orchestrator.output.formatting import for_people, pairs

_COUNTED: Final = (("directories", "log_dirs"), ("lost", "directories"), ("added", "directories"))
_READ: Final = ("reads", "expected", "now", "was")
"""What an event of a JMX number says of its value."""
_KINDS: Final[Mapping[str, EventKind]] = {each: each for each in EventKind}
_NUMBERS: Final[Mapping[str, JmxName]] = {each: each for each in JmxName}


def weight_of(kind: str) -> Weight:
    """Return the importance of this kind of event; an unknown kind is notable."""
    known = _KINDS.get(kind)
    return "notable" if known is None else known.weight


def sentence(event: Event) -> str:
    """Return the event as a sentence; for a kind that this version does not know, its fields."""
    if event.kind == EventKind.PHASE_CHANGED and event.fields.get("now") == Phase.KRAFT:
        return f"the phase is {Phase.KRAFT}"  # the first one, whatever an earlier release stored
    fields = {**event.fields, **_derived(event)}
    fields = {k: str(v).lower() if isinstance(v, bool) else v for k, v in fields.items()}
    try:
        return _KINDS[event.kind].sentence.format_map(fields)
    except KeyError:  # a kind or fields of another version
        return f"{event.kind} {pairs(for_people(event.fields))}".strip()


def _derived(event: Event) -> dict[str, object]:
    fields = event.fields
    derived: dict[str, object] = {"broker": event.broker}
    for name in ("blind_ms", "silent_ms", "full_ms"):
        spent_ms = fields.get(name)
        if isinstance(spent_ms, int):
            derived[name.removesuffix("_ms")] = duration_text(spent_ms)
    for name, of in _COUNTED:
        listed = fields.get(of)
        if isinstance(listed, list | tuple):
            derived[name] = len(listed)
    held_ms, level = fields.get("held_ms"), fields.get("level")
    derived["after"] = f", after {duration_text(held_ms)}" if isinstance(held_ms, int) else ""
    if isinstance(level, int):
        derived["version"] = name_of(level)
    number = _NUMBERS.get(str(fields.get("name")))
    if number is not None:
        for name in _READ:
            value = fields.get(name)
            if isinstance(value, int):
                derived[name] = number.words(value)
    if "kraft" in fields:
        derived["holder"] = "KRaft controller" if fields["kraft"] else "broker"
    return derived
