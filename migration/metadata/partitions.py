"""Where the replicas of one partition are: Kafka's PartitionRegistration, as far as directories go.

Directories are numbered here (`Numbers`), since a million replicas are in a few thousand of them:
numbers compare, hash and pack faster than 16 bytes do. The reserved ids have fixed numbers.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from migration.metadata.directory_ids import LOST, MIGRATING, UNASSIGNED, DirectoryId
from migration.metadata.records import Partition, PartitionChange
from migration.metadata.replica_state import ReplicaState

MIGRATING_NUMBER: Final = 0
UNASSIGNED_NUMBER: Final = 1
LOST_NUMBER: Final = 2
_RESERVED: Final = (MIGRATING, UNASSIGNED, LOST)
_RESERVED_STATES: Final = (ReplicaState.MIGRATING, ReplicaState.UNASSIGNED, ReplicaState.LOST)


ADDING: Final = 1
REMOVING: Final = 2


class InvalidReplicaDirectories(Exception):
    """A record names another number of directories than of replicas (Kafka refuses it likewise)."""


NO_LEADER_CHANGE: Final = -2
"""In a PartitionChangeRecord (LeaderConstants)."""


class Numbers(dict[DirectoryId, int]):
    """The number of each directory id; one that is not known yet gets the next."""

    def __init__(self, ids: Iterable[DirectoryId] = ()) -> None:
        super().__init__()
        for each in (*_RESERVED, *ids):
            self.setdefault(each, len(self))

    def __missing__(self, directory: DirectoryId) -> int:
        """Number a new id."""
        number = self[directory] = len(self)
        return number

    def ids(self) -> list[DirectoryId]:
        """The ids in the order of their numbers, the reserved ones first."""
        return list(self)


class Replicas(NamedTuple):
    """A partition: who has it, where, and who leads.

    Attributes:
        brokers: in order of preference.
        directories: the number of the directory each of them keeps it in.
        leader: -1: none.
        moving: ADDING and REMOVING, or 0: whether a reassignment is to add or remove replicas.
    """

    brokers: tuple[int, ...]
    directories: tuple[int, ...]
    leader: int
    isr: tuple[int, ...]
    moving: int = 0


def register(record: Partition, numbers: Numbers) -> Replicas:
    """Take a PartitionRecord; no directories: all MIGRATING (defaultToMigrating).

    Raises:
        InvalidReplicaDirectories: the counts differ.
    """
    brokers = record.replicas
    directories = record.directories
    moving = 0
    if record.adding_replicas or record.removing_replicas:
        moving = _moving(0, record.adding_replicas, record.removing_replicas)
    if not directories:
        numbered = (MIGRATING_NUMBER,) * len(brokers)
        return Replicas(brokers, numbered, record.leader, record.isr, moving)
    if len(directories) != len(brokers):
        raise _uneven(record.partition_id, brokers, directories)
    numbered = tuple(map(numbers.__getitem__, directories))
    return Replicas(brokers, numbered, record.leader, record.isr, moving)


def merge(before: Replicas, record: PartitionChange, numbers: Numbers) -> Replicas:
    """Take a PartitionChangeRecord (its merge, and DirectoryId.createDirectoriesFrom).

    New replicas without directories: those that stay keep theirs, the others are UNASSIGNED.

    Raises:
        InvalidReplicaDirectories: the counts differ.
    """
    brokers, numbered, leader, isr, moving = before
    if record.leader != NO_LEADER_CHANGE:
        leader = record.leader
    if record.isr is not None:
        isr = record.isr
    if record.adding_replicas is not None or record.removing_replicas is not None:
        moving = _moving(moving, record.adding_replicas, record.removing_replicas)
    directories = record.directories
    if directories:
        brokers = brokers if record.replicas is None else record.replicas
        if len(directories) != len(brokers):
            raise _uneven(record.partition_id, brokers, directories)
        numbered = tuple(map(numbers.__getitem__, directories))
    elif record.replicas is not None:
        known = dict(zip(brokers, numbered, strict=True))
        brokers = record.replicas
        numbered = tuple([known.get(each, UNASSIGNED_NUMBER) for each in brokers])
    return Replicas(brokers, numbered, leader, isr, moving)


def moves(
    before: Replicas | None, after: Replicas | None
) -> Iterator[tuple[int, int | None, int | None]]:
    """The replicas whose directory differs between two states: broker, directory before, after.

    None: the replica was not there, or is no more.
    """
    was = dict(zip(*before[:2], strict=True)) if before is not None else {}
    if after is not None:
        for broker, directory in zip(*after[:2], strict=True):
            old = was.pop(broker, None)
            if old != directory:
                yield broker, old, directory
    for broker, directory in was.items():
        yield broker, directory, None


def classify(directory: DirectoryId, registered: frozenset[DirectoryId]) -> ReplicaState:
    """The state of a replica in `directory`, its broker having `registered` these directories.

    A broker that registered no directory at all counts as having all (DirectoryId.isOnline);
    else a directory that is not among them is offline, also when only one is left.
    """
    if directory in _RESERVED:
        return _RESERVED_STATES[_RESERVED.index(directory)]
    if registered and directory not in registered:
        return ReplicaState.OFFLINE
    return ReplicaState.ASSIGNED


def _moving(before: int, adding: tuple[int, ...] | None, removing: tuple[int, ...] | None) -> int:
    if adding is not None:
        before = before | ADDING if adding else before & ~ADDING
    if removing is not None:
        before = before | REMOVING if removing else before & ~REMOVING
    return before


def _uneven(
    partition_id: int, brokers: tuple[int, ...], directories: tuple[DirectoryId, ...]
) -> InvalidReplicaDirectories:
    return InvalidReplicaDirectories(
        f"partition {partition_id} has {len(brokers)} replicas and {len(directories)} directories"
    )
