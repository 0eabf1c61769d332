"""A Java that Spark cannot use is named in one line: where it comes from, and the fix."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from streams.spark.session import why_no_jvm
from tests.support.logs import values, write_segment


def java(home: Path, script: str, mode: int = 0o755) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(mode)
    return program


def why(home: Path | None, path: str = "/nowhere") -> str:
    environ = {"PATH": path} | ({} if home is None else {"JAVA_HOME": str(home)})
    said = why_no_jvm(Path("/nowhere/spark.log"), environ)
    assert "\n" not in said
    return said


def test_a_java_home_that_is_not_there(tmp_path: Path) -> None:
    said = why(tmp_path / "none")
    assert said.startswith(f"JAVA_HOME is {tmp_path}/none, and {tmp_path}/none/bin/java is not a")


def test_a_program_that_may_not_be_run(tmp_path: Path) -> None:
    java(tmp_path, "exit 0", mode=0o644)
    assert "is not a program: correct or unset JAVA_HOME" in why(tmp_path)


def test_no_java_at_all() -> None:
    assert why(None).startswith("there is no java on the PATH and JAVA_HOME is not set")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'libjvm.so is missing' >&2; exit 3", "fails with 3: libjvm.so is missing"),
        (
            "echo 'Could not allocate compressed class space: 1073741824 bytes'; exit 1",
            "class space: 1073741824 bytes. Raise the limit of `ulimit -v`, if there is one. Free",
        ),
        ("exit 1", "fails with 1: it printed nothing. Spark needs Java 17 or later"),
        ("echo 'openjdk version \"11.0.2\" 2019' >&2", "it is Java 11. Spark needs"),
        ("echo 'java version \"1.8.0_202\"' >&2", "it is Java 8. Spark needs"),
        ("echo 'openjdk version \"17.0.1\"' >&2", "the JVM ended: it printed nothing"),
    ],
)
def test_a_java_that_is_of_no_use(tmp_path: Path, script: str, said: str) -> None:
    program = java(tmp_path, script)
    assert said in why(tmp_path)
    on_path = why(None, str(program.parent))
    assert on_path.startswith(f"java is {program}: ")
    assert said in on_path


@pytest.mark.parametrize(
    ("printed", "shown", "fix"),
    [
        (
            (
                "OpenJDK warning: os::commit_memory failed\n"
                "# There is insufficient memory for the Java Runtime Environment to continue.\n"
                "# An error report file is saved as: hs_err_pid7.log"
            ),
            "# There is insufficient memory for the Java Runtime Environment to continue.",
            "Free memory on this host, or lower `spark.driver.memory`",
        ),
        (
            'bin/spark-class: line 97: 4711 Killed  "$RUNNER" -Xmx128m',
            "4711 Killed",
            "Free memory on this host",
        ),
        (
            "Invalid maximum heap size: -Xmx1x\nError: Could not create the Java Virtual Machine.",
            "Invalid maximum heap size: -Xmx1x",
            "Correct the option of the JVM in JAVA_TOOL_OPTIONS",
        ),
        ("java.io.IOException: No space left on device", "No space left", "Free space on the disk"),
        ("java.io.IOException: Too many open files\n\tat java.a(b)", "Too many", "`ulimit -n`"),
        ("an unforeseen line\n\tat java.a(b)", "an unforeseen line", "a signal ended it"),
        ("", "it printed nothing", "a signal ended it, such as the kernel's for lack of memory"),
    ],
)
def test_the_advice_is_that_of_the_cause(
    tmp_path: Path, printed: str, shown: str, fix: str
) -> None:
    java(tmp_path, "echo 'openjdk version \"17.0.1\"' >&2")
    log = tmp_path / "spark.log"
    log.write_text(printed)
    said = why_no_jvm(log, {"PATH": "/nowhere", "JAVA_HOME": str(tmp_path)})
    assert "the JVM ended: " in said
    assert shown in said
    assert fix in said
    assert "Spark needs Java" not in said
    assert said.endswith(f"its whole output is in {log}")


def test_a_file_that_is_no_program(tmp_path: Path) -> None:
    program = java(tmp_path, "")
    program.write_bytes(b"\x7fELF nonsense")
    assert "`-version` fails" in why(tmp_path).replace(f"{program} ", "")


@pytest.mark.spark
@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("ulimit -n 256", "can open 256 files, and Spark needs 512: raise the limit: ulimit -n"),
        ("export KRAFTGATE_CACHE=/dev/null/cache", "set another directory (KRAFTGATE_CACHE)"),
    ],
)
def test_what_spark_lacks_is_named_with_the_fix(tmp_path: Path, before: str, said: str) -> None:
    log = tmp_path / f"{0:020d}.log"
    log.write_bytes(write_segment(values([(0, 0, 0, 0)]), [1]))
    command = f"{before}; exec {sys.executable} -m orchestrator replay {log}"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 1
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.spark
def test_the_output_that_a_replay_names_is_kept(tmp_path: Path) -> None:
    """The rest of its temporary directory is not."""
    home, log, temporary = tmp_path / "home", tmp_path / f"{0:020d}.log", tmp_path / "tmp"
    java(
        home,
        "case $1 in -version) echo 'openjdk version \"17.0.1\"' >&2;; *) echo unforeseen; esac",
    )
    log.write_bytes(write_segment(values([(0, 0, 0, 0)]), [1]))
    temporary.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "orchestrator", "replay", str(log)],
        env={
            **os.environ,
            "JAVA_HOME": str(home),
            "TMPDIR": str(temporary),
            "KRAFTGATE_CACHE": str(tmp_path / "cache"),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 1
    named = re.search(r"its whole output is in (\S+)", done.stderr)
    assert named is not None, done.stderr
    assert "unforeseen" in Path(named[1]).read_text()
    assert [each for each in temporary.rglob("*") if each.is_file()] == [Path(named[1])]
