"""From a journal to the store, as the job's driver does it: no stored fact ends it, ever."""

import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from pyspark.sql import DataFrame

from migration.observed.facts import (
    JmxSeen,
    JmxUnreachable,
    Observation,
    ZnodeGone,
    ZnodeSeen,
    ZooKeeperBlind,
    ZooKeeperSeen,
)
from migration.observed.znode_codec import controller_of
from migration.shard.placement import CLUSTER, JMX, LOG_DIRS, ZOOKEEPER
from streams.log_dirs.memory import Memory
from streams.spark.rows import ClusterChunk
from streams.spark.sink import StoreSink
from streams.state.fact_codec import pack, pack_row
from streams.state.journal import Journal, read
from streams.state.store import Store, StoreError
from streams.zookeeper.known import Known
from tests.streams.log_dirs.test_memory import FAILED, WELL, Killed, keep
from tests.streams.spark.test_directories_gone import WITHOUT_LOG_DIRS
from tests.streams.state.test_journal import FACTS
from tests.streams.zookeeper.hostile import HOSTILE
from tests.support.examples import examples
from tests.support.wire_writing import write_value

_BY_AN_EARLIER_VERSION: Sequence[Observation] = [
    *(ZnodeSeen(1, path, data, 0, 1, 1, 0) for path, (data, _) in HOSTILE.items()),
    JmxSeen(2, 1, "b1:7071", 2, (("QueuedReplicaToDirAssignments", 2**64 - 1),)),
]
_GOOD = ZnodeSeen(3, "/controller_epoch", b"8", 1, 9, 9, 0)
_SEEN = ZooKeeperSeen(1_000, "zk1:2181", 1, None, 7)
_BY_BROKER = b'{"version":2,"brokerid":1,"timestamp":"1","kraftControllerEpoch":-1}'
_BY_KRAFT = b'{"version":2,"brokerid":3000,"timestamp":"1","kraftControllerEpoch":5}'


def _row(packed: Sequence[bytes], until: int, shard: int = ZOOKEEPER) -> SimpleNamespace:
    payload = pack_row(until, packed)
    first = until - len(packed) + 1
    return SimpleNamespace(cluster="c", shard=shard, ordinal=first, payload=payload)


def _log_row(start: int, end: int, *records: tuple[int, int, bytes, str]) -> SimpleNamespace:
    chunk = ClusterChunk(False, 1, start, end, 5, 1_000, list(records))
    return SimpleNamespace(cluster="c", shard=CLUSTER, ordinal=0, payload=chunk.pack())


def _batch(*rows: SimpleNamespace) -> DataFrame:
    return cast(DataFrame, SimpleNamespace(collect=lambda: rows))


def _take(file: Path, batch_id: int, packed: Sequence[bytes], until: int) -> None:
    with Store.open(file) as store:
        StoreSink(store, lambda: 1_000)(_batch(_row(packed, until)), batch_id)


def test_facts_that_an_earlier_version_journaled_are_named_and_the_next_start_goes_on(
    tmp_path: Path,
) -> None:
    file = tmp_path / "store.db"
    _take(file, 0, [pack(each) for each in _BY_AN_EARLIER_VERSION], 8)
    _take(file, 1, [pack(_GOOD)], 9)
    with Store.open_readonly(file) as store:
        told = [(each.kind, each.fields.get("path")) for _, each in store.events("c")]
        summary = store.summary("c")
    assert told == [
        *(("znode_unreadable", path) for path in HOSTILE),
        ("fact_quarantined", None),
    ]
    assert summary is not None
    assert summary.zookeeper is not None
    assert summary.zookeeper.controller_epoch == 8


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param(
            [
                ZnodeSeen(9_000, "/controller", _BY_BROKER, 0, 1, 1, 0),
                ZnodeGone(7_500, "/controller"),
                ZnodeSeen(7_500, "/controller", _BY_KRAFT, 0, 2, 2, 0),
            ],
            id="another controller",
        ),
        pytest.param([ZooKeeperBlind(500, "lost")], id="the connection is lost"),
    ],
)
def test_a_clock_that_is_set_back_does_not_reorder_the_facts_of_a_journal(
    tmp_path: Path, facts: list[Observation]
) -> None:
    with closing(Journal(tmp_path / "j.db")) as journal:
        until = journal.append([_SEEN, *facts])
        known = Known(journal.kept())
        packed = [each for _, _, each in read(journal.path, 0, until)]
    _take(tmp_path / "store.db", 0, packed, until)
    with Store.open_readonly(tmp_path / "store.db") as store:
        summary = store.summary("c")
    assert summary is not None
    assert summary.zookeeper is not None
    assert summary.zookeeper.blind_since_ms == known.blind_since_ms
    kept = known.znode("/controller")
    expected = None if kept is None else controller_of(kept.data, kept.mtime_ms)
    assert summary.zookeeper.controller == expected


def test_the_facts_of_different_sources_are_applied_by_time(tmp_path: Path) -> None:
    set_back: list[Observation] = [_SEEN, ZooKeeperBlind(500, "lost")]
    rows = [
        _row([pack(each) for each in set_back], 2),
        _row([pack(JmxUnreachable(at, 1, "off")) for at in (900, 1_100)], 2, JMX),
    ]
    with Store.open(tmp_path / "store.db") as store:
        StoreSink(store, lambda: 1_000)(_batch(*rows), 0)
        stored = [(str(each.kind), each.seen_ms) for _, each in store.events("c")]
    assert stored == [("jmx_unreachable", 900), ("zookeeper_seen", 1_000), ("zookeeper_blind", 500)]


