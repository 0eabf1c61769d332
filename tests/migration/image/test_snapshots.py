"""A snapshot in place of the records that Kraftgate missed: the harm that it shows is kept."""

from dataclasses import replace

import pytest

from migration.image.advance import Batch, advance
from migration.image.cluster import Broker, ClusterImage, Early, Gone, Provenance, summarize
from migration.image.phases import MIGRATION, PRE_MIGRATION, MigrationState
from migration.image.summary import Mode, Phase, UnfencedEarly
from migration.metadata.directory_ids import UNASSIGNED, DirectoryId
from migration.metadata.events import Moment
from migration.metadata.records import (
    FenceBroker,
    RegisterBroker,
    RegisterController,
    Stamped,
    UnfenceBroker,
    ZkMigrationState,
)
from migration.metadata.transactions import Admission
from migration.observed.znode_codec import ZkController
from migration.observed.zookeeper import ZooKeeperImage
from migration.shard.report import Movement, ShardReport

A, B = (DirectoryId(bytes([each]) * 16) for each in (0xA, 0xB))
AT = Moment(offset=10, timestamp_ms=1_000)
END = Provenance(offset=100, epoch=1, timestamp_ms=9_000)
KNOWN = Broker(
    id=1, epoch=10, incarnation=bytes([1]) * 16, mode=Mode.KRAFT, fenced=False,
    in_controlled_shutdown=False, held=True, log_dirs=(A, B), registered=AT,
)  # fmt: skip


def loaded(
    before: Broker,
    log_dirs: tuple[DirectoryId, ...],
    *,
    epoch: int,
    left: int,
    fenced: bool = False,
) -> Broker:
    """Return the broker after a snapshot; 5 of its replicas were pending, and `left` are now."""
    registration = RegisterBroker(
        1, False, bytes([epoch]) * 16, epoch, None, fenced, False, log_dirs
    )
    report = ShardReport(
        directories={(1, UNASSIGNED): left - 5, (1, A): 5 - left},
        movements={(101, 1): Movement(net=left - 5)},
    )
    image = ClusterImage(
        provenance=Provenance(offset=20, epoch=1, timestamp_ms=2_000),
        brokers={1: before},
        directories={1: {UNASSIGNED: 5}},
        pending_shards={1: frozenset({0})},
    )
    batch = Batch(
        log=1, start=21, end=END, reports={0: report}, snapshot=True,
        records=[(Stamped(END.offset, END.timestamp_ms, registration), Admission.NOW)],
    )  # fmt: skip
    return advance(image, batch)[0].brokers[1]


@pytest.mark.parametrize(("left", "fenced"), [(0, False), (0, True), (3, True)])
def test_when_an_early_unfencing_ended_is_not_in_a_snapshot(left: int, *, fenced: bool) -> None:
    before = replace(KNOWN, early=Early(at=AT, pending=5))
    after = loaded(before, (A, B), epoch=10, left=left, fenced=fenced)
    assert after.early is not None
    assert (after.early.until is None, after.early.total_ms) == (False, None)
    (summary,) = summarize("prod", ClusterImage(brokers={1: after})).brokers
    assert summary.unfenced_early == UnfencedEarly(pending=5, duration_ms=None)


@pytest.mark.parametrize(("left", "pending"), [(5, 5), (2, 2), (0, 5)])
def test_a_broker_that_came_back_without_a_directory_is_found(left: int, pending: int) -> None:
    """H1, H2: the replicas may have been recreated, also if all have a directory by now."""
    after = loaded(KNOWN, (A,), epoch=50, left=left)
    end = Moment(offset=END.offset, timestamp_ms=END.timestamp_ms)
    assert after.gone == Gone(directories=(B,), pending=pending, at=end)
    (summary,) = summarize("prod", ClusterImage(brokers={1: after})).brokers
    assert summary.gone is not None


def test_a_broker_that_came_back_with_all_directories_lost_nothing() -> None:
    assert loaded(KNOWN, (B, A), epoch=50, left=0).gone is None


def test_a_directory_that_was_gone_before_the_snapshot_is_still_gone() -> None:
    earlier = Gone(directories=(B,), pending=7, at=AT)
    before = replace(KNOWN, log_dirs=(A,), gone=earlier)
    assert loaded(before, (A,), epoch=10, left=3).gone == earlier
    again = loaded(before, (A,), epoch=50, left=3).gone
    assert again is not None
    assert (again.directories, again.pending) == ((B,), 3)


@pytest.mark.parametrize(("unfenced", "offset"), [(None, None), (AT, AT.offset)])
def test_an_unfencing_that_was_missed_is_not_reported_as_the_next_one(
    unfenced: Moment | None, offset: int | None
) -> None:
    """The snapshot shows that the broker was unfenced, and not when."""
    before = replace(KNOWN, fenced=unfenced is None, unfenced=unfenced)
    image = ClusterImage(
        provenance=END, brokers={1: loaded(before, (A, B), epoch=before.epoch, left=0)}
    )
    (summary,) = summarize("prod", image).brokers
    assert (summary.fenced, summary.unfenced_offset) == (False, offset)
    fence = Stamped(101, END.timestamp_ms, FenceBroker(1, before.epoch))
    again = Stamped(102, END.timestamp_ms, UnfenceBroker(1, before.epoch))
    batch = Batch(
        log=1, start=101, end=replace(END, offset=102), reports={},
        records=[(fence, Admission.NOW), (again, Admission.NOW)],
    )  # fmt: skip
    (summary,) = summarize("prod", advance(image, batch)[0]).brokers
    assert (summary.fenced, summary.unfenced_offset) == (False, offset)


