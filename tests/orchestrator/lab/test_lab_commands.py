"""The command group: its help, its exit codes, and an error tree that is the documented one."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from orchestrator.cli.lab import lab
from orchestrator.lab import errors
from orchestrator.lab.control.operations import OPERATIONS


def test_every_help_has_an_example() -> None:
    for name in [None, *lab.commands]:
        arguments = ["--help"] if name is None else [name, "--help"]
        shown = CliRunner().invoke(lab, arguments)
        assert shown.exit_code == 0
        assert f"Example:\n    kraftgate lab {name or 'start'}" in shown.output


def test_every_operation_has_its_command() -> None:
    assert set(lab.commands) == set(OPERATIONS) | {"start"}


@pytest.mark.parametrize(
    "arguments",
    [["status"], ["freeze", "broker-1"], ["migrate"], ["fail-directory", "1", "0"],
     ["create-topic", "t", "--config", "a=b", "--assign", "1:2,2:1"], ["dump-log", "broker-1"]],
)  # fmt: skip
def test_without_a_lab_each_fails_and_says_how_to_start_one(
    tmp_path: Path, arguments: list[str]
) -> None:
    shown = CliRunner().invoke(lab, [*arguments, "--home", str(tmp_path)])
    assert shown.exit_code == 1
    assert "kraftgate lab start" in shown.output


@pytest.mark.parametrize(
    "arguments",
    [["dance"], ["start", "--brokers", "many"], ["start", "--directories", "0"],
        ["start", "--brokers", "0"],
     ["start", "--brokers", "1", "--replication-factor", "2"], ["freeze"],
     ["create-topic", "t", "--config", "a"], ["create-topic", "t", "--assign", "x"],
     ["fail-directory", "1", "-1"]],
)  # fmt: skip
def test_a_wrong_command_line_is_a_usage_error(arguments: list[str]) -> None:
    assert CliRunner().invoke(lab, arguments).exit_code == 2


def test_the_way_back_is_asked_for_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a lab that only answers: what the steps do is tests/system/test_rolled_back.py."""
    asked: list[tuple[str, dict[str, object]]] = []
    answers = {
        "deprovision": {"kept": ["/lab/metadata.1"]},
        "clear-znodes": {"controller": True, "migration": "{}", "migration_deleted": False},
    }

    def answer(_home: Path, name: str, arguments: dict[str, object], _say: object) -> object:
        asked.append((name, arguments))
        return answers.get(name, {})

    monkeypatch.setattr("orchestrator.cli.lab.ask", answer)
    told = {
        "revert-to-migration 1": "broker 1 is back in migration mode",
        "deprovision": "kept: /lab/metadata.1",
        "clear-znodes --keep-migration": "/migration, left: {}\n/controller is deleted",
        "revert-to-zookeeper 2": "broker 2 is back in ZooKeeper mode",
        "roll-back": "",
    }
    for line, said in told.items():
        shown = CliRunner().invoke(lab, line.split())
        assert (shown.exit_code, said in shown.output) == (0, True), shown.output
    assert asked == [
        ("revert-to-migration", {"broker": 1}),
        ("deprovision", {}),
        ("clear-znodes", {"keep_migration": True}),
        ("revert-to-zookeeper", {"broker": 2}),
        ("roll-back", {"keep_migration": False}),
    ]


def test_a_used_home_is_an_error_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.lab.cluster.processes.find_java", lambda: "java")
    monkeypatch.setattr("orchestrator.lab.cluster.processes.ensure_jars", lambda: None)
    (tmp_path / "thesis.tex").touch()
    for fresh in ([], ["--fresh"]):
        shown = CliRunner().invoke(lab, ["start", "--home", str(tmp_path), *fresh])
        assert shown.exit_code == 1
        assert "fix:" in shown.output
    assert (tmp_path / "thesis.tex").exists()


@pytest.mark.parametrize(
    "line",
    [
        "create-topic t --partitions 99999999999",
        "create-topic t --replication-factor 99999999999",
        "wait-copied --timeout nan",
        "wait-copied --timeout inf",
    ],
)
def test_a_number_that_kafka_cannot_have_is_not_sent(
    monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.setattr("orchestrator.cli.lab.ask", lambda *_: pytest.fail("it was sent"))
    assert CliRunner().invoke(lab, line.split()).exit_code == 2


def test_the_error_tree_is_the_documented_one() -> None:
    tree = errors.__doc__ or ""
    raised = {name for name, value in vars(errors).items() if isinstance(value, type)}
    assert raised == {word for word in tree.split() if word.endswith("Error")}


def test_the_group_is_one_that_the_main_command_can_take() -> None:
    assert isinstance(lab, click.Group)


@pytest.mark.parametrize(
    ("line", "answer", "said"),
    [
        ("controllers", {"active_controller": 3000}, "controller 3000 is active"),
        ("wait-copied", {"metadata_offset": 7}, "copied: metadata offset 7"),
        ("freeze broker-2", {"name": "broker-2"}, "broker-2 is frozen"),
        ("fail-directory 2 1", {"directory": "/lab/b2/1"}, "/lab/b2/1 fails from now on"),
        ("delete-topic {name}", {}, "topic {name} is deleted"),
        ("migrate", {"phase": "finalized"}, ""),
    ],
)
def test_a_request_prints_what_the_lab_answered(
    monkeypatch: pytest.MonkeyPatch, line: str, answer: dict[str, object], said: str
) -> None:
    monkeypatch.setattr("orchestrator.cli.lab.ask", lambda *_: answer)
    shown = CliRunner().invoke(lab, line.split())
    assert (shown.exit_code, shown.output.strip()) == (0, said)


@pytest.mark.parametrize(
    ("zookeeper", "answers", "offset", "said"),
    [
        ("z:1", True, 7, "7"),
        ("z:1", True, None, "not copied"),
        ("z:1", False, None, "unknown: ZooKeeper does not answer"),
        (None, False, None, "not copied"),
    ],
)
def test_status_prints_whether_the_metadata_is_copied(
    monkeypatch: pytest.MonkeyPatch,
    zookeeper: str | None,
    answers: bool,
    offset: int | None,
    said: str,
) -> None:
    answer: dict[str, object] = {
        "processes": [],
        "active_controller": None,
        "zookeeper": zookeeper,
        "zookeeper_answers": answers,
        "copied_offset": offset,
    }
    monkeypatch.setattr("orchestrator.cli.lab.ask", lambda *_: answer)
    shown = CliRunner().invoke(lab, ["status"])
    assert shown.output.endswith(f"copied at metadata offset: {said}\n")
