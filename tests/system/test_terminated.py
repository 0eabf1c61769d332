"""`kraftgate run` is stopped while it starts, and `kraftgate replay` while it works.

On real clusters, tests/system/test_rolled_back.py and test_hazards_in_a_migration.py stop it as
systemd, a shell and an operator do, and the first of them kills its JVM. In test_hostile_znodes.py
its JVM does not answer.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from orchestrator.errors import ExitCode
from tests.support.logs import values, write_segment
from tests.support.polling import until
from tests.support.processes import kill_tree, runs
from tests.system.killing import Killed

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def in_a_terminal() -> Iterator[None]:
    """These tests may run under nohup, which a SIGHUP does not end; what they start does not."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def test_it_ends_in_good_order_while_it_starts(tmp_path: Path) -> None:
    with Killed(tmp_path, "127.0.0.1:1", "q1Sh-9_ISia_zwGINzRvyQ") as run:
        run.start()
        until(run.java, "a JVM")
        run.terminate_each()
        assert run.ended() == (ExitCode.DONE, "kraftgate: starting; Ctrl-C ends it\n")


def test_a_terminal_ends_it_in_good_order_while_spark_starts_its_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On Ctrl-C, and when it is closed right after that."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    with Killed(tmp_path, "127.0.0.1:1", "q1Sh-9_ISia_zwGINzRvyQ") as run:
        run.start()
        until(lambda: _has_worker(run.below()), "a worker")
        run.interrupt_group(signal.SIGINT)
        run.interrupt_group(signal.SIGHUP)
        assert run.ended() == (ExitCode.DONE, "kraftgate: starting; Ctrl-C ends it\n")
        until(lambda: not run.leftovers(), "the end of its processes")
    assert not list(temporary.glob("kraftgate-*"))


@pytest.mark.parametrize("numbers", [(signal.SIGINT,), (signal.SIGHUP, signal.SIGTERM)])
def test_a_replay_leaves_no_process_and_no_directory(
    tmp_path: Path, numbers: Sequence[signal.Signals]
) -> None:
    """On Ctrl-C; and as a host that goes down does: its terminal is closed, its jobs are ended."""
    log, temporary = tmp_path / f"{0:020d}.log", tmp_path / "tmp"
    log.write_bytes(write_segment(values([(0, 0, 0, 0)]), [1]))
    temporary.mkdir()
    argv = [sys.executable, "-m", "orchestrator", "replay", str(log)]
    environ = {**os.environ, "TMPDIR": str(temporary)}
    with psutil.Popen(
        argv, env=environ, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as replay:
        try:
            until(lambda: _has_worker(replay.children(recursive=True)), "a worker")
            below = replay.children(recursive=True)
            for number in numbers:
                os.killpg(replay.pid, number)
            _, errors = replay.communicate(timeout=120)
        finally:
            with suppress(psutil.NoSuchProcess):
                kill_tree(replay.pid)
    assert (replay.returncode, errors.split()) == (ExitCode.FAILED, ["Aborted!"])
    assert list(temporary.iterdir()) == []
    assert not [each for each in below if runs(each)]


def _has_worker(processes: Sequence[psutil.Process]) -> bool:
    for each in processes:
        with suppress(psutil.NoSuchProcess):
            if "streams.spark.worker_daemon" in each.cmdline():
                return True
    return False
