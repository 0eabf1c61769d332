"""The index of a log that grows, is pruned and is read at the same time."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from kio.static.primitive import i8

from streams.kafka.messages import OffsetAndEpoch
from streams.metadata.index import LogIndex
from streams.metadata.log_files import list_log
from streams.metadata.offsets import NONE, START
from streams.metadata.plan import LogGap, Planner
from streams.metadata.spool import Position, Spool
from streams.wire.schema import (
    BeginTransactionRecordV0,
    EndTransactionRecordV0,
    MetadataRecord,
    NoOpRecordV0,
    ZkMigrationStateRecordV0,
)
from tests.support.wire_writing import write_batch, write_checkpoint, write_value

NEWS = ZkMigrationStateRecordV0(zk_migration_state=i8(1))


def made(start: int, records: Sequence[MetadataRecord]) -> bytes:
    """A batch for each record."""
    return b"".join(
        write_batch(start + at, 1, 1000, [write_value(each)]) for at, each in enumerate(records)
    )


def append(spool: Spool, *records: MetadataRecord) -> None:
    start = spool.position.next_offset
    spool.append(made(start, records), Position(start + len(records), 1))


def test_what_is_half_written_behind_the_end_is_no_damage(tmp_path: Path) -> None:
    """The follower writes at the same time, or has failed to: the disk was full."""
    with Spool(tmp_path) as spool:
        append(spool, NEWS)
        index = LogIndex(tmp_path, START)
        segment = tmp_path / f"{0:020d}.log"
        half = made(1, [NEWS])
        for size in range(1, len(half)):
            whole = segment.stat().st_size
            with segment.open("ab") as file:
                file.write(half[:size])
            index.refresh(spool.position.next_offset)
            assert index.damage is None
            with segment.open("ab") as file:
                file.truncate(whole)
        append(spool, NEWS)
        index.refresh(spool.position.next_offset)
    assert index.damage is None
    assert [each.next.offset for each in index.entries] == [1, 2]


def test_what_is_half_written_after_a_snapshot_is_no_damage(tmp_path: Path) -> None:
    """The job is still before the snapshot, so its index ends before the gap."""
    with Spool(tmp_path) as spool:
        append(spool, NEWS)
        spool.begin_snapshot(OffsetAndEpoch(9, 1))
        spool.append_snapshot(write_checkpoint(1, 1000, [[write_value(NEWS)]]))
        spool.complete_snapshot()
        index = LogIndex(tmp_path, START)
        segment = tmp_path / f"{9:020d}.log"
        with segment.open("ab") as file:
            file.write(made(9, [NEWS])[:60])
        index.refresh(spool.position.next_offset)
        assert index.damage is None
        with segment.open("ab") as file:
            file.truncate(0)
        append(spool, NEWS)
        index.refresh(spool.position.next_offset)
    assert index.damage is None
    assert [each.next.offset for each in index.entries] == [1, 10]


def test_a_segment_may_begin_within_a_transaction_that_the_checkpoint_includes(
    tmp_path: Path,
) -> None:
    """Kafka deletes whole segments."""
    segment = made(400, [NEWS, EndTransactionRecordV0(), NEWS, NEWS, NEWS])
    (tmp_path / f"{400:020d}.log").write_bytes(segment)
    checkpoint = write_checkpoint(1, 1000, [[write_value(NEWS)]])
    (tmp_path / f"{403:020d}-{1:010d}.checkpoint").write_bytes(checkpoint)
    index = LogIndex(tmp_path, START)
    index.refresh()
    assert index.damage is None
    planner, at = Planner(index, finite=True), START
    for end in (403, 405):
        at = planner.latest(at, 1000)
        assert at.offset == end


@pytest.mark.parametrize(
    "value", [b"\x01\x03\x09\x00", b"\x01\x00\x09\x00"], ids=["partition", "broker"]
)
def test_a_value_that_the_job_could_not_decode_is_damage(tmp_path: Path, value: bytes) -> None:
    """A batch that Spark has begun ends the job for all clusters at each start."""
    (tmp_path / f"{0:020d}.log").write_bytes(made(0, [NEWS]) + write_batch(1, 1, 1000, [value]))
    index = LogIndex(tmp_path, START, decodes=True)
    index.refresh()
    first = len(made(0, [NEWS]))
    assert str(index.damage).startswith(f"{tmp_path / f'{0:020d}.log'}, byte {first}, offset 1: ")
    assert "version 9" in str(index.damage)
    assert [each.next.offset for each in index.entries] == [1]


def test_no_op_records_that_were_deleted_unread_leave_no_gap(tmp_path: Path) -> None:
    """Between two batches the spool replaces a segment of which the rest was not read yet."""
    no_op = NoOpRecordV0()
    with Spool(tmp_path, segment_bytes=2 * len(made(0, [no_op]))) as spool:
        append(spool, NEWS, NEWS)
        append(spool, no_op)
        index = LogIndex(tmp_path, START)
        index.refresh(spool.position.next_offset)
        at = index.entries[-1].next
        index.forget(at.offset)
        append(spool, no_op)
        append(spool, NEWS)
        spool.retain(at.offset)
        index.refresh(spool.position.next_offset)
        assert Planner(index, finite=False).latest(at, 1000).offset == spool.position.next_offset


def test_a_checkpoint_ends_the_transaction_before_it(tmp_path: Path) -> None:
    """Its end was in the records that the quorum has deleted."""
    begin = BeginTransactionRecordV0(name=None)
    with Spool(tmp_path) as spool:
        append(spool, NEWS, begin)
        index = LogIndex(tmp_path, START)
        index.refresh(spool.position.next_offset)
        assert index.entries[-1].next.transaction == 1
        spool.begin_snapshot(OffsetAndEpoch(9, 1))
        spool.append_snapshot(write_checkpoint(1, 1000, [[write_value(NEWS)]]))
        spool.complete_snapshot()
        append(spool, NEWS, begin)
        index.refresh(spool.position.next_offset)
    assert index.damage is None
    assert [each.next.transaction for each in index.entries[2:]] == [NONE, 10]


def test_a_few_no_op_records_before_a_checkpoint_do_not_wait_for_more(tmp_path: Path) -> None:
    with Spool(tmp_path) as spool:
        append(spool, NoOpRecordV0())
        spool.begin_snapshot(OffsetAndEpoch(9, 1))
        spool.append_snapshot(write_checkpoint(1, 1000, [[write_value(NEWS)]]))
        spool.complete_snapshot()
        append(spool, NEWS)
        index = LogIndex(tmp_path, START)
        index.refresh(spool.position.next_offset)
    planner, at = Planner(index, finite=False), START
    for end in (1, 9, 10):
        at = planner.latest(at, 1000)
        assert at.offset == end


def test_a_segment_that_is_deleted_between_listing_and_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_op = NoOpRecordV0()
    with Spool(tmp_path, segment_bytes=2 * len(made(0, [no_op]))) as spool:
        append(spool, no_op)
        append(spool, no_op)
        listed = [list_log(tmp_path)]
        append(spool, NEWS)
        monkeypatch.setattr(
            "streams.metadata.index.list_log", lambda path: (listed or [list_log(path)]).pop()
        )
        index = LogIndex(tmp_path, START)
        index.refresh(spool.position.next_offset)
        assert [each.next.offset for each in index.entries] == [2, 3]


@pytest.mark.parametrize(
    ("finite", "fix"),
    [(True, "replay a complete copy"), (False, "stop `kraftgate run`, then move checkpoint/")],
)
def test_a_gap_that_no_checkpoint_fills_has_a_fix(
    tmp_path: Path, *, finite: bool, fix: str
) -> None:
    (tmp_path / f"{0:020d}.log").write_bytes(made(0, [NEWS]))
    (tmp_path / f"{7:020d}.log").write_bytes(made(7, [NEWS]))
    index = LogIndex(tmp_path, START)
    index.refresh()
    planner = Planner(index, finite=finite)
    at = planner.latest(START, 1000)
    with pytest.raises(LogGap, match="continues at metadata offset 7") as gap:
        planner.latest(at, 1000)
    assert fix in str(gap.value)
    with pytest.raises(LogGap, match="no longer has the records from 1 to 9") as gone:
        planner.slices(at, at._replace(offset=9))
    assert fix in str(gone.value)
