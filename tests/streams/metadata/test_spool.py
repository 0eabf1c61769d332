"""What the spool holds survives a torn write anywhere, rolls, and does not grow for ever."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from streams.kafka.errors import ReplyDamaged, WrongCluster
from streams.kafka.messages import OffsetAndEpoch
from streams.metadata import log_files
from streams.metadata.errors import SpoolDamaged, SpoolInUse
from streams.metadata.spool import Position, Spool
from streams.state.files import write_all
from streams.wire.batches import read_batches
from tests.streams.metadata.log_bytes import batch, log, no_op
from tests.support.wire_writing import write_checkpoint

SNAPSHOT = write_checkpoint(1, 1_000, [[b"records"]])


def names(directory: Path) -> list[str]:
    return sorted(p.name for p in directory.iterdir() if p.name != log_files.LOCK_NAME)


def fill(spool: Spool, *counts: int, epoch: int = 1) -> None:
    """Append batches of so many records, a reply each."""
    for count in counts:
        start = spool.position.next_offset
        spool.append(batch(start, count, epoch=epoch), Position(start + count, epoch))


def idle(spool: Spool, count: int) -> None:
    for _ in range(count):
        start = spool.position.next_offset
        spool.append(no_op(start), Position(start + 1, 1))


def take_snapshot(spool: Spool, end_offset: int, epoch: int) -> bytes:
    content = write_checkpoint(epoch, 1_000, [[b"records"] * 3, [b"records"] * 2])
    spool.begin_snapshot(OffsetAndEpoch(end_offset, epoch))
    assert spool.append_snapshot(content[:50]) == 50
    assert spool.append_snapshot(content[50:]) == len(content)
    assert spool.complete_snapshot() == Position(end_offset, epoch)
    return content


def test_a_new_spool_is_empty(tmp_path: Path) -> None:
    with Spool(tmp_path / "new" / "spool") as spool:
        assert spool.position == Position(0, None)
        assert spool.cluster_id is None


def test_the_log_is_kept_byte_for_byte(tmp_path: Path) -> None:
    with Spool(tmp_path) as spool:
        fill(spool, 2, 3, 1)
    assert (tmp_path / f"{0:020d}.log").read_bytes() == log(2, 3, 1)


def test_it_goes_on_where_it_was(tmp_path: Path) -> None:
    with Spool(tmp_path) as spool:
        fill(spool, 2, 3, epoch=4)
    with Spool(tmp_path) as spool:
        assert spool.position == Position(5, 4)
        fill(spool, 1)
    assert (tmp_path / f"{0:020d}.log").read_bytes() == log(2, 3, epoch=4) + batch(5)


def test_a_torn_end_is_cut_at_every_byte(tmp_path: Path) -> None:
    whole = log(2, 3)
    segment = tmp_path / f"{0:020d}.log"
    for size in range(len(whole) + 1):
        segment.write_bytes(whole[:size])
        with Spool(tmp_path) as spool:
            ends = 5 if size == len(whole) else 2 if size >= len(log(2)) else 0
            assert spool.position == Position(ends, 1 if ends else None)
            fill(spool, 1)
        kept = list(read_batches(segment.read_bytes(), file="segment"))
        assert kept[-1].last_offset == ends


@pytest.mark.parametrize("junk", [b"\0" * 4096, b"\xff" * 100, log(1, start=5)[:-1] + b"\0" * 9])
def test_what_a_power_cut_left_behind_the_last_batch_is_cut(tmp_path: Path, junk: bytes) -> None:
    (tmp_path / f"{0:020d}.log").write_bytes(log(2, 3) + junk)
    with Spool(tmp_path) as spool:
        assert spool.position == Position(5, 1)
    assert (tmp_path / f"{0:020d}.log").read_bytes() == log(2, 3)


def test_segments_roll_and_are_named_by_their_first_offset(tmp_path: Path) -> None:
    with Spool(tmp_path, segment_bytes=2 * len(batch(0))) as spool:
        fill(spool, 1, 1, 1, 1, 1)
        assert names(tmp_path) == [f"{n:020d}.log" for n in (0, 2, 4)]
    with Spool(tmp_path) as spool:
        assert spool.position == Position(5, 1)


def test_a_crash_between_roll_and_write_keeps_position_and_epoch(tmp_path: Path) -> None:
    with Spool(tmp_path) as spool:
        fill(spool, 2, 3, epoch=7)
    (tmp_path / f"{5:020d}.log").touch()
    with Spool(tmp_path) as spool:
        assert spool.position == Position(5, 7)


def test_an_append_must_go_on(tmp_path: Path) -> None:
    with Spool(tmp_path) as spool:
        fill(spool, 2)
        with pytest.raises(ValueError, match="does not lie beyond"):
            spool.append(batch(1), Position(2, 1))


@contextmanager
def full_disk(takes: int) -> Iterator[None]:
    """The disk takes that many bytes of a write, and the append fails."""

    def full(file: object, content: bytes) -> None:
        write_all(file, content[:takes])  # type: ignore[arg-type]
        raise OSError(28, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("streams.metadata.spool.write_all", full)
        with pytest.raises(OSError, match="No space left"):
            yield


def test_a_full_disk_leaves_the_position_and_the_next_append_mends_the_file(tmp_path: Path) -> None:
    with Spool(tmp_path) as spool:
        fill(spool, 2)
        with full_disk(10):
            fill(spool, 3)
        assert spool.position == Position(2, 1)
        fill(spool, 3)
    assert (tmp_path / f"{0:020d}.log").read_bytes() == log(2, 3)


@pytest.mark.parametrize("size", range(0, len(log(3, 1, 1)) + 1, 20))
def test_no_part_of_a_failed_append_stays(tmp_path: Path, size: int) -> None:
    """Not even its whole batches: the follower fetches all of them again, and perhaps more."""
    with Spool(tmp_path) as spool:
        fill(spool, 2)
        with full_disk(size):
            spool.append(log(3, 1, 1, start=2), Position(7, 1))
        spool.append(log(3, 1, 1, 1, start=2), Position(8, 1))
        assert spool.position == Position(8, 1)
    assert (tmp_path / f"{0:020d}.log").read_bytes() == log(2, 3, 1, 1, 1)


def test_no_part_of_a_failed_append_stays_before_a_snapshot(tmp_path: Path) -> None:
    with Spool(tmp_path) as spool:
        fill(spool, 2)
        with full_disk(10):
            fill(spool, 3)
        take_snapshot(spool, 20, 1)
        fill(spool, 1)
    assert (tmp_path / f"{0:020d}.log").read_bytes() == log(2)


def test_data_is_synced_before_the_position_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Spool(tmp_path) as spool:
        fill(spool, 1)
        seen: list[Position] = []
        sync = os.fdatasync

        def spy(handle: int) -> None:
            seen.append(spool.position)
            sync(handle)

        monkeypatch.setattr(os, "fdatasync", spy)
        fill(spool, 1)
        assert seen == [Position(1, 1)]
        assert spool.position == Position(2, 1)


# Snapshots


def test_a_snapshot_is_named_as_kafka_names_it_and_the_log_goes_on_behind(tmp_path: Path) -> None:
    with Spool(tmp_path) as spool:
        content = take_snapshot(spool, 520, 3)
        fill(spool, 2, epoch=3)
    assert names(tmp_path) == [f"{520:020d}-{3:010d}.checkpoint", f"{520:020d}.log"]
    assert (tmp_path / f"{520:020d}-{3:010d}.checkpoint").read_bytes() == content
    with Spool(tmp_path) as spool:
        assert spool.position == Position(522, 3)


def test_a_snapshot_without_log_behind_it_is_the_position(tmp_path: Path) -> None:
    with Spool(tmp_path) as spool:
        fill(spool, 4)
        take_snapshot(spool, 520, 3)
    with Spool(tmp_path) as spool:
        assert spool.position == Position(520, 3)


def test_a_crash_right_after_a_snapshot_does_not_mix_the_old_segment_with_the_new_log(
    tmp_path: Path,
) -> None:
    with Spool(tmp_path) as spool:
        fill(spool, 4)
        take_snapshot(spool, 520, 3)
    (tmp_path / f"{520:020d}.log").unlink()
    with Spool(tmp_path) as spool:
        assert spool.position == Position(520, 3)
        fill(spool, 2, epoch=3)
    assert (tmp_path / f"{0:020d}.log").read_bytes() == log(4)
    assert (tmp_path / f"{520:020d}.log").read_bytes() == batch(520, 2, epoch=3)


def test_a_crash_within_a_snapshot_leaves_nothing_of_it(tmp_path: Path) -> None:
    with Spool(tmp_path) as spool:
        fill(spool, 4)
        spool.begin_snapshot(OffsetAndEpoch(520, 3))
        spool.append_snapshot(b"half")
        assert f"{520:020d}-{3:010d}.checkpoint.part" in names(tmp_path)
        (tmp_path / f"{600:020d}-{3:010d}.checkpoint.part").write_bytes(b"of a crash before")
    with Spool(tmp_path) as spool:
        assert spool.position == Position(4, 1)
        assert names(tmp_path) == [f"{0:020d}.log"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"junk" * 50,
        SNAPSHOT[:-1],
        SNAPSHOT + batch(3)[:-1],
        log(3) + batch(9),
        pytest.param(log(3, 2), id="without a footer"),
    ],
)
def test_a_snapshot_that_is_not_whole_is_refused(tmp_path: Path, content: bytes) -> None:
    with Spool(tmp_path) as spool:
        spool.begin_snapshot(OffsetAndEpoch(520, 3))
        with pytest.raises(ReplyDamaged, match=r"the snapshot .*damaged at byte"):  # noqa: PT012
            spool.append_snapshot(content)
            spool.complete_snapshot()
        assert spool.position == Position(0, None)
        assert names(tmp_path) == []
        take_snapshot(spool, 520, 3)


# Growth


def test_retain_deletes_segments_wholly_below_and_keeps_the_newest(tmp_path: Path) -> None:
    with Spool(tmp_path, segment_bytes=1) as spool:
        fill(spool, 2, 2, 2)
        spool.retain(3)
        assert names(tmp_path) == [f"{n:020d}.log" for n in (2, 4)]
        spool.retain(4)
        assert names(tmp_path) == [f"{4:020d}.log"]
        spool.retain(1000)
        assert names(tmp_path) == [f"{4:020d}.log"]
    with Spool(tmp_path) as spool:
        assert spool.position == Position(6, 1)


def test_retain_keeps_a_checkpoint_as_long_as_the_log_behind_it(tmp_path: Path) -> None:
    checkpoint = f"{520:020d}-{1:010d}.checkpoint"
    with Spool(tmp_path, segment_bytes=1) as spool:
        fill(spool, 2)
        take_snapshot(spool, 520, 1)
        fill(spool, 2, 2)
        spool.retain(520)
        assert names(tmp_path) == [checkpoint, *(f"{n:020d}.log" for n in (520, 522))]
        spool.retain(521)
        assert checkpoint in names(tmp_path)
        spool.retain(522)
        assert names(tmp_path) == [f"{522:020d}.log"]


def test_an_idle_cluster_does_not_fill_the_disk(tmp_path: Path) -> None:
    with Spool(tmp_path, segment_bytes=720) as spool:
        fill(spool, 2)
        idle(spool, 500)
        size = sum(p.stat().st_size for p in tmp_path.iterdir())
        assert size <= 3 * 720
        assert len(names(tmp_path)) == 3
        (certificate,) = log_files.listing(tmp_path).idle
        first, *_, newest = log_files.listing(tmp_path).segments
        survivors = list(read_batches(first.path.read_bytes(), file="first"))
        assert certificate.from_offset == survivors[-1].last_offset + 1
        assert certificate.to_offset == newest.base_offset
    with Spool(tmp_path) as spool:
        assert spool.position == Position(502, 1)


def test_data_is_never_let_go_as_idle(tmp_path: Path) -> None:
    with Spool(tmp_path, segment_bytes=720) as spool:
        for _ in range(5):
            idle(spool, 30)
            fill(spool, 1)
        idle(spool, 30)
        kept = [
            batch
            for segment in log_files.listing(tmp_path).segments
            for batch in read_batches(segment.path.read_bytes(), file=segment.path.name)
        ]
        assert [b.base_offset for b in kept if b.size != 72] == [30, 61, 92, 123, 154]


def test_every_gap_in_the_log_has_its_certificate(tmp_path: Path) -> None:
    with Spool(tmp_path, segment_bytes=216) as spool:
        for _ in range(4):
            idle(spool, 20)
            fill(spool, 1)
        files = log_files.listing(tmp_path)
        covered = sorted([(i.from_offset, i.to_offset) for i in files.idle])
        for segment in files.segments:
            batches = list(read_batches(segment.path.read_bytes(), file="segment"))
            covered.append((segment.base_offset, batches[-1].last_offset + 1))
        at = 0
        for starts, ends in sorted(covered):
            assert starts == at
            at = ends
        assert at == spool.position.next_offset == 84


def test_what_was_not_let_go_before_a_crash_is_let_go_after_it(tmp_path: Path) -> None:
    (tmp_path / f"{0:020d}.log").write_bytes(no_op(0) + no_op(1))
    (tmp_path / f"{2:020d}.log").write_bytes(batch(2))
    with Spool(tmp_path) as spool:
        assert spool.position == Position(3, 1)
        assert names(tmp_path) == [f"{0:020d}-{2:020d}.idle", f"{2:020d}.log"]
        spool.retain(2)
        assert names(tmp_path) == [f"{2:020d}.log"]


# Belonging


def test_a_spool_belongs_to_one_cluster(tmp_path: Path) -> None:
    with Spool(tmp_path) as spool:
        spool.bind("cluster-a")
        spool.bind("cluster-a")
        with pytest.raises(WrongCluster, match="made from cluster cluster-a, not cluster-b"):
            spool.bind("cluster-b")
    with Spool(tmp_path) as spool:
        assert spool.cluster_id == "cluster-a"


def test_a_spool_has_one_writer(tmp_path: Path) -> None:
    with Spool(tmp_path), pytest.raises(SpoolInUse, match="written by another process"):
        Spool(tmp_path)
    with Spool(tmp_path):
        pass


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"version": 2, "cluster_id": "C", "logs": [{"offset": 1, "header": "00"}]}',
        '{"version": 2, "cluster_id": "C", "logs": [{"offset": 1e999, "header": ""}]}',
        '{"version": 2, "cluster_id": 7, "logs": [null]}',
        '{"version": 2, "cluster_id": "C", "logs": []}',
        '{"version": 2, "cluster_id": "C", "logs": 7}',
        "[]",
        "\ufeff{}",
    ],
)
def test_a_spool_json_that_is_no_such_thing_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "spool.json").write_text(text, "utf-8")
    with pytest.raises(SpoolDamaged, match=r"spool\.json cannot be read"):
        Spool(tmp_path)
