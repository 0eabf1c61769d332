"""All sources in one process: their offsets side by side, and who is asked when one has news."""

import pickle
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from migration.observed.facts import ZooKeeperSeen
from migration.observed.source_status import NO_STATUS, SourceStatus
from migration.shard.placement import ZOOKEEPER
from streams.spark.data_source import _GATHER_S, JobReader, KraftgateDataSource, source_name
from streams.spark.journal_source import ZooKeeperSource
from streams.spark.metadata_source import KraftMetadata
from streams.spark.settings import ClusterSources
from streams.state.fact_codec import unpack_row
from streams.state.journal import Journal, JournalError
from streams.state.source_status import STATUS_FILE, read_status
from tests.support.polling import PATIENCE_S, until

NO_LIMIT: Any = None
SEEN = ZooKeeperSeen(1000, "zk1:2181", 1, None, 7)


def reader(state: Path, *clusters: str, waits: bool = False) -> JobReader:
    every = [ClusterSources(cluster=each) for each in clusters]
    sources = [one for each in every for one in each.options(state)]
    return JobReader(KraftgateDataSource.options_of(sources, state, waits=waits))


def journal(state: Path, cluster: str) -> Path:
    return state / "clusters" / cluster / "zookeeper.db"


def write(state: Path, cluster: str, count: int) -> None:
    """Leave facts in the journal, as a process that was stopped does."""
    with closing(Journal(journal(state, cluster))) as kept:
        kept.append([SEEN] * count)


@contextmanager
def stopped(source: JobReader) -> Iterator[JobReader]:
    try:
        yield source
    finally:
        source.stop()


def test_an_offset_has_each_source_of_each_cluster(tmp_path: Path) -> None:
    with stopped(reader(tmp_path, "a", "b")) as source:
        start = source.initialOffset()
        formats = ("kraft_metadata", "zookeeper", "log_dirs", "jmx")
        assert list(start) == [
            source_name(format_, {"cluster": cluster}) for cluster in "ab" for format_ in formats
        ]
        assert source.latestOffset(start, NO_LIMIT) == start
        assert source.partitions(start, start) == []


def test_only_what_moved_is_planned_and_read(tmp_path: Path) -> None:
    write(tmp_path, "b", 2)
    with stopped(reader(tmp_path, "a", "b")) as source:
        start = source.initialOffset()
        end = source.latestOffset(start, NO_LIMIT)
        assert end == {**start, "b/zookeeper": {"sequence": 2}}
        (part,) = source.partitions(start, end)
        # An executor has only what Spark pickles: the reader before its first call, and the part.
        pickled = pickle.dumps((reader(tmp_path, "a", "b"), part))
        unopened, same_part = pickle.loads(pickled)  # noqa: S301  # it is this test's own
        ((cluster, shard, ordinal, packed),) = unopened.read(same_part)
        assert (cluster, shard, ordinal) == ("b", ZOOKEEPER, 1)
        assert unpack_row(packed).facts == (SEEN, SEEN)
        source.commit(end)
        assert source.latestOffset(end, NO_LIMIT) == end


def test_a_cluster_that_is_added_begins_at_its_start(tmp_path: Path) -> None:
    write(tmp_path, "a", 1)
    write(tmp_path, "b", 1)
    with stopped(reader(tmp_path, "a")) as alone:
        start = alone.latestOffset(alone.initialOffset(), NO_LIMIT)
    with stopped(reader(tmp_path, "b", "a")) as source:
        end = source.latestOffset(start, NO_LIMIT)
        assert end["a/zookeeper"] == end["b/zookeeper"] == {"sequence": 1}
        (part,) = source.partitions(start, end)
        assert [name for name, _ in part.value] == ["b/zookeeper"]


