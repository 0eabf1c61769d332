"""Spark's Python processes: workers share what their daemon imported, and no process is useless."""

import gc
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import psutil
import pytest

from streams.spark.query import replay
from streams.spark.session import session
from tests.support.logs import values, write_segment
from tests.support.processes import command_of

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module", autouse=True)
def _after_a_replay(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("log")
    log = folder / f"{0:020d}.log"
    log.write_bytes(write_segment(values([(0, 0, 0, 0), (3, 0, 0, 3)]), [3]))
    assert replay(folder).damage is None


def test_a_worker_imports_nothing_large_and_its_daemon_has_one_thread(tmp_path: Path) -> None:
    # Within the test, so that the worker need not import the tests; an assertion imports pytest.
    def about_the_worker(_: Iterable[int]) -> Iterator[tuple[int, int, int, str | None]]:
        """Return the objects that a collection walks, those exempt, and the daemon's threads.

        And whether the processes of this one import from the working directory.
        """
        daemon = Path("/proc", str(os.getppid()), "status").read_text("utf-8")
        threads = next(each for each in daemon.splitlines() if each.startswith("Threads:"))
        safe = os.environ.get("PYTHONSAFEPATH")
        yield len(gc.get_objects()), gc.get_freeze_count(), int(threads.split()[1]), safe

    spark = session(tmp_path / "spark.log").sparkContext
    tasks = spark.defaultParallelism
    workers = spark.parallelize(range(tasks), tasks).mapPartitions(about_the_worker).collect()
    for walked, exempt, threads, safe in workers:
        assert walked < exempt / 10
        assert threads == 1
        assert safe == "1"


def test_nobody_searches_for_other_data_sources() -> None:
    """The daemon that Spark starts for each kind of worker stays."""
    commands = map(command_of, psutil.Process().children(recursive=True))
    daemons = [each[-1] for each in commands if "daemon" in " ".join(each)]
    assert "pyspark.sql.worker.create_data_source" in daemons
    assert "pyspark.sql.worker.lookup_data_sources" not in daemons


def test_every_socket_is_deleted_at_the_end() -> None:
    """They are in a directory of this process: PySpark leaves one to its end."""
    sockets = [each.laddr for each in psutil.Process().net_connections("unix")]
    found = [each for each in map(str, sockets) if each.endswith(".sock")]
    assert found
    assert all("/kraftgate-spark-" in each for each in found)
