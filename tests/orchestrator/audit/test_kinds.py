"""Every kind of audit entry has a typed body and a sentence of that body's fields."""

import string
from pathlib import Path

import pytest

from orchestrator.audit import AuditLog, move_entries, run_entries
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.trail import ExecutionTrail
from orchestrator.audit.kinds import EntryBody, EntryKind
from orchestrator.errors import AuditError

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


@pytest.mark.parametrize(
    ("kind", "why"),
    [(EntryKind.PAUSED, "`by`: Field required"), ("step_revoked", "its kind is not known")],
)
def test_an_entry_of_another_version_is_one_error_with_its_place_and_the_fix(
    tmp_path: Path, kind: str, why: str
) -> None:
    with AuditLog.open(tmp_path / "audit.db") as log:
        log.append("prod", kind, {"novel": 1}, 0)
        with pytest.raises(AuditError) as raised:
            ExecutionTrail(log, "prod").state()
    assert str(raised.value) == (
        f"entry 1 ({kind}) of prod in the audit trail is one that this version cannot read: {why}."
        " Use the version of Kraftgate that wrote it, or start with a new state directory, and skip"
        " what the migration has passed: kraftgate help state-and-backup"
    )
