"""Entries of the audit trail as text, for people; the export has all entries with all fields."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from pydantic import ValidationError

from migration.metadata.event_kinds import Weight
from orchestrator.audit import move_entries, run_entries
from orchestrator.audit.entry import Entry
from orchestrator.audit.execution import entries
from orchestrator.audit.kinds import KINDS, EntryBody, EntryKind
from orchestrator.output.formatting import for_people, pairs

BODIES: Final[Mapping[str, type[EntryBody]]] = (
    entries.Body.types | run_entries.Body.types | move_entries.Body.types
)
"""The typed bodies of all families by kind; the other kinds have none."""
_AUTHOR: Final = "by"
_OMITTED: Final = frozenset({_AUTHOR, "facts", "basis", "evidence"})
_CHARACTERS_MAX: Final = 160


def author(entry: Entry) -> str:
    """Return who decided it, and on which host; kraftgate if no operator did."""
    by = entry.body.get(_AUTHOR)
    if isinstance(by, Mapping):
        given, login = by.get("who"), by.get("login")
        name = given if login in (None, given) else f"{given} (login {login})"
        return f"{name}@{by.get('host')}"
    return str(by or "kraftgate")


def sentence(entry: Entry) -> str:
    """Return the sentence of an entry; for one of another version, its fields."""
    body = _body(entry)
    try:
        if body is not None:
            return body.sentence()
        found = EntryKind(entry.kind).sentence.format_map(entry.body)
    except (ValueError, KeyError, AttributeError):  # a value or a field of another version
        found = ""
    return found or f"{entry.kind} {_fields_text(entry)}".strip()


def weight_of(entry: Entry) -> Weight:
    """Return how much an entry matters; one of another version is notable."""
    body = _body(entry)
    if body is not None:
        return body.weight
    return EntryKind(entry.kind).weight if entry.kind in KINDS else "notable"


def folded(found: Iterable[Entry]) -> Iterator[tuple[Entry, int]]:
    """Yield the entries; of consecutive evaluations the last of each part, and how many."""
    for _, group in groupby(found, key=_series):
        parts: dict[object, tuple[Entry, int]] = {}
        for entry in group:
            part = entry.body.get("part")
            parts[part] = entry, parts.pop(part, (entry, 0))[1] + 1
        yield from parts.values()


def checked_text(times: int) -> str:
    """Return the number of folded entries, such as " (checked 92 times)"; "": only one."""
    return f" (checked {times} times)" if times > 1 else ""


def _body(entry: Entry) -> EntryBody | None:
    """Return the typed body; None: there is none, or another version wrote it."""
    kind = BODIES.get(entry.kind)
    try:
        return None if kind is None else kind.model_validate(entry.body)
    except ValidationError:
        return None


def _fields_text(entry: Entry) -> str:
    """Return the fields in one line of at most `_CHARACTERS_MAX` characters, without digests."""
    text = pairs(for_people(dict(_fields(entry))))
    return f"{text[:_CHARACTERS_MAX]}..." if len(text) > _CHARACTERS_MAX else text


def _fields(entry: Entry) -> Iterator[tuple[str, object]]:
    """Yield the fields, except the author, empty values, and those that only the export shows."""
    for key, value in entry.body.items():
        if key in _OMITTED or value is None:
            continue
        if key == "findings":
            yield from _unmet(value)
        else:
            yield key, value


def _unmet(findings: object) -> Iterator[tuple[str, object]]:
    if isinstance(findings, Sequence) and not isinstance(findings, str):
        conditions = [each for each in findings if isinstance(each, Mapping)]
        reasons = [
            f"{each.get('condition')}: {each.get('reason')}"
            for each in conditions
            if each.get("verdict") != "satisfied"
        ]
        if reasons:
            yield "holds", "; ".join(reasons)


def _series(entry: Entry) -> object:
    if entry.kind != EntryKind.JUDGED:
        return entry.sequence
    return entry.kind, entry.cluster, entry.body.get("checkpoint")
