"""Directories that a broker lacks while replicas have no known one: since its start, or later."""

from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

from kio.schema.types import BrokerId
from kio.static.primitive import i16, i64

from migration.assessment.currency import Currency
from migration.assessment.hazards import HazardKind
from migration.assessment.hazards.all import hazards
from migration.image.summary import BrokerSummary
from migration.metadata.directory_ids import DirectoryId, to_text
from streams.wire.schema import FeatureLevelRecordV0, RegisterBrokerRecordV3
from tests.support.logs import Action, directory, values, write_segment
from tests.support.pipeline import Run
from tests.support.wire_writing import write_value

TOPIC: Action = (0, 0, 0, 0)
PARTITION_0: Action = (2, 0, 0, 0)
PARTITION_1: Action = (2, 0, 1, 0)
"""Without directories, on broker 1."""
MIGRATING: Action = (9, 0, 0, 5)
KRAFT: Action = (9, 0, 1, 5)
"""Broker 1 registers with its directories 0, 1 and 2."""
KRAFT_WITHOUT_2: Action = (9, 0, 1, 4)
MIGRATING_WITHOUT_2: Action = (9, 0, 0, 4)
KRAFT_WITH_0_ONLY: Action = (9, 0, 1, 3)
FAILED_0_AND_2: Action = (11, 0, 7, 1)
"""Directory 1 is what it has left."""
UNFENCED: Action = (11, 0, 0, 0)
ASSIGN_0: Action = (5, 0, 0, 0)
ASSIGN_0_TO_1: Action = (5, 0, 0, 6)
"""Partition 0 moves to directory 1."""
ASSIGN_1: Action = (5, 0, 1, 0)
UNASSIGN_0: Action = (5, 0, 0, 24)

WITHOUT_LOG_DIRS = RegisterBrokerRecordV3(
    broker_id=BrokerId(1),
    is_migrating_zk_broker=False,
    incarnation_id=UUID(int=1),
    broker_epoch=i64(2),
    end_points=(),
    features=(),
    rack=None,
    fenced=True,
    in_controlled_shutdown=False,
    log_dirs=(),
)
JBOD = FeatureLevelRecordV0(name="metadata.version", feature_level=i16(17))

PENDING = [TOPIC, PARTITION_0, PARTITION_1]


def ids(*numbers: int) -> tuple[str, ...]:
    return tuple(to_text(DirectoryId(directory(1, each).bytes)) for each in numbers)


def broker(tmp_path: Path, drawn: Sequence[Action]) -> BrokerSummary:
    (tmp_path / f"{0:020d}.log").write_bytes(write_segment(values(drawn), [1]))
    (found,) = Run().follow(tmp_path, 1).summary.brokers
    return found


def test_what_fails_under_pending_replicas_counts_until_the_last_has_its_place(
    tmp_path: Path,
) -> None:
    """KIP-858, "Handling log directory failures": a pending replica has no directory id."""
    failed = broker(tmp_path, [*PENDING, KRAFT, FAILED_0_AND_2])
    assert failed.failed is not None
    assert (failed.failed.directories, failed.failed.pending) == (ids(0, 2), 2)
    assert failed.gone is None
    one_left = broker(tmp_path, [*PENDING, KRAFT, FAILED_0_AND_2, ASSIGN_0])
    assert one_left.failed == failed.failed
    assert broker(tmp_path, [*PENDING, KRAFT, FAILED_0_AND_2, ASSIGN_0, ASSIGN_1]).failed is None


def test_so_it_is_with_replicas_that_came_after_the_hold(tmp_path: Path) -> None:
    drawn = [TOPIC, PARTITION_0, KRAFT, ASSIGN_0, PARTITION_1, FAILED_0_AND_2]
    found = broker(tmp_path, drawn)
    assert not found.held
    assert found.failed is not None
    assert broker(tmp_path, [*drawn, ASSIGN_1]).failed is None


def test_what_fails_when_every_replica_has_its_place_is_no_danger(tmp_path: Path) -> None:
    """KIP-858, "Handling log directory failures": the controller moves the leaders."""
    found = broker(tmp_path, [TOPIC, PARTITION_0, KRAFT, ASSIGN_0, FAILED_0_AND_2])
    assert (found.failed, found.gone) == (None, None)


def test_what_it_came_back_without_is_told_beside_what_fails_then(tmp_path: Path) -> None:
    drawn = [*PENDING, MIGRATING, KRAFT_WITHOUT_2]
    back = broker(tmp_path, drawn)
    assert back.gone is not None
    assert (back.gone.directories, back.gone.pending, back.failed) == (ids(2), 2, None)
    both = broker(tmp_path, [*drawn, FAILED_0_AND_2])
    assert both.failed is not None
    assert (both.gone, both.failed.directories) == (back.gone, ids(0))
    again = broker(tmp_path, [*drawn, FAILED_0_AND_2, KRAFT_WITHOUT_2])
    assert again.gone is not None
    assert (again.gone.directories, again.failed) == (ids(2), None)
    registered = broker(tmp_path, [*drawn, FAILED_0_AND_2, KRAFT])
    assert (registered.gone, registered.failed) == (back.gone, None)
    whole = broker(tmp_path, [*drawn, FAILED_0_AND_2, KRAFT, UNFENCED])
    assert (whole.gone, whole.failed) == (None, None)


