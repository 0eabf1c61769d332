"""After controllers are provisioned again, only their new log counts; both histories are kept."""

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from migration.image.advance import Batch, BatchOutOfOrder, advance
from migration.image.cluster import ClusterImage, Provenance
from migration.image.summary import WITHOUT_ZOOKEEPER, ClusterSummary, MetadataLost, Phase
from migration.observed.jmx import JmxImage
from migration.observed.log_dirs import DisksImage
from migration.observed.zookeeper import ZooKeeperImage
from streams.spark.shard_batch import unpack_shard
from streams.state.store import unpack_image
from tests.support.examples import examples
from tests.support.logs import Action, actions, values, write_segment
from tests.support.pipeline import Run

_WHOLE = 2**40
_BEGAN_MS = 77_000
_quick = examples(100, suppress=[HealthCheck.too_slow])
_HELD_OPEN: list[Action] = [(0, 0, 0, 0), (4, 0, 0, 3), (9, 0, 1, 5), (14, 0, 0, 1), (0, 1, 0, 0)]
"""The first log ends within its copy, while a broker is held."""
_KRAFT: list[Action] = [(0, 0, 0, 0), (4, 0, 0, 3), (13, 0, 3, 0)]
"""A cluster that never had a ZooKeeper, with a topic."""
_OFFLINE_AT_ITS_END: list[Action] = [(0, 0, 0, 0), (3, 0, 0, 1), (9, 1, 0, 0)]


def _follow(run: Run, drawn: Sequence[Action], max_bytes: int) -> Run:
    with TemporaryDirectory() as folder:
        Path(folder, f"{0:020d}.log").write_bytes(write_segment(values(drawn), [2]))
        return run.follow(Path(folder), max_bytes)


def _both(first: Sequence[Action], second: Sequence[Action], max_bytes: int) -> Run:
    run = _follow(Run(), first, max_bytes).restart(Path("any"), _BEGAN_MS)
    return _follow(run, second, max_bytes)


@pytest.mark.slow
@_quick
@given(actions, actions, st.integers(1, 2000))
@example(_HELD_OPEN, _HELD_OPEN, 1)
@example(_KRAFT, _HELD_OPEN, 1)
@example(_OFFLINE_AT_ITS_END, [(0, 0, 0, 0)], 1)
@example(_OFFLINE_AT_ITS_END, [(0, 0, 0, 0)], _WHOLE)
def test_state_and_replicas_are_the_second_logs_and_the_story_is_both(
    first: list[Action], second: list[Action], max_bytes: int
) -> None:
    before, alone = _follow(Run(), first, _WHOLE), _follow(Run(), second, _WHOLE)
    run = _both(first, second, max_bytes)
    the_state_is_the_second_logs_and_the_story_is_both(before, alone, run)
    every_replica_of_the_first_log_goes_and_those_of_the_second_come(before, alone, run)


def the_state_is_the_second_logs_and_the_story_is_both(before: Run, alone: Run, run: Run) -> None:
    lost = _lost(before.summary)
    unclean = (*before.summary.unclean, *alone.summary.unclean)
    assert run.summary == replace(
        alone.summary, metadata_log=2, metadata_lost=lost, unclean=unclean
    )
    assert unpack_image(run.image) == replace(
        unpack_image(alone.image), log=2, metadata_lost=lost, unclean=unclean
    )
    count = len(before.events)
    assert run.events[:count] == before.events
    told = run.events[count]
    assert (told.kind, told.offset, told.timestamp_ms) == (
        "metadata_log_restarted",
        None,
        _BEGAN_MS,
    )
    assert told.fields == {
        "log": 2,
        "was_offset": before.summary.metadata_offset,
        "was_phase": str(before.summary.phase),
        "topics": before.summary.topics,
        "partitions": before.summary.partitions,
    }
    was = before.summary.phase
    changed = [] if was is Phase.ZOOKEEPER else ["phase_changed"]
    rest = run.events[count + 1 :]
    assert [each.kind for each in rest[: len(changed)]] == changed
    assert rest[len(changed) :] == alone.events