def test_a_registration_in_a_snapshot_says_what_one_in_the_log_says() -> None:
    """A leader that has a snapshot sends it to a new reader; this is the usual start."""
    record = RegisterBroker(
        1, False, bytes([7]) * 16, 50, "r1", False, False, (A,), host="b1", supports=21
    )
    image = ClusterImage(provenance=Provenance(offset=20, epoch=1, timestamp_ms=2_000))
    for snapshot in (False, True):
        batch = Batch(
            log=1, start=21, end=END, reports={}, snapshot=snapshot,
            records=[(Stamped(END.offset, END.timestamp_ms, record), Admission.NOW)],
        )  # fmt: skip
        (summary,) = summarize("prod", advance(image, batch)[0]).brokers
        assert (summary.host, summary.rack, summary.supports) == ("b1", "r1", 21)


@pytest.mark.parametrize("snapshot", [False, True])
def test_a_directory_that_was_drained_before_it_was_removed_did_not_fail(snapshot: bool) -> None:
    before = replace(KNOWN, held=False)
    image = ClusterImage(
        provenance=Provenance(offset=20, epoch=1, timestamp_ms=2_000),
        brokers={1: before},
        directories={1: {A: 5}},
    )
    record = RegisterBroker(1, False, bytes([7]) * 16, 50, None, False, False, (A,))
    batch = Batch(
        log=1, start=21, end=END, reports={}, snapshot=snapshot,
        records=[(Stamped(END.offset if snapshot else 50, 9_000, record), Admission.NOW)],
    )  # fmt: skip
    (summary,) = summarize("prod", advance(image, batch)[0]).brokers
    assert summary.unregistered == {}


def test_no_snapshot_says_which_controller_is_active() -> None:
    """The one before it may have been replaced by an election that was missed."""
    before = ClusterImage(provenance=replace(END, offset=20), active_controller=3000)
    batch = Batch(log=1, start=21, end=END, reports={}, records=[], snapshot=True)
    assert advance(before, batch)[0].active_controller is None


@pytest.mark.parametrize(("left", "failed"), [(3, True), (0, False)])
def test_a_directory_that_failed_while_replicas_were_pending_is_found(
    left: int, failed: bool
) -> None:
    """The same registration, with a directory less: the controller moved no leaders."""
    after = loaded(KNOWN, (A,), epoch=10, left=left)
    end = Moment(offset=END.offset, timestamp_ms=END.timestamp_ms)
    assert after.failed == (Gone(directories=(B,), pending=3, at=end) if failed else None)


FILE_MS = 90_000
"""When a controller wrote the snapshot's file, an hour after its last record."""


def with_the_copy(before: ClusterImage) -> ClusterImage:
    """Return the image after a snapshot that has the copy; its last record has the time 9,000."""
    copied = Stamped(END.offset, FILE_MS, ZkMigrationState(MIGRATION))
    start = 0 if before.provenance is None else before.provenance.offset + 1
    batch = Batch(
        log=1, start=start, end=END, reports={}, snapshot=True,
        records=[(copied, Admission.NOW)],
    )  # fmt: skip
    return advance(before, batch)[0]


def held_by_broker(claimed_ms: int) -> ZooKeeperImage:
    holder = ZkController(id=1, kraft_epoch=-1, claimed_ms=claimed_ms)
    return ZooKeeperImage(seen_ms=FILE_MS + 500, controller=holder, held_by=holder)


IN_PRE_MIGRATION = ClusterImage(
    migration_state=MigrationState().now(PRE_MIGRATION, 1_000),
    provenance=Provenance(offset=20, epoch=1, timestamp_ms=2_000),
)


@pytest.mark.parametrize(
    ("before", "claimed_ms", "phase"),
    [
        (ClusterImage(), 4_000, Phase.ROLLED_BACK),
        (ClusterImage(), 9_500, Phase.ROLLED_BACK),
        (IN_PRE_MIGRATION, 4_000, Phase.ROLLED_BACK),
        (IN_PRE_MIGRATION, 1_500, Phase.DUAL_WRITE),
    ],
)
def test_the_time_of_a_snapshots_file_is_not_that_of_the_copy(
    before: ClusterImage, claimed_ms: int, phase: Phase
) -> None:
    """The copy was made at an unknown time after the last record that was read before."""
    image = replace(before, zookeeper=held_by_broker(claimed_ms))
    assert with_the_copy(image).phase is phase


def test_a_controller_that_registers_before_the_file_is_written_ends_the_migration() -> None:
    image = with_the_copy(ClusterImage())
    registration = RegisterController(3001, bytes([9]) * 16, zk_migration_ready=False)
    batch = Batch(
        log=1, start=101, end=replace(END, offset=101), reports={},
        records=[(Stamped(101, FILE_MS - 500, registration), Admission.NOW)],
    )  # fmt: skip
    assert summarize("prod", advance(image, batch)[0]).ends_migration == (3001,)


@pytest.mark.parametrize("fenced", [False, True])
def test_the_event_of_a_snapshot_has_the_fenced_brokers(fenced: bool) -> None:
    record = RegisterBroker(1, False, bytes([7]) * 16, 50, None, fenced, False, (A,))
    batch = Batch(
        log=1, start=0, end=END, reports={}, snapshot=True,
        records=[(Stamped(END.offset, END.timestamp_ms, record), Admission.NOW)],
    )  # fmt: skip
    (event,) = advance(ClusterImage(), batch)[1]
    assert event.fields["fenced"] == ([1] if fenced else [])
