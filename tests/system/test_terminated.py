"""`kraftgate run` is stopped as systemd, a shell or an operator stops it, and loses its JVM."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from orchestrator.errors import ExitCode
from streams.state.claim import claimed
from streams.state.store import Store

pytestmark = [pytest.mark.spark, pytest.mark.long(minutes=2)]

_PATIENCE_S = 180.0


class Run:
    """A `kraftgate run` in a process group of its own, which follows a cluster that is down."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "state"
        config = folder / "kraftgate.yaml"
        config.write_text(
            f"cluster: {{name: prod}}\ncontrollers: {{bootstrap: '127.0.0.1:1'}}\n"
            f"brokers: {{bootstrap: '127.0.0.1:1'}}\nstate_dir: {self.state}\n"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-m", "orchestrator", "run", "--config", str(config)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def below(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def java(self) -> psutil.Process | None:
        return next((each for each in self.below() if each.name() == "java"), None)

    def until(self, holds: Callable[[], object]) -> None:
        deadline_s = time.monotonic() + _PATIENCE_S
        while not holds():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < deadline_s
            time.sleep(0.05)

    def until_it_follows(self) -> None:
        """The sources' process answers, and the workers of the first batch live."""
        self.until((self.state / "clusters" / "prod" / "source.json").is_file)
        self.until((self.state / "checkpoint" / "metadata").is_file)

    def ended(self) -> tuple[int, str]:
        """The exit code, and what was printed to stderr; nothing is left behind."""
        out, err = self.process.communicate(timeout=_PATIENCE_S)
        assert "Traceback" not in out + err
        assert "Error" not in err
        return self.process.returncode, err


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    made = Run(tmp_path)
    yield made
    if made.process.poll() is None:
        for each in [*made.below(), psutil.Process(made.process.pid)]:
            each.kill()


def _group(run: Run) -> None:
    os.killpg(run.process.pid, signal.SIGTERM)


def _each_process(run: Run) -> None:
    """What systemd does: KillMode=control-group is its default."""
    for each in [*reversed(run.below()), psutil.Process(run.process.pid)]:
        each.terminate()


def _interrupt(run: Run) -> None:
    os.killpg(run.process.pid, signal.SIGINT)


@pytest.mark.parametrize("stop", [_group, _each_process, _interrupt])
def test_it_ends_in_good_order(run: Run, stop: Callable[[Run], None]) -> None:
    run.until_it_follows()
    below = run.below()
    stop(run)
    code, err = run.ended()
    assert (code, err) == (ExitCode.DONE, "kraftgate: starting; Ctrl-C ends it\n")
    assert psutil.wait_procs(below, timeout=120)[1] == []
    with claimed(run.state), Store.open_readonly(run.state / "store.db") as store:
        assert store.clusters() == []  # a whole store; the next run opens it


def test_it_ends_in_good_order_while_it_starts(run: Run) -> None:
    run.until(run.java)
    _each_process(run)
    code, err = run.ended()
    assert (code, err) == (ExitCode.DONE, "kraftgate: starting; Ctrl-C ends it\n")


def test_a_jvm_that_is_killed_is_one_line(run: Run) -> None:
    run.until_it_follows()
    java = run.java()
    assert java is not None
    java.kill()
    out, err = run.process.communicate(timeout=_PATIENCE_S)
    assert run.process.returncode == ExitCode.FAILED
    assert "Traceback" not in out + err
    assert "kraftgate: Spark's JVM ended or does not answer: spark.log in the state" in err
