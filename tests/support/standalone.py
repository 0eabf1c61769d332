"""A Spark standalone cluster on loopback: a master and worker processes of the installed Spark."""

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Self

import psutil
import pyspark

from orchestrator.lab.machine.ports import LOOPBACK, Ports
from orchestrator.lab.machine.spawner import spawn
from streams.spark.session import class_archive, unsigned_jars
from tests.support.polling import polls
from tests.support.processes import kill_tree

_DEPLOY = "org.apache.spark.deploy"
_SPARK = Path(pyspark.__file__).parent
BARE_PYTHON = Path(sys.base_prefix, "bin", f"python3.{sys.version_info.minor}")
"""An interpreter without any package of the tests' environment."""
QUICK_JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""As on one machine (streams.spark.session): a JVM of a minute spends half of it compiling."""
CLASSES = f"{unsigned_jars()}/*"
"""First on the class path that the archive of classes is for."""
ARCHIVED = f"{QUICK_JVM} -XX:SharedArchiveFile={class_archive()}"
"""The options of a JVM of Spark with `CLASSES`; it starts in half of the time."""


class StandaloneCluster:
    """A running cluster; its processes end with this one."""

    def __init__(self, folder: Path, workers: int) -> None:
        self.secret_file = folder / "secret"
        secret = secrets.token_hex(16)
        self.secret_file.write_text(secret, encoding="utf-8")
        self.secret_file.chmod(0o600)
        self._folder = folder
        self.settings = folder / "spark.properties"
        self.settings.write_text(
            "spark.authenticate true\nspark.network.crypto.enabled true\n"
            f"spark.authenticate.secret {secret}\n",
            encoding="utf-8",
        )
        self._ports = Ports()
        port = self._ports.take()
        self.master = f"spark://{LOOPBACK}:{port}"
        self._workers: list[subprocess.Popen[bytes]] = []
        self._processes = [self._start("master", "master.Master", "--port", str(port))]
        self._wait_for("master", "I have been elected leader")
        for _ in range(workers):
            self.add_worker()

    def __enter__(self) -> Self:
        """Return the cluster, which runs."""
        return self

    def __exit__(self, *_: object) -> None:
        """End all processes."""
        for each in self._processes:
            _kill(each)
        self._ports.close()

    def add_worker(self) -> None:
        """Start another worker with one core."""
        name = f"worker-{len(self._workers)}"
        process = self._start(
            *(name, "worker.Worker", "--cores", "1", "--memory", "1g"),
            *("--work-dir", str(self._folder / name), self.master),
        )
        self._workers.append(process)
        self._processes.append(process)
        self._wait_for(name, "Successfully registered with master")

    def kill_worker(self, number: int) -> None:
        """kill -9 of a worker, its executors and their Python processes."""
        _kill(self._workers[number])

    def executors(self, number: int) -> Iterator[Path]:
        """Yield the working directories of the executors that a worker has started."""
        return (self._folder / f"worker-{number}").glob("app-*/*")

    def _start(self, name: str, main: str, *arguments: str) -> subprocess.Popen[bytes]:
        kept = {
            each: os.environ[each]
            for each in ("PATH", "HOME", "JAVA_HOME", "TMPDIR")
            if each in os.environ
        }
        environment = {
            **kept,
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_HOME": str(_SPARK),
            "SPARK_DAEMON_JAVA_OPTS": ARCHIVED,
            "SPARK_DAEMON_CLASSPATH": CLASSES,
        }
        command = (
            *("env", "-i", *(f"{key}={value}" for key, value in environment.items())),
            *(str(_SPARK / "bin" / "spark-class"), f"{_DEPLOY}.{main}"),
            *("--host", LOOPBACK, "--webui-port", "0"),
            *("--properties-file", str(self.settings), *arguments),
        )
        return spawn(command, self._folder / f"{name}.log")

    def _wait_for(self, name: str, line: str) -> None:
        log = self._folder / f"{name}.log"
        for _ in polls(120.0):
            if log.exists() and line in log.read_text("utf-8", "replace"):
                return
        printed = log.read_text("utf-8", "replace")
        raise AssertionError(f"{name} does not start: {printed[-3000:]}")


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(psutil.NoSuchProcess):
        kill_tree(process.pid)
    process.wait()
