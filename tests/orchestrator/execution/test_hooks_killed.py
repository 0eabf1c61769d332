"""Kraftgate, or a hook's supervisor, is killed while the hook runs: its outcome is reported."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.hooks.files import PROCESS, STARTED, End, read_json
from orchestrator.hooks.runs import HookRuns, NotStarted, Running, Unknown
from tests.orchestrator.execution.running import ended, hook, is_gone, number_in, until

_ORCHESTRATOR = """
import sys, time
from pathlib import Path
from orchestrator.hooks.runs import Hook, HookRuns
HookRuns(Path(sys.argv[1])).start("run-1", Hook(argv=tuple(sys.argv[2:]), timeout_s=60.0))
print("handed over", flush=True)
time.sleep(600)
"""


@pytest.fixture
def go(tmp_path: Path) -> Path:
    """What a waiting hook reads from."""
    path = tmp_path / "go"
    os.mkfifo(path)
    return path


@pytest.mark.slow
def test_the_outcome_is_known_though_kraftgate_was_killed(
    state: Path, runs: HookRuns, go: Path
) -> None:
    code = f"echo began; read line < {go}; echo went on; exit 3"
    with subprocess.Popen(
        [sys.executable, "-c", _ORCHESTRATOR, str(state), "sh", "-c", code],
        stdout=subprocess.PIPE,
    ) as orchestrator:
        assert orchestrator.stdout is not None
        assert orchestrator.stdout.readline() == b"handed over\n"
        os.kill(orchestrator.pid, signal.SIGKILL)
    assert isinstance(runs.state("run-1"), Running)
    go.write_text("go\n")
    found = ended(runs, "run-1")
    assert (found.outcome.end, found.outcome.exit_code) == (End.EXITED, 3)
    assert found.output.read_bytes() == b"began\nwent on\n"


@pytest.mark.slow
def test_a_signal_to_kraftgates_group_does_not_reach_the_hook(
    state: Path, runs: HookRuns, go: Path
) -> None:
    """As Ctrl-C at the terminal, or its end."""
    with subprocess.Popen(
        [sys.executable, "-c", _ORCHESTRATOR, str(state), "sh", "-c", f"read line < {go}"],
        stdout=subprocess.PIPE,
        process_group=0,
    ) as orchestrator:
        assert orchestrator.stdout is not None
        assert orchestrator.stdout.readline() == b"handed over\n"
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGKILL):
            os.killpg(orchestrator.pid, number)
    go.write_text("go\n")
    assert ended(runs, "run-1").outcome.succeeded


@pytest.mark.slow
def test_with_its_supervisor_killed_the_outcome_is_unknown(
    state: Path, runs: HookRuns, go: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "pid"
    runs.start("run-1", hook("sh", "-c", f"echo $$ > {mark}; read line < {go}"))
    pid = until(lambda: number_in(mark))
    directory = state / "hooks" / "run-1"
    until(lambda: read_json(directory / PROCESS))
    started = read_json(directory / STARTED)
    assert started is not None
    os.kill(started["pid"], signal.SIGKILL)
    assert until(lambda: is_gone(started["pid"]))
    found = runs.state("run-1")
    assert isinstance(found, Unknown)
    assert found.still_running == (pid,)
    assert found.why == "its supervisor is gone"
    go.write_text("go\n")
    assert until(lambda: is_gone(pid))
    again = runs.state("run-1")
    assert isinstance(again, Unknown)
    assert again.still_running == ()


def test_killed_before_anything_was_started_it_may_be_started(runs: HookRuns, state: Path) -> None:
    """The directory is there, and the lock is free."""
    directory = state / "hooks" / "run-1"
    runs.prepare("run-1", {})
    (directory / "lock").touch()
    assert runs.state("run-1") == NotStarted()
    runs.start("run-1", hook("true"))
    assert ended(runs, "run-1").outcome.succeeded


@pytest.mark.parametrize("damaged", [b"", b"\0" * 40])
def test_a_damaged_proof_of_the_start_is_a_proof(
    runs: HookRuns, state: Path, damaged: bytes
) -> None:
    """Without it, the hook would be started a second time."""
    runs.prepare("run-1", {})
    (state / "hooks" / "run-1" / STARTED).write_bytes(damaged)
    assert runs.state("run-1") == Unknown(why="its supervisor is gone")


def test_a_run_without_its_files_is_unknown(state: Path, runs: HookRuns, go: Path) -> None:
    """It may run: they were moved meanwhile, or are missing in a backup."""
    runs.prepare("run-1", {})
    runs.start("run-1", hook("sh", "-c", f"read line < {go}"))
    (state / "hooks").rename(state / "elsewhere")
    found = runs.state("run-1")
    assert isinstance(found, Unknown)
    assert "hooks/run-1 are gone" in found.why
    go.write_text("go\n")
