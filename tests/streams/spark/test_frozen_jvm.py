"""A JVM that does not answer; it is a process without Spark here, which takes a start of 8 s less.

The query is a mock: its question waits for that process, as one to the JVM does.
"""

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from pyspark import SparkContext
from pyspark.sql.streaming.query import StreamingQuery

from streams.spark import query
from streams.spark.query import Job, JobFailed


class _Query:
    def __init__(self, jvm: "subprocess.Popen[bytes]") -> None:
        self._jvm = jvm

    @property
    def isActive(self) -> bool:  # noqa: N802  # PySpark's name
        self._jvm.wait()
        raise ConnectionResetError("the JVM is gone")

    def stop(self) -> None:
        pass


def test_a_jvm_that_does_not_answer_is_killed_and_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query, "_ANSWER_S_MAX", 0.01)
    argv = [sys.executable, "-c", "input()"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE) as jvm:
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=jvm))
        job = Job(cast("StreamingQuery", _Query(jvm)), ExitStack(), tmp_path / "spark.log")
        with pytest.raises(JobFailed, match="JVM ended or does not answer: its output is in"):
            job.poll()
        assert jvm.wait(60) < 0
        with pytest.raises(JobFailed, match="JVM ended or does not answer"):
            job.poll()
        job.stop()