def test_small_parts_share_a_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty clusters have 200 sources, and a task costs more than reading most of their parts."""
    clusters = ("a", "b", "c", "d")
    for each in clusters:
        write(tmp_path, each, 3)
    with stopped(reader(tmp_path, *clusters)) as source:
        start = source.initialOffset()
        end = source.latestOffset(start, NO_LIMIT)
        assert [_names(part) for part in source.partitions(start, end)] == [list(clusters)]
        monkeypatch.setattr("streams.spark.data_source._TASK_BYTES", 1500)
        parts = source.partitions(start, end)
        assert [_names(part) for part in parts] == [["a", "b"], ["c", "d"]]
        rows = [row for part in parts for row in source.read(part)]
        assert [(row[0], len(unpack_row(row[3]).facts)) for row in rows] == [
            (each, 3) for each in clusters
        ]


def _names(part: Any) -> list[str]:
    return [name.partition("/")[0] for name, _ in part.value]


def test_a_cluster_that_is_removed_keeps_its_offset_and_its_begun_batch(tmp_path: Path) -> None:
    write(tmp_path, "a", 3)
    with stopped(reader(tmp_path, "a")) as alone:
        start = alone.initialOffset()
        begun = alone.latestOffset(start, NO_LIMIT)
    with stopped(reader(tmp_path, "b")) as source:
        (part,) = source.partitions(start, begun)
        ((cluster, *_, packed),) = source.read(part)
        assert (cluster, len(unpack_row(packed).facts)) == ("a", 3)
        later = source.latestOffset(begun, NO_LIMIT)
        assert {name: later[name] for name in begun} == begun


def _status(state: Path, cluster: str, name: str) -> SourceStatus:
    """The status, which is NO_STATUS until the source's thread wrote one."""
    file = state / "clusters" / cluster / name
    return read_status(file) if file.is_file() else NO_STATUS


def _both_read(state: Path) -> dict[str, Any]:
    """Let the job read two clusters' journals; return the offset."""
    for cluster in "ab":
        write(state, cluster, 5)
    with stopped(reader(state, "a", "b")) as source:
        return source.latestOffset(source.initialOffset(), NO_LIMIT)


def test_a_journal_that_was_replaced_stops_only_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark would repeat the batch that ends before it begins, at each start."""
    watch = staticmethod(lambda *_: partial(SourceStatus, observed_ms=1))
    monkeypatch.setattr(ZooKeeperSource, "watch", watch)
    read = _both_read(tmp_path)
    journal(tmp_path, "b").unlink()
    write(tmp_path, "a", 2)
    every = [ClusterSources(cluster=each, zookeeper={}) for each in "ab"]
    sources = [one for each in every for one in each.options(tmp_path)]
    options = KraftgateDataSource.options_of(sources, tmp_path, waits=False)
    with stopped(JobReader(options)) as source:
        end = source.latestOffset(read, NO_LIMIT)
        source.commit(end)
        assert source.latestOffset(end, NO_LIMIT) == end
        until(lambda: _status(tmp_path, "b", "zookeeper.json").error, "the status of b")
        until(lambda: _status(tmp_path, "a", "zookeeper.json") != NO_STATUS, "the status of a")
    assert end == {**read, "a/zookeeper": {"sequence": 7}}
    why = "ends with fact 0, but the job has read up to 5"
    assert why in str(_status(tmp_path, "b", "zookeeper.json").error)
    assert _status(tmp_path, "a", "zookeeper.json").error is None


@pytest.mark.slow
@pytest.mark.parametrize("here", [True, False])
def test_a_damaged_journal_stops_only_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, here: bool
) -> None:
    monkeypatch.setattr("streams.spark.feeds.CLUSTERS_HERE_MAX", 4 if here else 1)
    read = _both_read(tmp_path)
    journal(tmp_path, "b").write_bytes(b"\0" * 8192)
    write(tmp_path, "a", 2)
    with stopped(reader(tmp_path, "a", "b")) as source:
        source.commit(read)
        assert source.latestOffset(read, NO_LIMIT) == {**read, "a/zookeeper": {"sequence": 7}}
    assert "file is not a database" in str(_status(tmp_path, "b", "zookeeper.json").error)


def _damage_pages(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2] + b"\xff" * (len(content) - len(content) // 2))


def _damage_fact(path: Path) -> None:
    """SQLite has no checksums: it does not notice a changed byte of a value."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("UPDATE facts SET fact = x'c1' WHERE sequence = 300")


