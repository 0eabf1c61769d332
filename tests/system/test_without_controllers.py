"""The query of a cluster whose configuration names no controllers yet."""

import json
import time
from contextlib import closing
from pathlib import Path

import pytest

from migration.observed.facts import ZooKeeperSeen
from streams.spark.query import JobFailed, follow
from streams.spark.settings import ClusterSources
from streams.state.journal import Journal
from streams.state.store import Store

pytestmark = pytest.mark.spark

_PATIENCE_S = 180.0


def _leave_fact(state: Path) -> None:
    """ZooKeeper's facts lie in its journal, as a process that was stopped left them there."""
    with closing(Journal(state / "clusters" / "prod" / "zookeeper.db")) as journal:
        journal.append([ZooKeeperSeen(1000, "zk1:2181", 1, None, 7)])


def _follow_until(state: Path, sequence: int, *others: str) -> None:
    job = follow([ClusterSources(cluster=each) for each in (*others, "prod")], state)
    try:
        with Store.open_readonly(state / "store.db") as store:
            deadline_s = time.monotonic() + _PATIENCE_S
            while store.place("prod", "zookeeper") < sequence:
                job.poll()
                assert time.monotonic() < deadline_s
                time.sleep(0.1)
    finally:
        job.stop()


def _separate_sources(state: Path) -> None:
    """Write the checkpoint's offsets as releases did that had a data source for each source."""
    for file in (state / "checkpoint" / "offsets").glob("[0-9]*"):
        *head, joined = file.read_text("utf-8").splitlines()
        offsets = [json.dumps(each) for each in json.loads(joined).values()]
        file.write_text("\n".join([*head, *offsets]), "utf-8")
        file.with_name(f".{file.name}.crc").unlink()


def test_news_of_another_source_are_taken_in_also_from_an_earlier_releases_state(
    tmp_path: Path,
) -> None:
    _leave_fact(tmp_path)
    _follow_until(tmp_path, 1)
    _separate_sources(tmp_path)
    with pytest.raises(JobFailed, match=r"was written for 4 sources, and .* have 8"):
        follow([ClusterSources(cluster="prod"), ClusterSources(cluster="test")], tmp_path)
    for sequence, others in enumerate([(), ("added",), ()], start=2):
        _leave_fact(tmp_path)
        _follow_until(tmp_path, sequence, *others)
