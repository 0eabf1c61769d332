"""A runbook is read whole, or refused with every problem and its line."""

import hashlib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
from pydantic import BaseModel

from orchestrator.errors import ExitCode, RunbookError
from orchestrator.runbook.load import load, parse
from orchestrator.runbook.model import Checkpoint, Runbook, ShellCondition, Step
from tests.orchestrator.runbook.texts import PATH, RIGHT, changed, line_of


def test_everything_in_the_file_arrives(tmp_path: Path) -> None:
    file = tmp_path / "night.yaml"
    file.write_text(RIGHT, "utf-8")
    loaded = load(file)
    book = loaded.runbook
    assert [checkpoint.id for checkpoint in book.checkpoints] == ["ready", "brokers", "end"]
    brokers = book.checkpoints[1]
    assert brokers.step is not None
    assert brokers.step.name == "enter-kraft"
    assert brokers.already == ("broker_mode(broker, kraft)",)
    assert (brokers.for_each, brokers.order, brokers.rollback) == ("broker", None, "back")
    end = book.checkpoints[2]
    assert end.approval is not None
    assert (end.approval.people, end.irreversible, end.after) == (2, True, None)
    assert book.rollbacks[0].checkpoints[0].opens_when[1] == "isr_full"
    own = book.conditions[0].shell
    assert own is not None
    assert (own.argv[0], own.timeout) == ("/usr/local/bin/lag", timedelta(seconds=5))
    assert loaded.path == file
    assert loaded.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()


def _types_of(annotation: Any) -> Iterator[type]:
    """Yield the types of all parts that a value of an annotation may have."""
    kind, arguments = get_origin(annotation), get_args(annotation)
    if kind is Annotated:
        yield from _types_of(arguments[0])
    elif kind is Literal:
        yield from map(type, arguments)
    elif kind is None:
        yield annotation
        if issubclass(annotation, BaseModel):
            for field in annotation.model_fields.values():
                yield from _types_of(field.annotation)
    else:
        yield from () if kind in (Union, UnionType) else (kind,)
        for each in arguments:
            yield from () if each is ... else _types_of(each)


def test_a_runbook_that_was_read_cannot_be_changed() -> None:
    """Executions, and tests, may share one."""
    found = set(_types_of(Runbook))
    models = {each for each in found if issubclass(each, BaseModel)}
    assert found - models == {str, int, bool, type(None), tuple, timedelta}
    assert {Runbook, Checkpoint, Step, ShellCondition} < models
    assert all(each.model_config.get("frozen") for each in models)


def test_a_part_knows_its_line() -> None:
    loaded = parse(RIGHT, PATH)
    assert loaded.read.line(("checkpoints", 1, "step", "name")) == line_of(
        RIGHT, "name: enter-kraft"
    )
    assert loaded.read.line(("checkpoints", 0, "needs", 3)) == line_of(RIGHT, "- id: ready")


_ID_RULE = " up to 64 small letters and digits, words joined by '-'"
WRONG = [
    ("runbook: 1", "runbook: 2", "1: `runbook`: must be 1"),
    ("runbook: 1\n", "", "1: `runbook` is missing: add it"),
    ("for_each: broker\n    already", "for_each: topic\n    already",
     "15: `checkpoints[1].for_each`: must be broker or controller"),
    ("id: brokers", "id: Brokers One", "12: `checkpoints[1].id`: 'Brokers One' is not an id:"
     + _ID_RULE),
    ("      manual: On {host} restart broker {broker}.\n    opens_when: [\"assign",
     "    opens_when: [\"assign", "18: `checkpoints[1].step.manual` is missing: add it"),
    ("opens_when: [finalized]", "opens_with: [finalized]",
     "30: unknown key `opens_with` in `checkpoints[2]`; did you mean `opens_when`?"),
    ("{people: 2}", "{people: 0}",
     "31: `checkpoints[2].approval.people`: Input should be greater than or equal to 1"),
    ("{people: 2}", "{people: yes}",
     "31: `checkpoints[2].approval.people`: must be a whole number, not bool"),
    ("approval: {people: 2}", "approval: 2",
     "31: `checkpoints[2].approval`: must hold keys and values; its keys are people, given_at"),
    ("opens_when: [quorum_healthy]", "opens_when: quorum_healthy",
     "9: `checkpoints[0].opens_when`: must be a list, not str"),
    ("opens_when: [quorum_healthy]", "opens_when: [8]",
     "9: `checkpoints[0].opens_when[0]`: must be text, not int: put it in quotes"),
    ("timeout: 5s", "timeout: 5",
     "48: `conditions[0].shell.timeout`: the duration 5 has no unit: write 5s, 5m or 5h"),
    ("argv: [/usr/local/bin/lag, --max, \"100\"]", "argv: []",
     "48: `conditions[0].shell.argv`: must have at least one entry"),
    ("title: A night", "title: ' '", "3: `title`: must not be empty"),
    ("title: A night", "title: A night\ntitle: B",
     "4: the key `title` is given twice (first in line 3): remove one"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "said"), WRONG)
def test_a_wrong_key_is_refused_with_its_line(old: str, new: str, said: str) -> None:
    with pytest.raises(RunbookError) as refused:
        parse(changed(old, new), PATH)
    assert refused.value.problems == (f"night.yaml:{said}",)
    assert refused.value.code is ExitCode.USAGE


def test_all_problems_come_at_once_by_line() -> None:
    text = changed("{people: 2}", "{people: 9}").replace("runbook: 1", "runbook: one")
    with pytest.raises(RunbookError) as refused:
        parse(text, PATH)
    assert [problem.split(": ")[0] for problem in refused.value.problems] == [
        "night.yaml:1",
        "night.yaml:31",
    ]


def test_what_is_no_runbook_at_all_is_said(tmp_path: Path) -> None:
    with pytest.raises(RunbookError, match=r"gone\.yaml: No such file"):
        load(tmp_path / "gone.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"title: \xe4")
    with pytest.raises(RunbookError, match="byte 7 is not UTF-8"):
        load(tmp_path / "latin.yaml")
    with pytest.raises(RunbookError, match="1: must hold keys and values, see `kraftgate runbook"):
        parse("- 1", PATH)


def test_an_unknown_name_is_no_file() -> None:
    with pytest.raises(RunbookError, match="there is no runbook `zk-to-kraft-jbob`"):
        load("zk-to-kraft-jbob")
