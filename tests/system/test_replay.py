"""Replay of files through Spark: to the end, to the damage, from a checkpoint."""

import gzip
from collections.abc import Sequence
from pathlib import Path

import pytest

from migration.image.summary import Phase
from streams.metadata.log_files import NotAMetadataLog
from streams.spark.query import JobFailed, ReplayOutcome, replay
from streams.wire.schema import (
    FeatureLevelRecordV0,
    NoOpRecordV0,
    TopicRecordV0,
    ZkMigrationStateRecordV0,
)
from tests.support.logs import Action, topic_id, values, write_segment
from tests.support.wire_writing import (
    write_batch,
    write_checkpoint,
    write_leader_change,
    write_value,
)

pytestmark = [pytest.mark.spark, pytest.mark.long(minutes=0.75)]

_DRAWN: Sequence[Action] = [
    (0, 0, 0, 0),
    (9, 1, 0, 3),
    (2, 0, 0, 0),
    (2, 0, 1, 1),
    (9, 0, 1, 5),
    (11, 0, 0, 0),
    (5, 0, 0, 0),
    (5, 0, 1, 1),
]


def _segment(folder: Path, content: bytes, base: int = 0) -> Path:
    path = folder / f"{base:020d}.log"
    path.write_bytes(content)
    return path


def _at(outcome: ReplayOutcome) -> int | None:
    assert outcome.summary is not None
    return outcome.summary.metadata_offset


@pytest.fixture
def whole() -> bytes:
    return write_segment(values(_DRAWN), [2])


def test_a_log_is_read_to_its_end(tmp_path: Path, whole: bytes) -> None:
    outcome = replay(_segment(tmp_path, whole))
    assert outcome.damage is None
    assert _at(outcome) == len(_DRAWN)


def test_a_bad_crc_ends_it_at_the_last_good_batch(tmp_path: Path, whole: bytes) -> None:
    last = write_segment(values(_DRAWN)[:-2], [2])
    damaged = bytearray(whole)
    damaged[-1] ^= 1
    path = _segment(tmp_path, bytes(damaged))
    outcome = replay(path)
    assert outcome.damage is not None
    assert f"{path}, byte {len(last)}" in outcome.damage
    assert "CRC" in outcome.damage
    assert _at(outcome) == len(_DRAWN) - 2


def test_a_cut_batch_ends_it_likewise(tmp_path: Path, whole: bytes) -> None:
    outcome = replay(_segment(tmp_path, whole[:-7]))
    assert outcome.damage is not None
    assert _at(outcome) == len(_DRAWN) - 2


