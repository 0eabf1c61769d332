"""Each shell command of README and handbook is run, parsed, or known to be another tool's."""

import re
import shutil
from collections.abc import Container, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest
from _pytest.mark import ParameterSet
from click.testing import CliRunner

from orchestrator.cli.program import main
from orchestrator.runbook.load import shipped
from tests.manual.pages import ROOT, Command, commands, shown_to_users
from tests.manual.resolving import parse
from tests.orchestrator.views.report.making import Made
from tests.orchestrator.views.report.night import night

RUN: Final[Mapping[tuple[str, ...], int]] = {
    ("alerts", "list"): 4,  # no `kraftgate run` evaluates them
    ("audit", "export"): 0,
    ("audit", "show"): 0,
    ("audit", "verify"): 0,
    ("help",): 0,
    ("report",): 0,
    ("runbook", "check"): 0,
    ("runbook", "list"): 0,
    ("runbook", "schema"): 0,
    ("runbook", "show"): 0,
    ("status",): 4,  # the recorded night is over
}
"""Commands that need no cluster, and how they exit on the state directory of a recorded night."""
PARSED: Final = {
    ("abort",), ("alerts", "test"), ("approve",), ("begin",), ("decide",), ("done",), ("hazards",),
    ("hooks", "check"), ("init",),
    ("lab", "migrate"), ("lab", "start"), ("log-dirs",), ("meta-properties",), ("move", "apply"),
    ("move", "cancel"), ("move", "plan"), ("move", "verify"), ("pause",), ("preflight",),
    ("replay",), ("rollback",), ("run",), ("skip",), ("wait",), ("what-if",),
}  # fmt: skip
"""Commands that need a cluster, a broker's disks, a receiver, an execution in progress or Spark."""
GROUPS: Final = {"alerts", "audit", "hooks", "lab", "move", "runbook"}
OTHERS: Final = {
    "export", "jq", "kafka-acls", "kafka-reassign-partitions.sh", "make", "mkdir", "openssl", "pip",
    "podman", "printf", "python", "rm", "spark-submit", "ssh", "systemctl",
}  # fmt: skip
"""Tools that are not Kraftgate's."""


def found() -> list[Command]:
    return [each for page in shown_to_users() for each in commands(page)]


def of_kraftgate() -> Iterator[tuple[Command, tuple[str, ...], list[str]]]:
    """Each command of Kraftgate with its path and its arguments."""
    for each in found():
        words = each.words[3:] if each.words[:2] == ("sudo", "-u") else each.words
        if Path(words[0]).name != "kraftgate":
            continue
        size = 2 if words[1] in GROUPS else 1
        yield each, words[1 : 1 + size], list(words[1 + size :])


def cases(classes: Container[tuple[str, ...]]) -> list[ParameterSet]:
    return [
        pytest.param(path, arguments, id=str(command))
        for command, path, arguments in of_kraftgate()
        if path in classes
    ]


def of_tools(ending: str) -> list[ParameterSet]:
    return [pytest.param(each, id=str(each)) for each in found() if each.words[0].endswith(ending)]


def test_every_command_is_of_one_class() -> None:
    known = [words for _, words, _ in of_kraftgate()]
    assert known
    for words in known:
        assert (words in RUN) + (words in PARSED) == 1, words
    others = {Path(each.words[0]).name for each in found()} - {"kraftgate", "sudo"}
    assert others == OTHERS
    assert PARSED | set(RUN) == set(known), "a class names a command that no page shows"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return night(tmp_path_factory.mktemp("manual"))


@pytest.mark.parametrize(("path", "arguments"), cases(RUN))
def test_a_command_without_a_cluster_works(
    path: tuple[str, ...],
    arguments: list[str],
    recorded: Made,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = recorded.config.parent
    monkeypatch.chdir(folder)
    copy = folder / "our-night.yaml"
    if not copy.exists():
        shutil.copy(shipped()["zk-to-kraft-jbod"], copy)
    done = CliRunner().invoke(main, [*path, *arguments])
    expected = 1 if "--head" in arguments else RUN[path]  # the head on the page is an example
    assert done.exit_code == expected, done.output
    assert done.stdout or "--out" in arguments or expected


@pytest.mark.parametrize(("path", "arguments"), cases(PARSED))
def test_a_command_with_a_cluster_is_parsed(
    path: tuple[str, ...], arguments: list[str], tmp_path: Path
) -> None:
    if path == ("replay",):
        arguments = [str(tmp_path), *arguments[1:]]  # the log on the page is an example
    if path == ("meta-properties",):
        arguments = [str(tmp_path) if "/data/" in each else each for each in arguments]
    parse([*path, *arguments])


@pytest.mark.parametrize("command", [*of_tools("make"), *of_tools("pip")])
def test_a_tool_is_given_what_exists(command: Command) -> None:
    if command.words[0] == "make":
        makefile = (ROOT / "Makefile").read_text("utf-8")
        for target in command.words[1:]:
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for word in command.words:
        assert not word.endswith(".lock") or (ROOT / word).is_file()


@pytest.mark.parametrize("command", of_tools("kafka-reassign-partitions.sh"))
def test_kafkas_tool_keeps_the_throttles_of_brokers(command: Command) -> None:
    """ReassignPartitionsCommand.clearAllThrottles: of all brokers, also those of other clients."""
    assert "--verify" in command.words
    assert "--preserve-throttles" in command.words


@pytest.mark.parametrize("command", of_tools("python"))
def test_a_module_exists(command: Command) -> None:
    assert command.words[1] == "-m"
    assert find_spec(command.words[2]) is not None
