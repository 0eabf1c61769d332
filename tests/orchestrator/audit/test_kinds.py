"""Every kind of audit entry has a typed body and a sentence of that body's fields."""

import string
from typing import get_args

import pytest

from orchestrator.audit import run_entries
from orchestrator.audit.execution import entries
from orchestrator.audit.kinds import EntryBody, EntryKind

UNTYPED = {EntryKind.FENCE, EntryKind.WRONG_CONSOLE_TOKEN}
BODIES: tuple[type[EntryBody], ...] = (*get_args(entries.Body), *get_args(run_entries.Body))


def test_every_kind_has_one_body() -> None:
    kinds = [each.model_fields["kind"].default for each in BODIES]
    assert sorted(kinds) == sorted(set(EntryKind) - UNTYPED)
    assert set(EntryKind) - UNTYPED == entries.KINDS | run_entries.KINDS


@pytest.mark.parametrize("body", BODIES)
def test_a_sentence_names_fields(body: type[EntryBody]) -> None:
    kind = body.model_fields["kind"].default
    named = {
        field.partition(".")[0]
        for _, field, _, _ in string.Formatter().parse(kind.sentence)
        if field is not None
    }
    derived = {"already", "decided", "blocked"}
    assert kind.sentence
    assert named - body.model_fields.keys() <= derived
