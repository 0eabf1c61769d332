"""Columns give what the same records give one after the other."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from migration.metadata.directory_ids import DirectoryId
from migration.metadata.partitions import Replicas
from migration.shard.report import ShardReport
from streams.spark.rows import ShardChunk
from streams.spark.shard_batch import unpack_shard
from tests.support.examples import examples
from tests.support.logs import Action, actions, values, write_segment
from tests.support.pipeline import Run
from tests.support.shard_by_objects import ObjectShard, Place
from tests.support.wire_writing import write_batch, write_checkpoint

_CREATED_AGAIN: list[Action] = [(0, 0, 0, 0), (4, 0, 0, 3), (7, 0, 0, 1), (4, 0, 0, 5)]
_NEVER_CREATED: list[Action] = [(0, 0, 0, 0), (8, 0, 0, 1), (7, 0, 0, 1)]
_REPLICAS: list[Action] = [(0, 0, 0, 0), (2, 0, 0, 0), (2, 0, 1, 0), (5, 0, 0, 0), (5, 0, 1, 6)]
"""Of broker 1, in its directories 0 and 1."""
_IN_0_AND_1: Action = (9, 0, 1, 4)
_IN_0: Action = (9, 0, 1, 3)
_NO_TRANSACTION = actions.map(lambda drawn: [each for each in drawn if each[0] != 14])
_IDLE: Action = (17, 0, 0, 0)
_BEFORE_ITS_TOPIC: list[Action] = [(4, 0, 0, 3), (0, 0, 0, 0), (4, 0, 1, 3)]


def _with_ids(replicas: Replicas, ids: list[DirectoryId]) -> tuple[object, ...]:
    return (*replicas._replace(directories=()), [ids[each] for each in replicas.directories])


@dataclass
class _Twins(Run):
    """The pipeline, with the twin of each shard beside it."""

    objects: dict[int, ObjectShard] = field(default_factory=dict)

    def _shard(self, shard: int, chunks: Sequence[bytes]) -> ShardReport:
        seen = len(self.transitions)
        before = self.objects.get(shard, ObjectShard())
        counted = before.replication(), len(before.topics), len(before.partitions)
        report = super()._shard(shard, chunks)
        twin = self.objects.setdefault(shard, before)
        twin.take([ShardChunk.unpack(each) for each in chunks])

        state, _ = unpack_shard(self.states[shard])
        ids, twin_ids = state.numbers.ids(), twin.numbers.ids()
        logged = {
            (topic_id, partition): _with_ids(each, ids)
            for topic_id, topic in state.logged().items()
            for partition, each in topic.partitions.items()
        }
        assert logged == {key: _with_ids(each, twin_ids) for key, each in twin.partitions.items()}
        assert {of: each.name for of, each in state.topics.items()} == twin.topics
        told = self.transitions[seen:]
        assert sorted(told, key=repr) == sorted(twin.transitions, key=repr)
        assert told == sorted(told, key=lambda each: cast(int, each[0]))
        assert [(each.offset, each.kind) for each in report.notes] == twin.notes
        assert report.topics == len(twin.topics) - counted[1]
        assert report.partitions == len(twin.partitions) - counted[2]
        change = report.replication
        for was, now, told_of in zip(
            counted[0][:3],
            twin.replication()[:3],
            (change.under_replicated, change.leaderless, change.reassigning),
            strict=True,
        ):
            assert told_of == now - was
        was_out, now_out = counted[0][3], twin.replication()[3]
        assert {broker: count for broker, count in change.missing.items() if count} == {
            broker: now_out.get(broker, 0) - was_out.get(broker, 0)
            for broker in was_out.keys() | now_out.keys()
            if now_out.get(broker, 0) != was_out.get(broker, 0)
        }
        return report


@pytest.mark.slow
@examples(100, suppress=[HealthCheck.too_slow])
@given(actions, st.lists(st.integers(1, 5), min_size=1), st.integers(1, 2000))
@example(_CREATED_AGAIN, [4], 2000)
@example(_NEVER_CREATED, [3], 2000)
@example(_BEFORE_ITS_TOPIC, [3], 2000)
def test_columns_equal_objects(drawn: list[Action], sizes: list[int], max_bytes: int) -> None:
    with TemporaryDirectory() as folder:
        Path(folder, f"{0:020d}.log").write_bytes(write_segment(values(drawn), sizes))
        run = _Twins().follow(Path(folder), max_bytes)
        run.restart(Path(folder))
    _assert_adjoining(run)


@pytest.mark.slow
@examples(80, suppress=[HealthCheck.too_slow])
@given(actions, _NO_TRANSACTION, actions)
@example([*_REPLICAS, _IN_0_AND_1], [*_REPLICAS, _IN_0], [_IN_0_AND_1])
@example([*_REPLICAS, _IN_0_AND_1], [*_REPLICAS[:3], _IN_0], [_IN_0_AND_1])
@example([*_REPLICAS, _IN_0], [_IN_0_AND_1], [_IN_0])
def test_columns_equal_objects_where_a_snapshot_fills_a_gap(
    before: list[Action], held: list[Action], after: list[Action]
) -> None:
    with TemporaryDirectory() as folder:
        _write_gap(Path(folder), before, held, after)
        _assert_adjoining(_Twins().follow(Path(folder), 2000))


@pytest.mark.parametrize(
    ("before", "held", "after", "expected"),
    [
        (_IN_0_AND_1, _IN_0, _IDLE, {"assigned": 1, "offline": 1}),
        (_IN_0_AND_1, _IN_0, _IN_0_AND_1, {"assigned": 2}),
        (_IN_0, _IN_0_AND_1, _IDLE, {"assigned": 2}),
    ],
)
def test_a_snapshot_shows_replicas_that_went_offline_or_came_back(
    tmp_path: Path, before: Action, held: Action, after: Action, expected: dict[str, int]
) -> None:
    """KIP-858, "Broker registration": the directories that it does not name are offline."""
    _write_gap(tmp_path, [*_REPLICAS, before], [*_REPLICAS, held], [after])
    run = _Twins().follow(tmp_path, 2000)
    _assert_adjoining(run)
    (broker,) = run.summary.brokers
    assert {str(state): count for state, count in broker.replicas.items() if count} == expected
    counted = Counter[object]()
    for *_, was, now in cast("list[tuple[Place, ...]]", run.transitions):
        counted.subtract(was[1:] if was else ())
        counted.update(now[1:] if now else ())
    assert {str(state): count for state, count in counted.items() if count} == expected


def _write_gap(folder: Path, before: list[Action], held: list[Action], after: list[Action]) -> None:
    """Write a log whose records up to 500 are missing, but for the first ones, and a snapshot."""
    (folder / f"{0:020d}.log").write_bytes(write_segment(values(before), [3]))
    snapshot = write_checkpoint(1, 9_000, [values(held)] if held else [])
    (folder / f"{500:020d}-{1:010d}.checkpoint").write_bytes(snapshot)
    (folder / f"{500:020d}.log").write_bytes(write_batch(500, 1, 9_000, values(after, 500)))


def _assert_adjoining(run: Run) -> None:
    """Assert that each replica's transition begins at the place where the one before it ended."""
    places: dict[tuple[object, ...], object] = {}
    for _, _, *replica, was, now in run.transitions:
        assert places.get(tuple(replica)) == was
        places[tuple(replica)] = now
