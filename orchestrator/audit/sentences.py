"""An entry of the audit trail as a sentence; the export has all of its fields."""

from typing import Final

from pydantic import ValidationError

from migration.metadata.event_kinds import Weight
from orchestrator.audit import move_entries, run_entries
from orchestrator.audit.description import fields_text
from orchestrator.audit.entry import Entry
from orchestrator.audit.execution import entries
from orchestrator.audit.kinds import KINDS, EntryBody, EntryKind

_FAMILIES: Final = (entries.Body, run_entries.Body, move_entries.Body)


def sentence(entry: Entry) -> str:
    """Return the sentence of an entry; for one of another version, its fields."""
    body = _body(entry)
    try:
        if body is not None:
            return body.sentence()
        found = EntryKind(entry.kind).sentence.format_map(entry.body)
    except (ValueError, KeyError, AttributeError):  # a value or a field of another version
        found = ""
    return found or f"{entry.kind} {fields_text(entry)}".strip()


def weight_of(entry: Entry) -> Weight:
    """Return how much an entry matters; one of another version is notable."""
    body = _body(entry)
    if body is not None:
        return body.weight
    return EntryKind(entry.kind).weight if entry.kind in KINDS else "notable"


def _body(entry: Entry) -> EntryBody | None:
    """Return the typed body; None: there is none, or another version wrote it."""
    for family in _FAMILIES:
        kind: type[EntryBody] | None = family.types.get(entry.kind)
        if kind is not None:
            try:
                return kind.model_validate(entry.body)
            except ValidationError:
                return None
    return None