def _lost(before: ClusterSummary) -> MetadataLost | None:
    if before.phase not in WITHOUT_ZOOKEEPER or not before.topics:
        return None
    return MetadataLost(
        phase=before.phase, topics=before.topics, partitions=before.partitions, at_ms=_BEGAN_MS
    )


def every_replica_of_the_first_log_goes_and_those_of_the_second_come(
    before: Run, alone: Run, run: Run
) -> None:
    there: dict[object, object] = {}
    for _, _, topic, partition, broker, _, now in before.transitions:
        there[topic, partition, broker] = now
    expected = sorted(before.transitions + alone.transitions, key=repr)
    gone = [each for each in run.transitions if each[:2] == (-1, _BEGAN_MS)]
    assert {(topic, partition, broker): was for _, _, topic, partition, broker, was, _ in gone} == {
        at: now for at, now in there.items() if now is not None
    }
    assert all(now is None for *_, now in gone)
    rest = sorted((each for each in run.transitions if each not in gone), key=repr)
    assert rest == expected


@_quick
@given(actions, actions)
def test_shards_hold_what_they_would_hold_without_the_first_log(
    first: list[Action], second: list[Action]
) -> None:
    alone = _follow(Run(), second, _WHOLE)
    run = _both(first, second, _WHOLE)
    for number, packed in alone.states.items():
        wanted, held_there = unpack_shard(packed)
        found, held_here = unpack_shard(run.states[number])
        assert found.configs == wanted.configs
        assert found.names == wanted.names
        assert found.pending == wanted.pending
        assert found.topics.keys() == wanted.topics.keys()
        assert [each.records for each in held_here] == [each.records for each in held_there]


def test_each_part_of_the_image_is_of_the_log_or_stays() -> None:
    """A new part of the image must be added to one of the two sets."""
    stays = {"zookeeper", "vanished", "wiped", "metadata_lost", "unclean", "disks", "jmx"}
    assert {each.name for each in fields(ClusterImage)} - stays == {
        "log",
        "provenance",
        "migration_state",
        "held_back",
        "active_controller",
        "metadata_version",
        "left",
        "departed",
        "topics",
        "partitions",
        "brokers",
        "directories",
        "pending_shards",
        "replication",
        "controllers",
        "unknown_records",
        "contradiction",
        "content",
        "places",
        "assigned_ms",
    }
    image = ClusterImage(
        topics=3, zookeeper=ZooKeeperImage(missed=1), disks=DisksImage(), jmx=JmxImage()
    )
    after, _ = advance(image, _empty(2))
    assert after == replace(image, topics=0, log=2)


def _empty(log: int, **changes: object) -> Batch:
    end = Provenance(offset=-1, epoch=0, timestamp_ms=0)
    batch = Batch(log=log, start=9, end=end, records=(), reports={}, snapshot=True)
    return replace(batch, **changes)  # type: ignore[arg-type]


def test_every_batch_starts_after_the_end_of_the_image() -> None:
    """A snapshot too, and the step to another log: the shards' state is of the checkpoint."""
    end = Provenance(offset=8, epoch=1, timestamp_ms=5)
    image = ClusterImage(provenance=end)
    follows = Batch(log=1, start=9, end=replace(end, offset=20), records=(), reports={})
    for each in (follows, replace(follows, snapshot=True)):
        after, _ = advance(image, each)
        assert after.provenance == each.end
    after, _ = advance(image, _empty(2))
    assert after.log == 2
    for each in (follows, replace(follows, snapshot=True), _empty(2)):
        for start in (0, 8, 10):
            text = f"starts at metadata offset {start}, the image ends at 8"
            with pytest.raises(BatchOutOfOrder, match=text):
                advance(image, replace(each, start=start))


def test_a_log_follows_the_one_before_and_no_other() -> None:
    image, _ = advance(ClusterImage(), _empty(2))
    assert image == ClusterImage(log=2)
    for wrong in (1, 4):
        with pytest.raises(BatchOutOfOrder, match=f"metadata log number {wrong}, the image of 2"):
            advance(image, _empty(wrong))