def _delete_fact(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("DELETE FROM facts WHERE sequence = 300")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (_damage_pages, "malformed"),
        (_damage_fact, "a stored fact cannot be read"),
        (_delete_fact, "299 of the facts 1 to 300"),
    ],
)
@pytest.mark.parametrize("here", [True, False])
def test_damaged_facts_are_not_offered(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    damage: Callable[[Path], None],
    reason: str,
    *,
    here: bool,
) -> None:
    """A batch that has begun with them would end the job of all clusters, at each start."""
    monkeypatch.setattr("streams.spark.feeds.CLUSTERS_HERE_MAX", 4 if here else 1)
    monkeypatch.setattr("streams.spark.journal_source.FACTS_A_BATCH", 300)
    for cluster in "ab":
        with closing(Journal(journal(tmp_path, cluster).with_name("jmx.db"))) as kept:
            kept.append([SEEN] * 400)
    damage(journal(tmp_path, "b").with_name("jmx.db"))
    asked = {"exporters": {"1": "http://127.0.0.1:1/metrics"}}
    every = [ClusterSources(cluster=each, jmx=asked) for each in "ab"]
    sources = [one for each in every for one in each.options(tmp_path)]
    options = KraftgateDataSource.options_of(sources, tmp_path, waits=False)
    with stopped(JobReader(options)) as source:
        start = source.initialOffset()
        end = source.latestOffset(start, NO_LIMIT)
        assert end == {**start, "a/jmx": {"sequence": 300}}
        (part,) = source.partitions(start, end)
        assert len(list(source.read(part))) == 1
        source.commit(end)
        assert source.latestOffset(end, NO_LIMIT)["a/jmx"]["sequence"] > 300
        until(lambda: reason in (_status(tmp_path, "b", "jmx.json").error or ""), "the status")


def test_what_was_offered_is_read_once_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[tuple[int, int]] = []
    monkeypatch.setattr(
        "streams.state.journal.require_readable", lambda _, *facts: checked.append(facts)
    )
    write(tmp_path, "a", 2)
    with stopped(reader(tmp_path, "a")) as source:
        start = source.initialOffset()
        end = [source.latestOffset(start, NO_LIMIT) for _ in range(3)][-1]
        source._source("a/zookeeper")._feed._journal.append([SEEN])  # type: ignore[union-attr]
        later = [source.latestOffset(at, NO_LIMIT) for at in (start, end)][-1]
        assert source.latestOffset(later, NO_LIMIT) == later
    assert checked == [(0, 2), (2, 3)]


def test_the_damage_of_the_only_cluster_ends_the_job(tmp_path: Path) -> None:
    journal(tmp_path, "a").parent.mkdir(parents=True)
    journal(tmp_path, "a").write_bytes(b"\0" * 8192)
    with stopped(reader(tmp_path, "a")) as source, pytest.raises(JournalError, match="database"):
        source.latestOffset(source.initialOffset(), NO_LIMIT)


def test_a_metadata_log_that_is_gone_stops_only_its_source(tmp_path: Path) -> None:
    """Another cluster's log, under the same name, would be read on from the former offset."""
    listener = {"bootstrap": ["127.0.0.1:1"]}
    of = [ClusterSources(cluster="a"), ClusterSources(cluster="b", controllers=listener)]
    sources = [one for each in of for one in each.options(tmp_path)]
    options = KraftgateDataSource.options_of(sources, tmp_path, waits=False)
    with stopped(JobReader(options)) as source:
        start = source.initialOffset()
        read = {**start, "b/kraft_metadata": {**start["b/kraft_metadata"], "offset": 7}}
        assert source.latestOffset(read, NO_LIMIT) == read
    error = _status(tmp_path, "b", STATUS_FILE).error
    assert "has no metadata log, but the job has read one up to offset 7" in str(error)


