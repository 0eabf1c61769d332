"""The line that an operator gets of an error of Spark's; the texts are those of Spark 4.2.

test_interrupted_start.py has an error of a JVM that has ended.
"""

import pytest

from streams.spark.query import _DISK_IS_FULL, _cause

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
