"""Where the replicas of one partition are: Kafka's PartitionRegistration, as far as directories go."""

from collections.abc import Iterator
from typing import NamedTuple

from migration.directory_ids import LOST, MIGRATING, UNASSIGNED, DirectoryId
from migration.records import Partition, PartitionChange
from migration.summary import ReplicaState


class InvalidReplicaDirectories(Exception):
    """A record names another number of directories than of replicas (Kafka refuses it likewise)."""


class Replicas(NamedTuple):
    """The brokers of a partition, in order, and the directory each keeps it in."""

    brokers: tuple[int, ...]
    directories: tuple[DirectoryId, ...]


class Move(NamedTuple):
    """One replica's directory before and after a record; None: the replica was not, or is no more."""

    broker: int
    was: DirectoryId | None
    now: DirectoryId | None


def register(record: Partition) -> Replicas:
    """Take a PartitionRecord; no directories means all MIGRATING (PartitionRegistration.defaultToMigrating).

    Raises:
        InvalidReplicaDirectories: the counts differ.
    """
    brokers = record.replicas
    directories = record.directories
    if not directories:
        return Replicas(brokers, (MIGRATING,) * len(brokers))
    if len(directories) != len(brokers):
        raise InvalidReplicaDirectories(
            f"partition {record.partition_id} has {len(brokers)} replicas "
            f"and {len(directories)} directories"
        )
    return Replicas(brokers, directories)


def merge(before: Replicas, record: PartitionChange) -> Replicas:
    """Take a PartitionChangeRecord (PartitionRegistration.merge, DirectoryId.createDirectoriesFrom).

    New replicas without directories: those that stay keep theirs, the others are UNASSIGNED.
    The same object comes back when neither replicas nor directories changed.

    Raises:
        InvalidReplicaDirectories: the counts differ.
    """
    brokers = before.brokers if record.replicas is None else record.replicas
    if record.directories:
        directories = record.directories
    elif record.replicas is not None:
        known = dict(zip(before.brokers, before.directories, strict=True))
        directories = tuple([known.get(broker, UNASSIGNED) for broker in brokers])
    else:
        return before
    if len(directories) != len(brokers):
        raise InvalidReplicaDirectories(
            f"partition {record.partition_id} has {len(brokers)} replicas "
            f"and {len(directories)} directories"
        )
    return Replicas(brokers, directories)


def moves(before: Replicas | None, after: Replicas | None) -> Iterator[Move]:
    """The replicas whose directory differs between two states of a partition, in replica order."""
    was = dict(zip(*before, strict=True)) if before is not None else {}
    if after is not None:
        for broker, directory in zip(*after, strict=True):
            old = was.pop(broker, None)
            if old != directory:
                yield Move(broker, old, directory)
    for broker, directory in was.items():
        yield Move(broker, directory, None)


def classify(directory: DirectoryId, registered: frozenset[DirectoryId]) -> ReplicaState:
    """The state of a replica in `directory`, its broker having `registered` these directories.

    A broker that registered no directory at all counts as having all (DirectoryId.isOnline);
    else a directory that is not among them is offline, also when only one is left.
    """
    if directory == MIGRATING:
        return ReplicaState.MIGRATING
    if directory == UNASSIGNED:
        return ReplicaState.UNASSIGNED
    if directory == LOST:
        return ReplicaState.LOST
    if registered and directory not in registered:
        return ReplicaState.OFFLINE
    return ReplicaState.ASSIGNED
