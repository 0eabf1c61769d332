"""A leader that was not in the ISR (PartitionChangeBuilder): in the log, or in a snapshot."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from kio.schema.types import BrokerId
from kio.static.primitive import i8, i32

from migration.assessment.currency import Currency
from migration.assessment.hazards import HazardKind
from migration.assessment.hazards.all import hazards
from streams.wire.schema import MetadataRecord, PartitionChangeRecordV1, PartitionRecordV1
from tests.support.logs import Action, directory, topic_id, values, write_segment
from tests.support.pipeline import Run
from tests.support.wire_writing import write_checkpoint, write_value

TOPIC: Action = (0, 0, 0, 0)
PARTITION = PartitionRecordV1(
    partition_id=i32(3),
    topic_id=topic_id(0),
    replicas=(BrokerId(2), BrokerId(1)),
    isr=(i32(2), i32(1)),
    removing_replicas=(),
    adding_replicas=(),
    leader=BrokerId(2),
    directories=(directory(2, 0), directory(1, 0)),
)


def changed(**changes: object) -> PartitionChangeRecordV1:
    of = {"partition_id": PARTITION.partition_id, "topic_id": PARTITION.topic_id}
    return PartitionChangeRecordV1(**of | changes)  # type: ignore[arg-type]


ALONE = changed(isr=(2,))
FAILED = changed(leader=-1)
UNCLEAN = changed(leader=1, isr=(1,), leader_recovery_state=1)
UNCLEAN_AGAIN = changed(leader=2, isr=(2,), leader_recovery_state=1)
ELECTED = [PARTITION, ALONE, FAILED, UNCLEAN]
RECOVERING = replace(PARTITION, leader=BrokerId(1), isr=(i32(1),), leader_recovery_state=i8(1))


def with_topic(records: Sequence[MetadataRecord]) -> list[bytes]:
    return values([TOPIC]) + [write_value(each) for each in records]


def followed(tmp_path: Path, records: Sequence[MetadataRecord], max_bytes: int = 1) -> Run:
    (tmp_path / f"{0:020d}.log").write_bytes(write_segment(with_topic(records), [1]))
    return Run().follow(tmp_path, max_bytes)


def elections(run: Run) -> list[tuple[object, ...]]:
    return [
        (each.offset, *(each.fields[name] for name in ("topic", "partition", "leader", "isr")))
        for each in run.events
        if each.kind == "unclean_election"
    ]


@pytest.mark.parametrize("max_bytes", [1, 100_000])
def test_an_unclean_election_is_an_event_and_a_hazard(tmp_path: Path, max_bytes: int) -> None:
    run = followed(tmp_path, ELECTED, max_bytes)
    assert elections(run) == [(5, "topic-0", 3, 1, "2")]
    (found,) = hazards(run.summary, 0, Currency())
    assert (found.kind, found.broker, found.blocks) == (HazardKind.RECORDS_LOST, 1, None)
    assert found.evidence == ("topic-0-3: leader 1 was not in the ISR (2)",)
    assert found.since_ms == 1_050


def test_a_later_recovery_does_not_end_it_and_a_second_election_is_another_one(
    tmp_path: Path,
) -> None:
    recovered = changed(isr=(1, 2), leader_recovery_state=0)
    records = [*ELECTED, recovered, changed(leader=-1, isr=(1,)), UNCLEAN_AGAIN]
    run = followed(tmp_path, records)
    assert [each[3] for each in elections(run)] == [1, 2]
    assert [each.broker for each in run.summary.unclean] == [1, 2]
    again = run.restart(tmp_path)
    assert [each.broker for each in again.summary.unclean] == [1, 2]


@pytest.mark.parametrize("state", [-1, 0])
def test_a_clean_election_is_none(tmp_path: Path, state: int) -> None:
    """Nor is the end of a reassignment, whose leader is in the ISR that it sets."""
    clean = changed(leader=1, isr=(1,), leader_recovery_state=state)
    moves = changed(
        replicas=(3, 1, 2),
        directories=tuple(directory(each, 0) for each in (3, 1, 2)),
        adding_replicas=(3,),
        removing_replicas=(1, 2),
    )
    run = followed(tmp_path, [PARTITION, clean, moves, settled((3,), (3,), 3)])
    assert (elections(run), run.summary.unclean) == ([], ())
    assert hazards(run.summary, 0, Currency()) == ()


NO_ONE: dict[str, object] = {"adding_replicas": (), "removing_replicas": ()}


def moving(replicas: tuple[int, ...], isr: tuple[int, ...], **changes: object) -> MetadataRecord:
    """Return the partition while a reassignment adds and removes replicas."""
    directories = tuple(directory(each, 0) for each in replicas)
    of = {"replicas": replicas, "isr": isr, "leader": isr[0], "directories": directories}
    return replace(PARTITION, **of | changes)  # type: ignore[arg-type]


def settled(
    replicas: tuple[int, ...], isr: tuple[int, ...], leader: int
) -> PartitionChangeRecordV1:
    directories = tuple(directory(each, 0) for each in replicas)
    return changed(replicas=replicas, isr=isr, leader=leader, directories=directories, **NO_ONE)


REMOVES = moving((3, 1, 2), (3,), adding_replicas=(3,), removing_replicas=(1, 2))
ADDS = moving((1, 3), (3,), adding_replicas=(3,))
DOWN = moving((1, 2), (1,), leader=BrokerId(-1), leader_recovery_state=i8(1))
STARTED = changed(
    replicas=(3, 1, 2),
    directories=tuple(directory(each, 0) for each in (3, 1, 2)),
    adding_replicas=(3,),
    isr=(2,),
    leader=2,
)
MOVES_ONE = moving((3, 1), (3,), adding_replicas=(3,), removing_replicas=(1,))


@pytest.mark.parametrize("max_bytes", [1, 100_000])
@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (REMOVES, settled((1, 2), (1,), 1), (1, "3")),
        (REMOVES, settled((1, 2), (1,), -1), (1, "3")),
        (ADDS, settled((1,), (1,), 1), (1, "3")),
        (MOVES_ONE, settled((1,), (1,), 1), (1, "3")),
        (DOWN, STARTED, (2, "1")),
        (MOVES_ONE, settled((3,), (3,), 3), None),
        (moving((3, 1), (1,), adding_replicas=(3,), removing_replicas=(1,)),
         settled((3,), (3,), 3), None),
        (moving((3, 1), (1,), removing_replicas=(1,)), settled((3,), (3,), 3), None),
        (moving((3, 1, 2), (1, 3), adding_replicas=(3,)), settled((1, 2), (1,), 1), None),
    ],
)  # fmt: skip
def test_a_cancelled_reassignment_whose_replicas_were_not_in_the_isr_is_one(
    tmp_path: Path,
    max_bytes: int,
    before: MetadataRecord,
    after: PartitionChangeRecordV1,
    expected: tuple[int, str] | None,
) -> None:
    """PartitionReassignmentRevert: the first replica gets into the ISR, perhaps without leading.

    So does the start of a reassignment, if it elects in a partition that is still recovering. The
    end of a reassignment, which drops the removed replicas, is none.
    """
    found = elections(followed(tmp_path, [before, after], max_bytes))
    assert [each[3:] for each in found] == ([] if expected is None else [expected])
    loosely = followed(tmp_path, [before, replace(after, directories=None)], max_bytes)
    assert elections(loosely) == found, "records that are applied one by one"


def test_a_second_one_while_the_partition_is_recovering_has_no_state(tmp_path: Path) -> None:
    """PartitionChangeBuilder sets the state only of a partition that is not recovering."""
    failed, second = changed(leader=-1), changed(leader=2, isr=(2,))
    run = followed(tmp_path, [*ELECTED, failed, second])
    assert [each[3:] for each in elections(run)] == [(1, "2"), (2, "1")]
    copied = followed(tmp_path, [RECOVERING, failed, second])
    assert [each[3:] for each in elections(copied)] == [(2, "1")]


def test_a_copy_from_zookeeper_of_an_earlier_election_is_none(tmp_path: Path) -> None:
    run = followed(tmp_path, [RECOVERING])
    assert (elections(run), run.summary.unclean) == ([], ())


def test_one_in_an_aborted_transaction_is_none(tmp_path: Path) -> None:
    begin, abort = (values([(14, 0, 0, 1), (14, 0, 0, 0)])[at] for at in (0, 1))
    made = with_topic([PARTITION, ALONE, FAILED])
    made = [*made, begin, write_value(UNCLEAN), abort]
    (tmp_path / f"{0:020d}.log").write_bytes(write_segment(made, [1]))
    assert elections(Run().follow(tmp_path, 1)) == []


@pytest.mark.parametrize(
    ("before", "held", "expected"),
    [
        ([], RECOVERING, [(499, "topic-0", 3, 1, "unknown")]),
        ([PARTITION, ALONE], RECOVERING, [(499, "topic-0", 3, 1, "2")]),
        ([RECOVERING], RECOVERING, []),
        ([PARTITION], PARTITION, []),
    ],
)
def test_a_snapshot_shows_one_that_the_log_did_not(
    tmp_path: Path,
    before: list[MetadataRecord],
    held: MetadataRecord,
    expected: list[tuple[object, ...]],
) -> None:
    if before:
        (tmp_path / f"{0:020d}.log").write_bytes(write_segment(with_topic(before), [1]))
    snapshot = write_checkpoint(1, 9_000, [with_topic([held])])
    (tmp_path / f"{500:020d}-{1:010d}.checkpoint").write_bytes(snapshot)
    run = Run().follow(tmp_path, 2_000)
    assert elections(run) == expected
    assert [each.at_ms for each in run.summary.unclean] == [None] * len(expected)
    events = [each for each in run.events if each.kind == "unclean_election"]
    assert [each.timestamp_ms for each in events] == [None] * len(expected)
    lost = [each for each in hazards(run.summary, 0, Currency()) if each.broker == 1]
    assert [each.since_ms for each in lost] == [None] * len(expected)
    assert all(
        "at an unknown time before the metadata snapshot" in each.evidence[0] for each in lost
    )


def test_it_is_noted_with_changes_that_are_applied_one_by_one(tmp_path: Path) -> None:
    """A change of the replicas without directories, among the changes of the partition."""
    moved = changed(replicas=(1, 2, 3))
    assert elections(followed(tmp_path, [*ELECTED, moved], 100_000)) == [(5, "topic-0", 3, 1, "2")]
