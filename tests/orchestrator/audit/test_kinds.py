"""Every kind of audit entry has a typed body and a sentence of that body's fields."""

import string
from collections import abc
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import pytest
from pydantic import BaseModel

from orchestrator.audit import AuditLog, move_entries, run_entries
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.trail import ExecutionTrail
from orchestrator.audit.kinds import EntryBody, EntryKind
from orchestrator.errors import AuditError
from orchestrator.redaction.redactor import MARK, Redactor

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


def test_entries_stay_readable_if_secrets_are_words_of_them(tmp_path: Path) -> None:
    made = {kind: body.model_validate(_sample(body)) for kind, body in BODIES.items()}
    names = {name for body in BODIES.values() for name in body.model_fields}
    secrets = {*names, "who", "login", "zookeeper", "critical", "satisfied", "Kraftgate", "console"}
    with AuditLog.open(tmp_path / "audit.db", Redactor(secrets)) as log:
        for kind, body in made.items():
            entry = log.append("prod", kind, body.as_json(), 0)
            [(_, read)] = type(body).read([entry])
            assert read.sentence()
            for key in ("source", "hazard", "severity", "alert", "fingerprint", "labels", "basis"):
                assert getattr(read, key, None) == getattr(body, key, None)
            assert getattr(read, "reason", MARK) == MARK
            assert not (by := getattr(read, "by", None)) or by.login == "zookeeper"


def _sample(model: type[BaseModel]) -> dict[str, object]:
    return {name: _value(field.annotation) for name, field in model.model_fields.items()}


def _value(annotation: Any) -> object:  # of a field
    """Return a value of a field, whose texts are a secret."""
    first = next(iter(get_args(annotation)), None)
    match get_origin(annotation) or annotation:
        case origin if origin is Literal:
            return first
        case origin if origin in (Union, UnionType):
            return _value(first)
        case origin if origin is tuple:
            return (_value(first),)
        case origin if origin is abc.Mapping:
            return {"broker": "zookeeper"}
        case model if issubclass(model, BaseModel):
            return _sample(model)
        case kind if issubclass(kind, Enum):
            return next(iter(kind))
        case plain:
            return {str: "zookeeper", int: 7, bool: True}[plain]
