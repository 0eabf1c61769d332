"""The line that an operator gets of an error of Spark's; the texts are those of Spark 4.2."""

import subprocess
import sys
from pathlib import Path

import pytest

from streams.spark.query import _DISK_IS_FULL, _cause
from tests.support.polling import PATIENCE_S

PORT = "EOFException occurred while reading the port number from pyspark.daemon's stdout"
ENDED = (
    ": a Python process of Spark ended, or did not start within 10 s: memory is short (dmesg), or"
    " the machine is busy. Start the command again"
)
FAILED = "[STREAM_FAILED] Query [id = 5e, runId = 7f] terminated with exception: "


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            (
                "An error occurred while calling o95.load.\n"
                f": org.apache.spark.SparkException: {PORT}.\n\tat a.B.c(B.scala:1)\n"
                "Caused by: java.io.EOFException\n\tat a.B.c(B.scala:1)"
            ),
            f"{PORT} (SparkException){ENDED}",
        ),
        (f"{FAILED}{PORT}. SQLSTATE: XXKST", f"{PORT}{ENDED}"),
        (
            f"{FAILED}Python worker failed to connect back. SQLSTATE: XXKST",
            f"Python worker failed to connect back{ENDED}",
        ),
        (f"{FAILED} SQLSTATE: XXKST", "Spark names no cause"),
        (f"{FAILED}\nTraceback:\nstreams.a.Damaged: at byte 7", "at byte 7 (Damaged)"),
        (
            f"{FAILED}\nTraceback:\nOSError: [Errno 28] No space left on device",
            f"[Errno 28] No space left on device (OSError): {_DISK_IS_FULL}",
        ),
        ("", "Exception"),
    ],
)
def test_a_line_is_the_cause_and_its_fix(text: str, line: str) -> None:
    assert _cause(Exception(text)) == line


_OF_AN_ENDED_JVM = """
import pathlib, sys
from py4j.protocol import Py4JJavaError
from streams.spark.query import _cause
from streams.spark.session import session
context = session(pathlib.Path(sys.argv[1])).sparkContext
try:
    context._jvm.java.util.ArrayDeque().pop()
except Py4JJavaError as error:
    context._gateway.proc.kill()
    context._gateway.proc.wait()
    print(_cause(error))
"""


@pytest.mark.spark
def test_an_error_of_a_jvm_that_ended_has_a_line(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", _OF_AN_ENDED_JVM, str(tmp_path / "spark.log")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.stdout == "Spark's JVM ended\n", done.stderr