@examples(60, suppress=[HealthCheck.too_slow])
@given(st.lists(FACTS, max_size=5))
def test_any_facts_go_from_the_journal_into_the_store(facts: list[Observation]) -> None:
    with TemporaryDirectory() as folder:
        journal = Journal(Path(folder, "j.db"))
        until = journal.append([*facts, _GOOD])
        journal.close()
        packed = [each for _, shard, each in read(journal.path, 0, until) if shard is None]
        _take(Path(folder, "store.db"), 0, packed, until)


def _store(file: Path, batch_id: int, row: SimpleNamespace) -> None:
    with Store.open(file) as store:
        StoreSink(store, lambda: 1_000)(_batch(row), batch_id)


@pytest.mark.parametrize(
    ("rows", "gap"),
    [
        pytest.param(
            [_log_row(0, 99), _log_row(100, 199), _log_row(200, 299)],
            "metadata offset 200, the image ends at 99",
            id="metadata log",
        ),
        pytest.param(
            [_row([pack(_GOOD)], until) for until in (1, 2, 3)],
            "number 3 of the journal of zookeeper, the store ends at 1",
            id="journal",
        ),
    ],
)
def test_a_store_that_is_older_than_the_checkpoint_is_refused(
    tmp_path: Path, rows: list[SimpleNamespace], gap: str
) -> None:
    """The shards' reports are changes of a state that such a store does not know."""
    file, backup = tmp_path / "store.db", tmp_path / "backup.db"
    _store(file, 0, rows[0])
    shutil.copy(file, backup)
    _store(file, 1, rows[1])
    with pytest.raises(StoreError, match=f"{gap}: stop `kraftgate run`"):
        _store(backup, 2, rows[2])
    _store(file, 2, rows[2])


def test_what_an_earlier_release_stored_of_a_broker_is_stored_again(tmp_path: Path) -> None:
    """A stored summary may lack fields, and a broker that has left may have a row."""
    known = write_value(replace(WITHOUT_LOG_DIRS, rack="r1"))
    with Store.open(tmp_path / "s.db") as store:
        StoreSink(store, lambda: 5)(_batch(_log_row(0, 9, (7, 1_000, known, "NOW"))), 0)
    with closing(sqlite3.connect(tmp_path / "s.db")) as db:
        db.execute("UPDATE brokers SET summary = json_remove(summary, '$.rack')")
        db.execute("INSERT INTO brokers SELECT cluster, 2, summary FROM brokers")
        db.execute("UPDATE brokers SET summary = json_set(summary, '$.id', 2) WHERE id = 2")
        db.commit()
    with Store.open(tmp_path / "s.db") as store:
        StoreSink(store, lambda: 5)(_batch(_log_row(10, 19)), 1)
        stored = store.summary("c")
        assert stored is not None
        assert [(each.id, each.rack) for each in stored.brokers] == [(1, "r1")]


def test_a_source_goes_on_where_it_ended_however_many_batches_had_none_of_its_facts(
    tmp_path: Path,
) -> None:
    file = tmp_path / "store.db"
    rows = [
        _row([pack(_GOOD)] * 2, 2),
        _row([pack(JmxUnreachable(900, 1, "off"))], 1, JMX),
        _log_row(0, 99),
        # A row without facts: all that the batch has are those of shards.
        _row([], 2, ZOOKEEPER),
        _row([pack(_GOOD)], 3),
        _row([pack(JmxUnreachable(900, 1, "off"))], 2, JMX),
        _log_row(100, 199),
    ]
    for batch_id, row in enumerate(rows):
        _store(file, batch_id, row)


def _stored_losses(home: Path, kills: int) -> list[tuple[str, object]]:
    """Return the events of a loss of 100 records; `kills`: after its facts were appended."""
    home.mkdir()
    memory = Memory(home / "disks.db")
    with closing(Journal(home / "log_dirs.db")) as journal:

        def append(facts: Sequence[Observation]) -> None:
            journal.append(facts)
            raise Killed

        keep(memory, WELL, 100, 1)
        memory.deliver(journal.append)
        keep(memory, FAILED, 0, 2)
        for _ in range(kills):
            with pytest.raises(Killed):
                memory.deliver(append)
            memory.close()
            memory = Memory(home / "disks.db")
        memory.deliver(journal.append)
        until = journal.last
        packed = [each for _, _, each in read(journal.path, 0, until)]
    memory.close()
    _store(home / "store.db", 0, _row(packed, until, LOG_DIRS))
    with Store.open_readonly(home / "store.db") as store:
        return [(each.kind, each.fields) for _, each in store.events("c")]


def test_a_kill_counts_no_loss_twice(tmp_path: Path) -> None:
    once = _stored_losses(tmp_path / "calm", 0)
    assert [kind for kind, _ in once] == ["replicas_cut_off", "records_lost"]
    assert _stored_losses(tmp_path / "rough", 2) == once
