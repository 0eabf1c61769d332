"""Ctrl-C while the JVM starts: it ends, too."""

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.spark

_START = """
import pathlib, sys
from streams.spark.session import session
session(pathlib.Path(sys.argv[1]))
"""
_END_S_MAX = 60.0


def test_no_jvm_is_left(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", _START, str(tmp_path / "spark.log")]
    with psutil.Popen(argv, stderr=subprocess.PIPE) as driver:
        while not (started := [each for each in driver.children() if _is_jvm(each)]):
            assert driver.poll() is None, driver.stderr.read()
        driver.send_signal(signal.SIGINT)
        _, error = driver.communicate(timeout=_END_S_MAX)
    assert b"KeyboardInterrupt" in error
    _, left = psutil.wait_procs(started, timeout=_END_S_MAX)
    for each in left:
        each.kill()
    assert left == []


def _is_jvm(process: psutil.Process) -> bool:
    """Whether it executes Spark's program already: before, it is a copy of the driver."""
    return "pyspark-shell" in process.cmdline()
