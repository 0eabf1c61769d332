"""Ctrl-C while the JVM starts: it ends, too. Ctrl-C while it works: the call ends."""

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.support.polling import PATIENCE_S

pytestmark = pytest.mark.spark

_START = """
import pathlib, sys
from streams.spark.session import session
session(pathlib.Path(sys.argv[1]))
"""
_CALLS = """
import os, pathlib, signal, sys, threading
from py4j.protocol import Py4JJavaError
from streams.spark.query import _cause
from streams.spark.session import session
context = session(pathlib.Path(sys.argv[1])).sparkContext
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT]).start()
try:
    context._jvm.java.lang.Thread.sleep(60_000)
except KeyboardInterrupt:
    print("interrupted")
try:
    context._jvm.java.util.ArrayDeque().pop()
except Py4JJavaError as error:
    context._gateway.proc.kill()
    context._gateway.proc.wait()
    print(_cause(error))
"""
_AT_THE_END_OF_THE_START = """
import pathlib, sys
from pyspark.sql import SparkSession
from streams.spark.session import end_session, session
start = SparkSession.Builder.getOrCreate
def interrupted(builder):
    start(builder)
    raise KeyboardInterrupt
SparkSession.Builder.getOrCreate = interrupted
try:
    session(pathlib.Path(sys.argv[1]))
except KeyboardInterrupt:
    end_session()
"""


def test_no_jvm_is_left(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", _START, str(tmp_path / "spark.log")]
    with psutil.Popen(argv, stderr=subprocess.PIPE) as driver:
        while not (started := [each for each in driver.children() if _is_jvm(each)]):
            assert driver.poll() is None, driver.stderr.read()
        driver.send_signal(signal.SIGINT)
        _, error = driver.communicate(timeout=PATIENCE_S)
    assert b"KeyboardInterrupt" in error, (tmp_path / "spark.log").read_text()
    _, left = psutil.wait_procs(started, timeout=PATIENCE_S)
    for each in left:
        each.kill()
    assert left == []


def test_a_call_ends_in_the_usual_way(tmp_path: Path) -> None:
    """Neither with an error of Py4J, nor with its log on the terminal; PySpark takes no signal.

    The next call works, and an error of it has a line also when the JVM has ended.
    """
    done = _run(_CALLS, tmp_path)
    assert done.stdout.splitlines() == ["True", "interrupted", "Spark's JVM ended"]
    assert (done.returncode, done.stderr) == (0, "")


def test_what_the_end_of_the_session_overtakes_is_no_error(tmp_path: Path) -> None:
    """See test_stop_in_a_batch.py for what a session that has started prepares."""
    done = _run(_AT_THE_END_OF_THE_START, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def _run(program: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    argv = [sys.executable, "-c", program, str(folder / "spark.log")]
    return subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


def _is_jvm(process: psutil.Process) -> bool:
    """Whether it executes Spark's program: before, it is a copy of the driver, then a shell.

    Python ignores the error of a signal that arrives before the fork has returned.
    """
    return "pyspark-shell" in process.cmdline() and process.num_threads() > 1
