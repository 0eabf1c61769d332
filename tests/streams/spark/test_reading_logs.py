"""The source reads a cluster's metadata logs one after the other, whatever is asked again."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from migration.shard.placement import CLUSTER, SHARDS
from streams.metadata.batches import mark_at
from streams.metadata.offsets import START, StreamOffset
from streams.metadata.spool import Position, Spool
from streams.metadata.spool_info import began_ms
from streams.process.feed import Feed, Offset
from streams.spark.metadata_source import KraftMetadata
from streams.spark.rows import ChunkKind, ClusterChunk, ShardChunk
from streams.state.source_status import read_status
from streams.wire.batches import read_batches
from tests.support.logs import Action, values, write_segment
from tests.support.wire_writing import write_batch

FIRST: list[Action] = [(0, 0, 0, 0), (4, 0, 0, 3), (9, 0, 1, 5)]
SECOND: list[Action] = [(9, 1, 1, 5), (0, 1, 0, 0)]
IDLE: Action = (17, 0, 0, 0)


class SpoolFeed(Feed):
    """Stands in for the live feed: the spool is real, and filled by the test."""

    def __init__(self, spool: Spool) -> None:
        self.spool = spool

    def end(self) -> Offset:
        log, offset = self.spool.position.reach
        return {"log": log, "offset": offset}

    def retain(self, done: Mapping[str, int]) -> None:
        self.spool.retain(done["offset"], done["log"])


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    with Spool(tmp_path / "spool") as made:
        yield made


def reader(spool: Spool) -> KraftMetadata:
    options = {"cluster": "lab", "path": str(spool.directory), "state": "any", "controllers": "c1"}
    return KraftMetadata(options, lambda: SpoolFeed(spool))


def append(spool: Spool, drawn: list[Action], log: int = 1) -> None:
    segment = write_segment(values(drawn), [1])
    last = list(read_batches(segment, file="made"))[-1]
    spool.append(segment, Position(last.last_offset + 1, last.leader_epoch, log))


def restart(spool: Spool, drawn: list[Action]) -> None:
    head = mark_at(write_segment(values(drawn), [1]), 1)
    assert head is not None
    spool.restart(head)


def latest(of: KraftMetadata, at: StreamOffset) -> StreamOffset:
    return StreamOffset.from_json(of.latest(at.to_json()))


def test_one_after_the_other_and_the_step_is_a_batch_of_its_own(spool: Spool) -> None:
    append(spool, [*FIRST, IDLE, IDLE])
    restart(spool, SECOND)
    append(spool, SECOND, log=2)
    source = reader(spool)
    # After a kill, Spark first asks for the batch that was not committed.
    source.plan(START.to_json(), START._replace(epoch=1, offset=4).to_json())
    resumed = latest(source, START)
    # What an earlier process fetched is read at once: whether it is no-ops is no longer known.
    assert (resumed.log, resumed.offset) == (1, 6)
    first = latest(source, START)
    # Later no-op records at the end are left, and nothing follows from them; another source's batch
    # takes them along.
    assert (first.log, first.offset) == (1, 4)
    along = StreamOffset.from_json(source.latest(START.to_json(), along=True))
    assert (along.log, along.offset) == (1, 6)
    step = latest(source, first)
    assert step == StreamOffset(2, 0, 0, -1)
    end = latest(source, step)
    assert (end.log, end.offset) == (2, 3)
    assert latest(source, end) == end
    # Spark asks again after a crash, of another process.
    for again in (source, reader(spool)):
        parts = again.plan(first.to_json(), step.to_json())
        assert len(parts) == 1
        found = list(again.read(parts[0]))
        assert [ShardChunk.unpack(row[3]).kind for row in found if row[1] != CLUSTER] == [
            ChunkKind.RESTART
        ] * SHARDS
        (about,) = (ClusterChunk.unpack(row[3]) for row in found if row[1] == CLUSTER)
        assert (about.log, about.end_offset, len(about.records)) == (2, -1, 0)
        assert about.timestamp_ms == began_ms(spool.directory, 2) > 0
        assert [part.path for part in again.plan(step.to_json(), end.to_json())] == [
            spool.directory / "log-2" / f"{0:020d}.log"
        ]
    again.commit(end.to_json())
    assert (spool.directory / f"{0:020d}.log").is_file()


def test_a_log_that_cannot_be_read_to_its_end_is_not_left(spool: Spool) -> None:
    append(spool, FIRST)
    segment = spool.directory / f"{0:020d}.log"
    content = bytearray(segment.read_bytes())
    content[-1] ^= 1
    segment.write_bytes(content)
    restart(spool, SECOND)
    source = reader(spool)
    first = latest(source, START)
    assert first.log == 1
    assert latest(source, first) == first
    assert json.dumps(first.to_json())


def replayed(path: Path, state: Path) -> tuple[int, str | None]:
    """Return the offset at which a replay of the files ends, and why it is not their end."""
    options = {"cluster": "lab", "path": str(path), "state": str(state)}
    source = KraftMetadata(options, lambda: KraftMetadata.open_feed(options, _silent))
    at = StreamOffset.from_json(source.initial())
    while (end := latest(source, at)) != at:
        source.plan(at.to_json(), end.to_json())
        at = end
    return at.offset, read_status(KraftMetadata.status_file(state)).error


def test_a_later_segment_alone_is_no_log(tmp_path: Path) -> None:
    """Its records change things that earlier ones created: the state would be invented."""
    segment = tmp_path / f"{800:020d}.log"
    segment.write_bytes(write_batch(800, 1, 1_000, values([IDLE])))
    assert replayed(segment, tmp_path) == replayed(tmp_path, tmp_path)
    offset, damage = replayed(segment, tmp_path)
    assert offset == 0
    assert damage is not None
    assert damage.startswith(
        "the metadata log continues at metadata offset 800, but it was read up"
    )


def test_a_replay_ends_at_the_first_gap_or_damage(tmp_path: Path) -> None:
    (tmp_path / f"{0:020d}.log").write_bytes(write_segment(values(FIRST), [1]))
    (tmp_path / f"{800:020d}.log").write_bytes(b"damaged")
    assert "the last batch is cut" in str(replayed(tmp_path, tmp_path)[1])
    later = write_batch(800, 1, 1_000, values([IDLE]))
    (tmp_path / f"{800:020d}.log").write_bytes(later + b"damaged")
    offset, damage = replayed(tmp_path, tmp_path)
    assert offset == len(FIRST) + 1
    assert "continues at metadata offset 800, but it was read up to 4" in str(damage)


@pytest.mark.parametrize("named", [2, 9_999])
def test_a_segment_that_begins_before_the_offset_of_its_name_is_damaged(
    tmp_path: Path, named: int
) -> None:
    segment = tmp_path / f"{named:020d}.log"
    segment.write_bytes(write_segment(values(FIRST), [1]))
    offset, damage = replayed(segment, tmp_path)
    assert offset == 0
    assert str(damage).startswith(
        f"{segment}, byte 0: offset 0 is below {named}, at which the file begins by its name"
    )


def absent(spool: Path, state: Path) -> KraftMetadata:
    options = {"cluster": "lab", "path": str(spool), "state": str(state), "controllers": ""}
    return KraftMetadata(options, lambda: KraftMetadata.open_feed(options, _silent))


def _silent() -> None:
    """Nobody waits for news."""


def test_without_controllers_there_is_nothing_to_read(tmp_path: Path) -> None:
    source = absent(tmp_path / "spool", tmp_path)
    assert latest(source, START) == START
    source.commit(START.to_json())
    source.stop()
    assert not list(tmp_path.iterdir()), "an absent source writes nothing"


def test_a_batch_that_was_begun_is_read_after_the_controllers_left_the_configuration(
    spool: Spool,
) -> None:
    append(spool, FIRST)
    restart(spool, SECOND)
    append(spool, SECOND, log=2)
    before = reader(spool)
    first = latest(before, START)
    step = latest(before, first)
    end = latest(before, step)
    after = absent(spool.directory, spool.directory)
    for one, next_ in ((START, first), (first, step), (step, end)):
        asked = one.to_json(), next_.to_json()
        planned = after.plan(*asked)
        assert planned == before.plan(*asked) != []
    after.commit(end.to_json())
    assert latest(after, end) == end