def test_the_pending_replicas_that_were_migrating_at_its_start_are_counted(tmp_path: Path) -> None:
    """A later start says nothing about an earlier one, nor one in migration mode (H1)."""
    h3 = [*PENDING, MIGRATING, ASSIGN_0, KRAFT_WITHOUT_2]
    for drawn, pending, migrating in (
        (h3, 1, 1),
        ([*h3, ASSIGN_1], 1, 1),
        ([*h3, ASSIGN_1, KRAFT_WITHOUT_2], 1, 1),
        ([*h3, KRAFT_WITHOUT_2], 1, 0),
        ([*PENDING, KRAFT, MIGRATING_WITHOUT_2], 2, 0),
        ([*PENDING, MIGRATING, UNASSIGN_0, KRAFT_WITHOUT_2], 2, 1),
    ):
        gone = broker(tmp_path, drawn).gone
        assert gone is not None
        assert (gone.pending, gone.migrating) == (pending, migrating), drawn


def unregistered(found: BrokerSummary) -> tuple[str, ...]:
    return tuple(sorted(found.unregistered))


def test_what_fails_is_unregistered_until_it_registers_again(tmp_path: Path) -> None:
    """KIP-858, "RPC requests", "Handling log directory failures": OfflineLogDirs of a heartbeat.

    A directory without replicas counts, too: it failed while the broker ran.
    """
    drawn = [TOPIC, PARTITION_0, KRAFT, ASSIGN_0]
    failed = broker(tmp_path, [*drawn, FAILED_0_AND_2])
    assert unregistered(failed) == tuple(sorted(ids(0, 2)))
    assert all(failed.unregistered.values())
    assert unregistered(broker(tmp_path, [*drawn, FAILED_0_AND_2, KRAFT])) == ()


def test_a_start_without_it_counts_only_while_replicas_are_in_it(tmp_path: Path) -> None:
    """A directory that was drained and removed from log.dirs did not fail.

    KIP-858, "Broker registration".
    """
    drawn = [TOPIC, PARTITION_0, KRAFT, ASSIGN_0]
    assert unregistered(broker(tmp_path, [*drawn, KRAFT_WITHOUT_2])) == ()
    drawn += [ASSIGN_0_TO_1, KRAFT_WITH_0_ONLY]
    assert unregistered(broker(tmp_path, drawn)) == ids(1)
    assert unregistered(broker(tmp_path, [*drawn, ASSIGN_0])) == ()


def test_one_that_it_came_back_without_counts_while_replicas_had_no_known_one(
    tmp_path: Path,
) -> None:
    """H1 to H3: they may have been in it. KIP-858, "Replica management"."""
    back = broker(tmp_path, [*PENDING, MIGRATING, KRAFT_WITHOUT_2])
    assert unregistered(back) == ids(2)
    settled = broker(tmp_path, [*PENDING, MIGRATING, KRAFT_WITHOUT_2, ASSIGN_0, ASSIGN_1])
    assert settled.gone is not None
    assert unregistered(settled) == ids(2)


def test_what_fails_before_the_copy_counts_although_the_log_has_no_replica_yet(
    tmp_path: Path,
) -> None:
    """H1: the next start in migration mode recreates the replicas that were in it."""
    lost = [MIGRATING, MIGRATING_WITHOUT_2]
    for drawn in (lost, [*lost, *PENDING], [*lost, MIGRATING_WITHOUT_2, *PENDING]):
        found = broker(tmp_path, drawn)
        assert (unregistered(found), found.gone) == (ids(2), None), drawn
    for again, migrating in ((MIGRATING_WITHOUT_2, 0), (KRAFT_WITHOUT_2, 2)):
        gone = broker(tmp_path, [*lost, *PENDING, again]).gone
        assert gone is not None
        assert (gone.directories, gone.pending, gone.migrating) == (ids(2), 2, migrating)
    for back in ([MIGRATING], [*PENDING, KRAFT, UNFENCED]):
        found = broker(tmp_path, [*lost, *back])
        assert (unregistered(found), found.gone) == ((), None), back


def test_what_was_lost_before_the_copy_had_no_replica_if_the_log_has_none(tmp_path: Path) -> None:
    drawn = [MIGRATING, MIGRATING_WITHOUT_2, KRAFT_WITHOUT_2]
    assert unregistered(broker(tmp_path, drawn)) == ()


def test_a_registration_without_log_directories_is_a_hazard(tmp_path: Path) -> None:
    """KIP-858, "Broker registration": from 3.7-IV2 it names the directories (KAFKA-16162).

    No 3.9 broker writes such a record, so the test writes one and reads it as any other.
    """
    made = [write_value(each) for each in (JBOD, WITHOUT_LOG_DIRS)]
    (tmp_path / f"{0:020d}.log").write_bytes(write_segment(made, [1]))
    summary = Run().follow(tmp_path, 1).summary
    (found,) = hazards(summary, 0, Currency())
    assert (found.kind, found.broker) == (HazardKind.LOG_DIRS_NOT_REGISTERED, 1)