def test_an_unknown_frame_version_ends_it_although_its_crc_is_right(
    tmp_path: Path, whole: bytes
) -> None:
    strange = write_batch(len(_DRAWN) + 1, 1, 9_000, [b"\x02\x05\x01\x00"])
    path = _segment(tmp_path, whole + strange)
    outcome = replay(path)
    assert outcome.damage is not None
    assert f"{path}, byte {len(whole)}" in outcome.damage
    assert "version 2" in outcome.damage
    assert _at(outcome) == len(_DRAWN)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (
            write_value(ZkMigrationStateRecordV0(zk_migration_state=5)),  # type: ignore[arg-type]
            "ZkMigrationState 5",
        ),
        (b"\x01\x00\x09\x00", "record type 0 has version 9"),
    ],
)
def test_what_the_driver_cannot_read_ends_it_likewise(
    tmp_path: Path, whole: bytes, value: bytes, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = _segment(tmp_path, whole + write_batch(len(_DRAWN) + 1, 1, 9_000, [value]))
    outcome = replay(path)
    assert outcome.damage is not None
    assert f"{path}, byte {len(whole)}" in outcome.damage
    assert why in outcome.damage
    assert _at(outcome) == len(_DRAWN)
    assert [each for each in caplog.records if each.name.startswith("py4j")] == []


def test_an_unknown_record_type_is_counted_and_skipped(tmp_path: Path, whole: bytes) -> None:
    strange = write_batch(len(_DRAWN) + 1, 1, 9_000, [b"\x01\x63\x00\x00", b"\x01\x63\x00\x00"])
    outcome = replay(_segment(tmp_path, whole + strange))
    assert outcome.damage is None
    assert outcome.summary is not None
    assert outcome.summary.unknown_records == 2
    assert [event.kind for event in outcome.events].count("unknown_record") == 1


def test_a_checkpoint_alone_is_the_state_it_holds(tmp_path: Path) -> None:
    held = [
        write_value(FeatureLevelRecordV0(name="metadata.version", feature_level=21)),  # type: ignore[arg-type]
        write_value(ZkMigrationStateRecordV0(zk_migration_state=3)),  # type: ignore[arg-type]
        write_value(TopicRecordV0(name="orders", topic_id=topic_id(1))),  # type: ignore[arg-type]
    ]
    path = tmp_path / f"{500:020d}-{7:010d}.checkpoint"
    path.write_bytes(write_checkpoint(7, 5_000, [held]))
    outcome = replay(path)
    assert outcome.summary is not None
    assert (_at(outcome), outcome.summary.phase) == (499, Phase.FINALIZED)
    assert (outcome.summary.topics, outcome.summary.metadata_version) == (1, 21)
    assert outcome.summary.observed_ms == 5_000


def test_a_directory_whose_log_was_trimmed_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    held = [write_value(ZkMigrationStateRecordV0(zk_migration_state=1))]  # type: ignore[arg-type]
    (tmp_path / f"{500:020d}-{7:010d}.checkpoint").write_bytes(write_checkpoint(7, 5_000, [held]))
    later = write_value(ZkMigrationStateRecordV0(zk_migration_state=3))  # type: ignore[arg-type]
    _segment(
        tmp_path,
        write_leader_change(500, 8, 6_000, 3001) + write_batch(501, 8, 6_000, [later]),
        base=500,
    )
    outcome = replay(tmp_path)
    assert outcome.summary is not None
    assert (_at(outcome), outcome.summary.phase) == (501, Phase.FINALIZED)
    assert outcome.summary.active_controller == 3001
    assert [event.kind for event in outcome.events] == [
        "snapshot_loaded",
        "controller_elected",
        "phase_changed",
    ]


def test_a_gap_ends_it_at_the_last_record_before(tmp_path: Path, whole: bytes) -> None:
    later = _segment(tmp_path, write_batch(800, 1, 9_000, [write_value(NoOpRecordV0())]), base=800)
    alone = replay(later)
    _segment(tmp_path, whole)
    outcome = replay(tmp_path)
    for each, end in ((alone, 0), (outcome, len(_DRAWN) + 1)):
        gap = f"the metadata log continues at metadata offset 800, but it was read up to {end}, and"
        assert each.damage is not None
        assert each.damage.startswith(gap)
        assert each.damage.endswith("every .log after it")
    assert alone.summary is None
    assert _at(outcome) == len(_DRAWN)


def test_no_ops_at_the_end_count_for_the_offset(tmp_path: Path, whole: bytes) -> None:
    no_op = write_value(NoOpRecordV0())
    batches = [write_batch(len(_DRAWN) + 1 + each, 1, 9_000, [no_op]) for each in range(3)]
    assert _at(replay(_segment(tmp_path, whole + b"".join(batches)))) == len(_DRAWN) + 3


def test_a_moved_state_directory_goes_on_and_a_damaged_one_is_named(
    tmp_path: Path, whole: bytes
) -> None:
    """Spark stores absolute paths in its checkpoint, and never syncs it."""
    log = tmp_path / "logs"
    log.mkdir()
    _segment(log, whole)
    before, moved = tmp_path / "before", tmp_path / "moved"
    assert _at(replay(log, before)) == len(_DRAWN)
    before.rename(moved)
    more = write_batch(len(_DRAWN) + 1, 1, 9_000, [write_value(NoOpRecordV0())])
    _segment(log, whole + more)
    left = moved / "state" / "transitions" / "cluster=replay" / ".001-2-006.1000.tmp"
    left.touch()  # by a process that was killed
    outcome = replay(log, moved)
    assert not left.exists()
    assert _at(outcome) == len(_DRAWN) + 1
    assert outcome.summary is not None
    assert outcome.summary.topics > 0
    checkpoint = moved / "state" / "checkpoint"
    newest = max(checkpoint.glob("commits/[0-9]*"), key=lambda each: int(each.name))
    newest.write_bytes(b"")
    with pytest.raises(JobFailed, match=f"commits/{newest.name} of Spark's checkpoint is damaged"):
        replay(log, moved)


def test_what_is_no_log_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "notes.txt.gz"
    other.write_bytes(gzip.compress(b"not a log"))
    with pytest.raises(NotAMetadataLog, match=r"notes\.txt\.gz"):
        replay(other)
