"""Every kind of audit entry has a typed body and a sentence of that body's fields."""

import string

import pytest

from orchestrator.audit import move_entries, run_entries
from orchestrator.audit.execution import entries
from orchestrator.audit.kinds import EntryBody, EntryKind

UNTYPED = {EntryKind.FENCE, EntryKind.WRONG_CONSOLE_TOKEN}
FAMILIES: tuple[dict[str, type[EntryBody]], ...] = (
    entries.Body.types,
    run_entries.Body.types,
    move_entries.Body.types,
)
BODIES = {kind: body for family in FAMILIES for kind, body in family.items()}


def test_every_kind_has_one_body() -> None:
    assert BODIES.keys() == set(EntryKind) - UNTYPED
    assert len(BODIES) == sum(map(len, FAMILIES))
    assert {kind: body.kind for kind, body in BODIES.items()} == {kind: kind for kind in BODIES}


@pytest.mark.parametrize("body", BODIES.values())
def test_a_sentence_names_fields(body: type[EntryBody]) -> None:
    kind = body.kind
    named = {
        field.partition(".")[0]
        for _, field, _, _ in string.Formatter().parse(kind.sentence)
        if field is not None
    }
    derived = {"already", "decided", "blocked", "before", "asked", "of", "restored", "reason"}
    derived |= {"result", "where", "ended"}
    assert kind.sentence
    assert named - body.model_fields.keys() <= derived
