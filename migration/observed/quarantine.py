"""Facts with values that no journal, image or store can hold: an event names them; none is applied.

Readers enforce the bounds of `migration.values.foreign`; this module handles the values that pass
them nevertheless, and facts that earlier versions stored.
"""

from typing import Final

from migration.metadata.event_kinds import EventKind
from migration.metadata.events import Event, EventCollector, Source
from migration.observed.facts import (
    DiskContentSeen,
    DiskFact,
    FactQuarantined,
    JmxFact,
    Observation,
)
from migration.values.foreign import INT64_MAX
from migration.values.timestamps import within

_SUBJECT_MAX: Final = 200


def flaw(value: object) -> str | None:
    """Return why a fact, or a value of it, cannot be stored; None: it can."""
    if isinstance(value, tuple):
        return next((found for each in value if (found := flaw(each)) is not None), None)
    if isinstance(value, int) and not -INT64_MAX - 1 <= value <= INT64_MAX:
        return "a number of it has more than 64 bits"
    if isinstance(value, str) and not _is_unicode(value):
        return "a text of it is not Unicode"
    return None


def quarantined(fact: Observation, why: str) -> FactQuarantined:
    """Return the fact to store in place of the flawed one."""
    return FactQuarantined(
        seen_ms=within(fact.seen_ms),
        source=str(_source(fact)),
        fact=type(fact).__name__,
        subject=_subject(fact),
        why=why,
    )


def events_of(fact: FactQuarantined) -> tuple[Event, ...]:
    collected = EventCollector(Source(fact.source), fact.seen_ms)
    collected.add(EventKind.FACT_QUARANTINED, fact=fact.fact, subject=fact.subject, reason=fact.why)
    return collected.events


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _source(fact: Observation) -> Source:
    if isinstance(fact, FactQuarantined):
        return Source(fact.source)
    if isinstance(fact, JmxFact):
        return Source.JMX
    if isinstance(fact, DiskFact | DiskContentSeen):
        return Source.LOG_DIRS
    return Source.ZOOKEEPER


def _subject(fact: Observation) -> str:
    named = ((name, getattr(fact, name, None)) for name in ("path", "topic", "broker", "node"))
    text = ", ".join(f"{name} {value}" for name, value in named if value is not None)
    return text.encode("ascii", "backslashreplace").decode()[:_SUBJECT_MAX]
