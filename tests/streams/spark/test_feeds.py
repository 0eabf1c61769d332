"""The feeds of many clusters run in other processes, and offer what those of a few clusters do."""

import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest

from migration.observed.facts import ZooKeeperSeen
from migration.values.foreign import load
from streams.spark import feed_process
from streams.spark.data_source import JobReader, KraftgateDataSource
from streams.spark.feeds import CLUSTERS_A_PROCESS, CLUSTERS_HERE_MAX, FeedFailed
from streams.spark.settings import ClusterSources
from streams.state.journal import Journal, JournalError, last_sequence
from streams.state.source_status import read_status
from tests.streams.jmx.server import serving, text
from tests.support.journals import refuse_deletions
from tests.support.polling import PATIENCE_S, until

pytestmark = pytest.mark.slow

STATE = 'kafka_controller_KafkaController_Value{name="ZkMigrationState"} 1\n'
NO_LIMIT: Any = None
CLUSTERS = tuple(f"c{number}" for number in range(CLUSTERS_A_PROCESS + 2))
SEEN = ZooKeeperSeen(1000, "zk1:2181", 1, None, 7)


def home(state: Path, cluster: str) -> Path:
    return state / "clusters" / cluster


def reader(state: Path, clusters: tuple[str, ...] = CLUSTERS, **more: Any) -> JobReader:
    every = [ClusterSources(cluster=each, **more) for each in clusters]
    sources = [one for each in every for one in each.options(state)]
    return JobReader(KraftgateDataSource.options_of(sources, state, waits=True))


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state directory with a journal of each cluster."""
    for each in CLUSTERS:
        with closing(Journal(home(tmp_path, each) / "zookeeper.db")) as journal:
            journal.append([SEEN, SEEN])
    return tmp_path


@pytest.fixture
def source(state: Path) -> Iterator[JobReader]:
    found = reader(state)
    yield found
    found.stop()
    assert not children()


def children(parent: int | None = None) -> list[psutil.Process]:
    return [
        each
        for each in psutil.Process(parent).children()
        if feed_process.__name__ in each.cmdline()
    ]


def test_few_clusters_need_no_process(state: Path) -> None:
    found = reader(state, CLUSTERS[:CLUSTERS_HERE_MAX])
    found.latestOffset(found.initialOffset(), NO_LIMIT)
    assert not children()
    found.stop()


def test_the_offsets_are_those_of_the_same_feeds_here(
    source: JobReader, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = source.initialOffset()
    end = source.latestOffset(start, NO_LIMIT)
    assert end == start | {f"{each}/zookeeper": {"sequence": 2} for each in CLUSTERS}
    # They report at different moments, between them.
    assert sorted(each.cmdline()[-1] for each in children()) == ["0.0", "15.0"]
    (part,) = source.partitions(start, end)
    assert len(list(source.read(part))) == len(CLUSTERS)
    with monkeypatch.context() as patch:
        patch.setattr("streams.spark.feeds.CLUSTERS_HERE_MAX", len(CLUSTERS))
        here = reader(state)
        assert here.latestOffset(start, NO_LIMIT) == end
        here.stop()
    # Committed, it is compacted there: no fact of this key but the last remains.
    source.commit(end)
    path = home(state, CLUSTERS[-1]) / "zookeeper.db"
    until(lambda: len(_facts(path)) == 1)


def _facts(path: Path) -> list[object]:
    with closing(Journal(path)) as journal:
        return list(journal.kept())


def test_news_end_the_wait(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait is made endless, and the node answers later: only the news can end it."""
    monkeypatch.setattr("streams.spark.data_source._WAIT_S", PATIENCE_S)
    with serving(text(STATE)) as url:
        source = reader(state, jmx={"exporters": {"1": f"{url}/metrics"}})
        start = source.initialOffset()
        at = start | {f"{each}/zookeeper": {"sequence": 2} for each in CLUSTERS}
        names = {f"{each}/jmx" for each in CLUSTERS}
        while names:
            end = source.latestOffset(at, NO_LIMIT)
            assert end != at
            names -= {name for name in names if end[name]["sequence"] > 0}
            at = end
        source.stop()
    for each in CLUSTERS:
        assert last_sequence(home(state, each) / "jmx.db") >= at[f"{each}/jmx"]["sequence"] > 0


def test_the_status_of_a_damaged_feed_has_the_message_of_this_process(
    source: JobReader, state: Path
) -> None:
    damaged = home(state, CLUSTERS[3]) / "log_dirs.db"
    damaged.write_bytes(b"no journal, but longer than the header of a database" * 20)
    with pytest.raises(JournalError) as here:
        Journal(damaged)
    start = source.initialOffset()
    name = f"{CLUSTERS[3]}/log_dirs"
    assert source.latestOffset(start, NO_LIMIT)[name] == start[name]
    status = read_status(home(state, CLUSTERS[3]) / "log_dirs.json")
    assert status.error == str(here.value)


@pytest.mark.parametrize("damaged", [False, True])
def test_only_damage_ends_a_feed_whose_compaction_fails(
    state: Path, monkeypatch: pytest.MonkeyPatch, *, damaged: bool
) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(feed_process, "tell_parent", lambda line: sent.append(load(line.encode())))
    cluster = ClusterSources(cluster=CLUSTERS[0])
    options = dict(cluster.options(state))["zookeeper"]
    path = home(state, CLUSTERS[0]) / "zookeeper.db"
    if damaged:
        _damage_facts(path)
    else:
        refuse_deletions(path)
    with feed_process._Reporter() as reporter:
        reporter.open("a", "zookeeper", options)
        reporter.retain("a", {"sequence": 2})
        until(lambda: ["a", "end", {"sequence": 2}] in sent)
    assert [kind for _, kind, _ in sent if kind != "end"] == ["damaged"] * damaged


def _damage_facts(path: Path) -> None:
    """Overwrite the first page of the table."""
    with closing(sqlite3.connect(path)) as db:
        (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'facts'").fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)


def test_a_process_that_is_killed_is_named(source: JobReader) -> None:
    end = source.latestOffset(source.initialOffset(), NO_LIMIT)
    (killed, *_) = children()
    killed.send_signal(signal.SIGKILL)
    with pytest.raises(FeedFailed, match="its process ended with exit code -9"):
        _ask_for_ever(source, end)


def _ask_for_ever(source: JobReader, at: dict[str, Any]) -> None:
    while True:
        source.latestOffset(at, NO_LIMIT)


def test_a_process_ends_with_the_one_that_started_it(state: Path) -> None:
    pid = os.fork()
    if not pid:
        try:
            found = reader(state)
            found.latestOffset(found.initialOffset(), NO_LIMIT)
            os.kill(os.getpid(), signal.SIGSTOP)
        finally:
            os._exit(1)  # this copy of the test's process must not go on with the tests
    os.waitpid(pid, os.WUNTRACED)
    started = children(pid)
    assert len(started) == 2
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    until(lambda: not any(_runs(each) for each in started))


def _runs(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
