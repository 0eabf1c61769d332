"""Java: absent, too old, unreadable, or good; and its tools' failures quoted."""

from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.lab.errors import LabError
from orchestrator.lab.machine.jars import Jars
from orchestrator.lab.machine.java import Java, find_java

FakeProgram = Callable[[str, str], Path]


@pytest.mark.parametrize("shown", ['openjdk version "17.0.15" 2025', 'java version "21" 2023'])
def test_seventeen_and_newer_are_good(fake_program: FakeProgram, shown: str) -> None:
    program = fake_program("java", f"echo '{shown}' >&2")
    assert find_java() == str(program)


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        ('java version "1.8.0_402"', "it is Java 8"),
        ('openjdk version "11.0.2"', "it is Java 11"),
        ("what", "names no release: what"),
    ],
)
def test_older_and_unreadable_are_refused_with_the_install_line(
    fake_program: FakeProgram, shown: str, said: str
) -> None:
    fake_program("java", f"echo '{shown}' >&2")
    with pytest.raises(LabError, match="openjdk-17-jre-headless maven") as refused:
        find_java()
    assert said in refused.value.what


def test_no_java_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LabError, match="there is no java"):
        find_java()


def test_a_failing_tool_is_quoted(fake_program: FakeProgram, tmp_path: Path) -> None:
    program = fake_program("java", "echo 'not a log file' >&2; exit 3")
    java = Java(str(program), Jars(tmp_path, ("a.jar",)), tmp_path / "log4j.properties")
    with pytest.raises(LabError, match=r"ended with 3:\nnot a log file"):
        java.run_tool("a.Tool", ["--file", "x"], timeout_s=10)


def test_a_hanging_tool_ends_in_time(fake_program: FakeProgram, tmp_path: Path) -> None:
    program = fake_program("java", "exec sleep 60")
    java = Java(str(program), Jars(tmp_path, ("a.jar",)), tmp_path / "log4j.properties")
    with pytest.raises(LabError, match="did not end within"):
        java.run_tool("a.Tool", [], timeout_s=0.2)
