"""The query of a cluster whose configuration names no controllers yet."""

import time
from contextlib import closing
from pathlib import Path

import pytest

from migration.observed.facts import ZooKeeperSeen
from streams.spark.query import follow
from streams.spark.settings import ClusterSources
from streams.state.journal import Journal
from streams.state.store import Store

pytestmark = pytest.mark.spark

_PATIENCE_S = 180.0


def test_news_of_another_source_are_taken_in(tmp_path: Path) -> None:
    """ZooKeeper's facts lie in its journal, as a process that was stopped left them there."""
    journal = Journal(tmp_path / "clusters" / "prod" / "zookeeper.db", None)
    with closing(journal):
        journal.append([ZooKeeperSeen(1000, "zk1:2181", 1, None, 7)])
    job = follow([ClusterSources(cluster="prod")], tmp_path)
    try:
        with Store.open_readonly(tmp_path / "store.db") as store:
            deadline_s = time.monotonic() + _PATIENCE_S
            while store.place("prod", "zookeeper") < 1:
                job.poll()
                assert time.monotonic() < deadline_s
                time.sleep(0.1)
    finally:
        job.stop()
