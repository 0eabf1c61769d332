"""Kafka's rules for the directories of a partition's replicas."""

import pytest

from migration.metadata.directory_ids import (
    LOST,
    MIGRATING,
    UNASSIGNED,
    DirectoryId,
    from_text,
    to_text,
)
from migration.metadata.partitions import (
    ADDING,
    REMOVING,
    InvalidReplicaDirectories,
    Numbers,
    Replicas,
    classify,
    merge,
    register,
)
from migration.metadata.records import Partition, PartitionChange
from migration.metadata.replica_state import ReplicaState
from migration.shard.fold import moves
from migration.shard.transitions import ABSENT


def numbered(number: int) -> DirectoryId:
    return DirectoryId(number.to_bytes(16, "big"))


A, B, C = (DirectoryId(bytes([each]) * 16) for each in (1, 2, 3))
TOPIC = bytes(16)
BEFORE = Replicas((1, 2), (0, 0), 1, (1, 2))


def _moved(before: Replicas, **changes: tuple[int, ...]) -> Replicas:
    return merge(before, PartitionChange(0, TOPIC, **changes), Numbers())  # type: ignore[arg-type]


def test_a_reassignment_is_open_until_nothing_is_to_be_added_or_removed() -> None:
    begun = _moved(BEFORE, adding_replicas=(3,), removing_replicas=(1,))
    assert begun.moving == ADDING | REMOVING
    added = _moved(begun, adding_replicas=())
    assert added.moving == REMOVING
    assert _moved(added, isr=(2, 3)).moving == REMOVING
    assert _moved(added, removing_replicas=()).moving == 0


def test_a_partition_may_begin_within_a_reassignment() -> None:
    copied = _partition((A, B))._replace(adding_replicas=(2,))
    assert register(copied, Numbers()).moving == ADDING


def _partition(directories: tuple[DirectoryId, ...] | None) -> Partition:
    return Partition(0, TOPIC, (1, 2), (1, 2), (), (), 1, directories)


@pytest.mark.parametrize("absent", [None, ()])
def test_no_directories_are_all_migrating(absent: tuple[DirectoryId, ...] | None) -> None:
    """KIP-858, "Migrating a cluster in ZK mode ...": existing replicas are MIGRATING_DIR."""
    assert register(_partition(absent), Numbers()) == Replicas((1, 2), (0, 0), 1, (1, 2))


def test_directories_of_another_number_than_replicas_are_refused() -> None:
    """KIP-858, "Metadata records": one directory for each replica."""
    with pytest.raises(InvalidReplicaDirectories, match="2 replicas and 1 directories"):
        register(_partition((A,)), Numbers())
    with pytest.raises(InvalidReplicaDirectories, match="2 replicas and 3 directories"):
        merge(BEFORE, PartitionChange(0, TOPIC, directories=(A, B, C)), Numbers())


def test_replicas_that_stay_keep_their_directory_and_new_ones_are_unassigned() -> None:
    """KIP-858, "Replica placement": a new replica begins as UNASSIGNED_DIR."""
    numbers = Numbers([A, B])
    before = Replicas((1, 2), (numbers[A], numbers[B]), 1, (1, 2))
    after = merge(before, PartitionChange(0, TOPIC, replicas=(2, 3)), numbers)
    assert after == Replicas((2, 3), (numbers[B], numbers[UNASSIGNED]), 1, (1, 2))
    assert set(moves(before, after)) == {
        (1, numbers[A], ABSENT),
        (3, ABSENT, numbers[UNASSIGNED]),
    }


def test_new_replicas_of_a_partition_without_directories_are_migrating() -> None:
    """KIP-858, "Migrating a cluster in ZK mode ...": no directory is known before KRaft mode.

    Kafka 3.9 does so for any number of replicas (PartitionRegistration.merge).
    """
    numbers = Numbers()
    before = register(_partition(None), numbers)
    for replicas in ((2, 3), (1, 2, 3), (3,)):
        after = merge(before, PartitionChange(0, TOPIC, replicas=replicas), numbers)
        assert after.directories == (numbers[MIGRATING],) * len(replicas)


def test_leader_and_isr_change_when_they_are_named() -> None:
    def merged(**changes: object) -> Replicas:
        return merge(BEFORE, PartitionChange(0, TOPIC, **changes), Numbers())  # type: ignore[arg-type]

    assert merged() == BEFORE
    assert merged(leader=2) == BEFORE._replace(leader=2)
    assert merged(leader=-1, isr=()) == BEFORE._replace(leader=-1, isr=())
    assert merged(isr=(2,)) == BEFORE._replace(isr=(2,))


@pytest.mark.parametrize(
    ("directory", "registered", "state"),
    [
        (MIGRATING, {A}, ReplicaState.MIGRATING),
        (UNASSIGNED, {A}, ReplicaState.UNASSIGNED),
        (LOST, {A}, ReplicaState.LOST),
        (numbered(3), {A}, ReplicaState.RESERVED),
        (numbered(99), set(), ReplicaState.RESERVED),
        (numbered(99), {numbered(99)}, ReplicaState.RESERVED),
        (numbered(100), {A}, ReplicaState.OFFLINE),
        (numbered(100), {numbered(100)}, ReplicaState.ASSIGNED),
        (A, {A, B}, ReplicaState.ASSIGNED),
        (C, {A, B}, ReplicaState.OFFLINE),
        (C, {A}, ReplicaState.OFFLINE),
        (C, set(), ReplicaState.ASSIGNED),
    ],
)
def test_states(directory: DirectoryId, registered: set[DirectoryId], state: ReplicaState) -> None:
    """KIP-858, "Reserved UUIDs": the ids below 100 are no directories."""
    assert classify(directory, frozenset(registered)) is state


def test_ids_print_as_kafka_prints_them() -> None:
    """KIP-858, "Storage format command": base64 encoded, like the cluster UUID."""
    text = "uSLaubyUxZGsRKrz8FtoCw"
    assert to_text(from_text(text)) == text
    assert to_text(MIGRATING) == "AAAAAAAAAAAAAAAAAAAAAA"
    assert to_text(UNASSIGNED) == "AAAAAAAAAAAAAAAAAAAAAQ"
