"""A JVM that does not answer; it is a process without Spark here, which takes a start of 8 s less.

The query is a mock: its question waits for that process, as one to the JVM does.
"""

import gc
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext
from pyspark.sql.streaming.query import StreamingQuery

from streams.spark import query
from streams.spark.query import Job, JobFailed
from streams.spark.session import drop_in_background
from streams.spark.warm import LOG

SESSION = SimpleNamespace(master="local[2]")


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


def test_a_jvm_that_ends_while_the_query_starts_is_named_with_its_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object, **__: object) -> object:
        raise Py4JNetworkError("An error occurred while trying to connect to the Java server")

    monkeypatch.setattr(query, "_session", lambda *_: SimpleNamespace(sparkContext=SESSION))
    monkeypatch.setattr(query, "_stream", crash)
    log = tmp_path / f"{0:020d}.log"
    log.write_bytes(LOG)
    said = f"JVM ended or does not answer: its output is in {tmp_path}/.*spark.log. Start"
    with pytest.raises(JobFailed, match=said):
        query.follow([], tmp_path)
    with pytest.raises(JobFailed, match=said):
        query.replay(log, tmp_path)


class _FrozenClient:
    """Py4J's client of a JVM that does not answer until `thaws`."""

    address, port, is_connected = "127.0.0.1", 1, True
    gateway_property = SimpleNamespace(auto_field=False, enable_memory_management=True, pool={})
    converters = ()

    def __init__(self) -> None:
        self.thaws, self.reported = threading.Event(), threading.Event()

    def garbage_collect_object(self, target_id: str) -> None:
        assert target_id == "o7"
        self.thaws.wait()
        self.reported.set()


def test_no_thread_that_collects_garbage_waits_for_the_jvm() -> None:
    client = _FrozenClient()
    drop_in_background(client)
    dropped = JavaObject("o7", client)
    dropped.method  # noqa: B018  # in a cycle with its method, only the collector frees it
    del dropped
    collects = threading.Thread(target=gc.collect, daemon=True)
    collects.start()
    collects.join(60)
    assert not collects.is_alive()
    client.thaws.set()
    assert client.reported.wait(60)
