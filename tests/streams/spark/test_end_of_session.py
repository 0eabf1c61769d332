"""The end of a session: no process of Spark writes to the state directory after it.

A Python process takes the place of the JVM, and its child that of the sources' process.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Final

import psutil
import pytest
from pyspark import SparkContext

from streams.spark import session
from tests.support.processes import runs

_ENDS_WITH_ITS_INPUT: Final = "import sys; sys.stdin.read()"
_JVM: Final = f"""
import subprocess, sys
source = subprocess.Popen([sys.executable, "-c", {_ENDS_WITH_ITS_INPUT!r}], stdin=int(sys.argv[1]))
print(source.pid, flush=True)
{_ENDS_WITH_ITS_INPUT}
"""
_ENDS_ITS_FIRST_THREAD_FIRST: Final = f"""
import ctypes, threading, time
threading.Thread(target=time.sleep, args=[0.5]).start()
{_ENDS_WITH_ITS_INPUT}
ctypes.CDLL(None).pthread_exit(None)
"""
_JVM_OF_SPARK_SUBMIT: Final = f"""
import subprocess, sys
source = subprocess.Popen(
    [sys.executable, "-c", {_ENDS_WITH_ITS_INPUT!r}], stdin=subprocess.PIPE
)
kept = source.stdin.fileno()
driver = "from tests.streams.spark.test_end_of_session import end_submitted as f; f()"
argv = [sys.executable, "-c", driver, str(source.pid), str(kept)]
started = subprocess.Popen(argv, pass_fds=[kept])
source.stdin.close()
sys.exit(started.wait())
"""


def context(jvm: int, process: object, stop: Callable[[], object]) -> SimpleNamespace:
    """Return a fake of Spark's context, with the parts that the end of a session uses."""
    handle = SimpleNamespace(current=lambda: SimpleNamespace(pid=lambda: jvm))
    java = SimpleNamespace(lang=SimpleNamespace(ProcessHandle=handle))
    gateway = SimpleNamespace(jvm=SimpleNamespace(java=java), proc=process)
    return SimpleNamespace(_gateway=gateway, stop=stop)


def clock(pause: Callable[[], None]) -> SimpleNamespace:
    """Return a clock that does not advance; it calls `pause` between two polls."""
    return SimpleNamespace(monotonic=lambda: 0.0, sleep=lambda _: pause())


@contextmanager
def jvm() -> Iterator[tuple["subprocess.Popen[bytes]", psutil.Process, IO[bytes]]]:
    """Start the JVM and the source; the source ends once the third is closed."""
    read, write = os.pipe()
    argv = [sys.executable, "-c", _JVM, str(read)]
    with (
        os.fdopen(write, "wb") as source_input,
        subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[read]
        ) as process,
    ):
        os.close(read)
        assert process.stdout is not None
        yield process, psutil.Process(int(process.stdout.readline())), source_input


@pytest.fixture(autouse=True)
def _no_session_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the session of other tests in this process alone."""
    for name in ("_active_spark_context", "_gateway", "_jvm"):
        monkeypatch.setattr(SparkContext, name, None)
    monkeypatch.setattr(session, "_templates", [])


def test_the_sources_are_waited_for_before_the_jvm_is_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with jvm() as (process, source, source_input):
        assert process.stdin is not None
        jvm_input = process.stdin

        def pause() -> None:
            """Let the source end, but only in a pause that is not for the end of the JVM."""
            if stopped and not jvm_input.closed:
                source_input.close()

        stopped: list[bool] = []
        spark = context(process.pid, process, lambda: stopped.append(True))
        monkeypatch.setattr(SparkContext, "_active_spark_context", spark)
        monkeypatch.setattr(session, "time", clock(pause))
        session.end_session()
        assert stopped
        assert not runs(source)
        assert process.returncode == 0  # Python warns of a child whose end nobody asked for


def test_a_jvm_whose_first_thread_ends_first_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until its last thread has ended, it seems to be a zombie and has no exit code."""
    argv = [sys.executable, "-c", _ENDS_ITS_FIRST_THREAD_FIRST]
    with subprocess.Popen(argv, stdin=subprocess.PIPE) as process:
        spark = context(process.pid, process, lambda: None)
        monkeypatch.setattr(SparkContext, "_active_spark_context", spark)
        session.end_session()
        assert process.returncode == 0


def test_what_does_not_end_in_time_is_killed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with jvm() as (process, source, _):
        spark = context(process.pid, process, lambda: None)
        monkeypatch.setattr(SparkContext, "_active_spark_context", spark)
        monkeypatch.setattr(session, "_END_S_MAX", -1.0)
        session.end_session()
        source.wait(120)
        assert f"Spark's processes {source.pid} did not end" in caplog.text


@pytest.mark.slow
def test_under_spark_submit_only_the_other_processes_of_the_jvm_are_waited_for(
    tmp_path: Path,
) -> None:
    with (tmp_path / "errors").open("wb") as errors:
        done = subprocess.run(
            [sys.executable, "-c", _JVM_OF_SPARK_SUBMIT],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            check=False,
            timeout=120,
        )
    assert done.returncode == 0, (tmp_path / "errors").read_text()
    assert json.loads(done.stdout) == {"source": False, "hook": True}


def end_submitted() -> None:
    """End the session of a driver that its JVM started; write which processes are left.

    The arguments: the pid of the source, and the descriptor that keeps it running.
    """
    source, kept = psutil.Process(int(sys.argv[1])), int(sys.argv[2])
    argv = [sys.executable, "-c", _ENDS_WITH_ITS_INPUT]
    with subprocess.Popen(argv, stdin=subprocess.PIPE) as hook:

        def pause() -> None:
            nonlocal kept
            if kept >= 0:
                os.close(kept)
                kept = -1

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                SparkContext, "_active_spark_context", context(os.getppid(), None, lambda: None)
            )
            patch.setattr(session, "time", clock(pause))
            session.end_session()
        sys.stdout.write(json.dumps({"source": runs(source), "hook": hook.poll() is None}))