class Asked:
    """`latestOffset` in a thread; its waits are endless, so only news can end them."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("_WAIT_S", "_GATHER_S"):
            monkeypatch.setattr(f"streams.spark.data_source.{name}", PATIENCE_S)
        self._opened: list[Journal] = []
        self._waits = threading.Semaphore(0)
        wait = JobReader._wait

        def watch(_options: object, journal: Journal, _held: object) -> Any:
            self._opened.append(journal)
            return lambda: SourceStatus(observed_ms=1)

        def begin_wait(*arguments: Any) -> None:
            self._waits.release()
            wait(*arguments)

        monkeypatch.setattr(ZooKeeperSource, "watch", staticmethod(watch))
        monkeypatch.setattr(JobReader, "_wait", begin_wait)
        sources = list(ClusterSources(cluster="a", zookeeper={}).options(folder))
        self.source = JobReader(KraftgateDataSource.options_of(sources, folder, waits=True))
        self._ends: list[Any] = []
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()
        self.has_begun_to_wait()

    def has_begun_to_wait(self) -> None:
        """Wait until its next wait begins."""
        assert self._waits.acquire(timeout=PATIENCE_S)

    def _ask(self) -> None:
        self._ends.append(self.source.latestOffset(self.source.initialOffset(), NO_LIMIT))

    def seen_in_zookeeper(self) -> None:
        self._opened[0].append([SEEN])

    def end(self) -> Any:
        self._thread.join(PATIENCE_S)
        self.source.stop()
        return self._ends[0]


def test_news_of_any_source_end_the_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(tmp_path, monkeypatch)
    monkeypatch.setattr("streams.spark.data_source._GATHER_S", 0.0)
    asked.seen_in_zookeeper()
    assert asked.end()["a/zookeeper"] == {"sequence": 1}


@pytest.mark.parametrize("came_before", [False, True])
def test_polled_facts_wait_for_others_and_not_beyond_a_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, came_before: bool
) -> None:
    """Also those that came while the last batch ran."""
    if came_before:
        write(tmp_path, "a", 1)
    grown = threading.Event()

    def latest(_: object, start: dict[str, int], *, along: bool = False) -> dict[str, int]:  # noqa: ARG001
        return {**start, "offset": start["offset"] + grown.is_set()}

    monkeypatch.setattr(KraftMetadata, "latest", latest)
    asked = Asked(tmp_path, monkeypatch)
    if not came_before:
        asked.seen_in_zookeeper()
    asked.has_begun_to_wait()
    asked.seen_in_zookeeper()
    grown.set()
    asked.source._opening()._bell.ring("a/kraft_metadata")
    end = asked.end()
    assert (end["a/zookeeper"], end["a/kraft_metadata"]["offset"]) == ({"sequence": 2}, 1)


def test_a_batch_takes_along_what_is_not_worth_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No-op records of the metadata log, in a batch that another source of the cluster causes."""

    def latest(_: object, start: dict[str, int], *, along: bool = False) -> dict[str, int]:
        return {**start, "offset": start["offset"] + along}

    monkeypatch.setattr(KraftMetadata, "latest", latest)
    with stopped(reader(tmp_path, "a", "b", waits=True)) as source:
        start = source.initialOffset()
        monkeypatch.setattr("streams.spark.data_source._WAIT_S", 0.0)
        assert source.latestOffset(start, NO_LIMIT) == start
    write(tmp_path, "a", 1)
    monkeypatch.setattr("streams.spark.data_source._GATHER_S", 0.0)
    with stopped(reader(tmp_path, "a", "b", waits=True)) as source:
        end = source.latestOffset(start, NO_LIMIT)
    assert end["a/zookeeper"] == {"sequence": 1}
    assert end["a/kraft_metadata"]["offset"] == start["a/kraft_metadata"]["offset"] + 1
    assert end["b/kraft_metadata"] == start["b/kraft_metadata"]


def test_a_backlog_does_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streams.spark.journal_source.FACTS_A_BATCH", 2)
    write(tmp_path, "a", 3)
    with stopped(reader(tmp_path, "a", waits=True)) as source:
        monkeypatch.setattr(JobReader, "_wait", _only_for_news)
        end = source.latestOffset(source.initialOffset(), NO_LIMIT)
    assert end["a/zookeeper"] == {"sequence": 2}


def _only_for_news(*arguments: Any) -> None:
    assert arguments[-1] != _GATHER_S, "more facts are there"
