"""From a journal to the store, as the job's driver does it: no stored fact ends it, ever."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, cast

from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from pyspark.sql import DataFrame

from migration.observed.facts import JmxSeen, Observation, ZnodeSeen
from migration.shard.placement import ZOOKEEPER
from streams.spark.sink import StoreSink
from streams.state.fact_codec import pack, pack_row
from streams.state.journal import Journal, read
from streams.state.store import Store
from tests.streams.state.test_journal import FACTS
from tests.streams.zookeeper.hostile import HOSTILE
from tests.support.examples import examples

_BY_AN_EARLIER_VERSION: Sequence[Observation] = [
    *(ZnodeSeen(1, path, data, 0, 1, 1, 0) for path, (data, _) in HOSTILE.items()),
    JmxSeen(2, 1, "b1:7071", 2, (("QueuedReplicaToDirAssignments", 2**64 - 1),)),
]
_GOOD = ZnodeSeen(3, "/controller_epoch", b"8", 1, 9, 9, 0)


def _batch(packed: Sequence[bytes], until: int) -> DataFrame:
    payload = pack_row(until, packed)
    row: Any = SimpleNamespace(cluster="c", shard=ZOOKEEPER, ordinal=until, payload=payload)
    return cast(DataFrame, SimpleNamespace(collect=lambda: [row]))


def _take(file: Path, batch_id: int, packed: Sequence[bytes], until: int) -> None:
    with Store.open(file) as store:
        StoreSink(store, lambda: 1_000)(_batch(packed, until), batch_id)


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


@examples(60, suppress=[HealthCheck.too_slow])
@given(st.lists(FACTS, max_size=5))
def test_any_facts_go_from_the_journal_into_the_store(facts: list[Observation]) -> None:
    with TemporaryDirectory() as folder:
        journal = Journal(Path(folder, "j.db"))
        until = journal.append([*facts, _GOOD])
        journal.close()
        packed = [each for _, shard, each in read(journal.path, 0, until) if shard is None]
        _take(Path(folder, "store.db"), 0, packed, until)
