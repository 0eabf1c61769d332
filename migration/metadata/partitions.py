"""The replicas of one partition and their directories (Kafka's PartitionRegistration).

`Numbers` numbers the directories, because a million replicas are in a few thousand directories:
numbers compare, hash and pack faster than 16 bytes. The reserved ids have fixed numbers.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from migration.metadata.directory_ids import LOST, MIGRATING, UNASSIGNED, DirectoryId, is_reserved
from migration.metadata.records import Partition, PartitionChange
from migration.metadata.replica_state import ReplicaState

MIGRATING_NUMBER: Final = 0
UNASSIGNED_NUMBER: Final = 1
LOST_NUMBER: Final = 2
_RESERVED: Final = (MIGRATING, UNASSIGNED, LOST)
_RESERVED_STATES: Final = {
    MIGRATING: ReplicaState.MIGRATING,
    UNASSIGNED: ReplicaState.UNASSIGNED,
    LOST: ReplicaState.LOST,
}


ADDING: Final = 1
REMOVING: Final = 2


class InvalidReplicaDirectories(Exception):
    """A record has a different number of directories than replicas; Kafka rejects it, too."""


NO_LEADER_CHANGE: Final = -2
"""In a PartitionChangeRecord (LeaderConstants)."""


class Numbers(dict[DirectoryId, int]):
    """The number of each directory id; an unknown id gets the next number.

    Attributes:
        reserved: the numbers of reserved ids without a meaning of their own.
    """

    def __init__(self, ids: Iterable[DirectoryId] = ()) -> None:
        super().__init__({each: number for number, each in enumerate(_RESERVED)})
        self.reserved: set[int] = set()
        for each in ids:
            self[each]

    def __missing__(self, directory: DirectoryId) -> int:
        """Return the next number."""
        number = self[directory] = len(self)
        if is_reserved(directory):
            self.reserved.add(number)
        return number

    def ids(self) -> list[DirectoryId]:
        """The ids in the order of their numbers, the reserved ones first."""
        return list(self)


class Replicas(NamedTuple):
    """A partition: the brokers that have a replica, their directories, and the leader.

    Attributes:
        brokers: in order of preference.
        directories: for each broker, the number of the directory of its replica.
        leader: -1: none.
        moving: ADDING and REMOVING, or 0: whether a reassignment adds or removes replicas.
    """

    brokers: tuple[int, ...]
    directories: tuple[int, ...]
    leader: int
    isr: tuple[int, ...]
    moving: int = 0


def register(record: Partition, numbers: Numbers) -> Replicas:
    """Apply a PartitionRecord; no directories: all MIGRATING (defaultToMigrating).

    Raises:
        InvalidReplicaDirectories: the counts differ.
    """
    brokers = record.replicas
    numbered: tuple[int, ...] = (MIGRATING_NUMBER,) * len(brokers)
    if record.directories:
        numbered = _numbered(record.partition_id, brokers, record.directories, numbers)
    moving = _moving(0, record.adding_replicas, record.removing_replicas)
    return Replicas(brokers, numbered, record.leader, record.isr, moving)


def merge(before: Replicas, record: PartitionChange, numbers: Numbers) -> Replicas:
    """Apply a PartitionChangeRecord (PartitionRegistration.merge, createDirectoriesFrom).

    If the record has new replicas and no directories, remaining replicas keep their directory and
    the others are UNASSIGNED; if all were MIGRATING, all are (defaultToMigrating).

    Raises:
        InvalidReplicaDirectories: the counts differ.
    """
    brokers, numbered, leader, isr, moving = before
    if record.leader != NO_LEADER_CHANGE:
        leader = record.leader
    if record.isr is not None:
        isr = record.isr
    moving = _moving(moving, record.adding_replicas, record.removing_replicas)
    if record.directories:
        brokers = brokers if record.replicas is None else record.replicas
        numbered = _numbered(record.partition_id, brokers, record.directories, numbers)
    elif record.replicas is not None:
        known = dict(zip(brokers, numbered, strict=True))
        brokers = record.replicas
        migrating = all(each == MIGRATING_NUMBER for each in numbered)
        new = MIGRATING_NUMBER if migrating else UNASSIGNED_NUMBER
        numbered = tuple([known.get(each, new) for each in brokers])
    return Replicas(brokers, numbered, leader, isr, moving)


def is_unclean(before: Replicas, record: PartitionChange) -> bool:
    """Return whether a record makes a replica that is not in the ISR the only one in it.

    If the partition is recovering from an earlier unclean election, the record does not say so
    (PartitionChangeBuilder), nor does the cancellation of a reassignment. If no replica is active
    then, the one in the ISR leads later. The last record of a completed reassignment also sets
    replicas and ISR, and is clean.
    """
    if record.recovering:
        return True
    if record.isr is None or len(record.isr) != 1 or record.isr[0] in before.isr:
        return False
    if record.replicas is None:
        return record.isr[0] == record.leader
    return not is_completed(before, record.replicas)


def is_completed(before: Replicas, replicas: tuple[int, ...]) -> bool:
    """Return whether a reassignment ends with these replicas (PartitionReassignmentReplicas).

    The replicas that it removes are last: its completion drops them, its cancellation does not.
    The completion of one that only adds replicas sets no replicas.
    """
    return bool(before.moving & REMOVING) and not {*before.brokers[-1:]} <= {*replicas}


def classify(directory: DirectoryId, registered: frozenset[DirectoryId]) -> ReplicaState:
    """Return the state of a replica in `directory`; `registered`: its broker's directories.

    A broker without registered directories counts as having all (DirectoryId.isOnline). Otherwise a
    directory that is not registered is offline. Kafka gives ids 3 to 99 no meaning (KIP-858,
    "Reserved UUIDs").
    """
    if is_reserved(directory):
        return _RESERVED_STATES.get(directory, ReplicaState.RESERVED)
    if registered and directory not in registered:
        return ReplicaState.OFFLINE
    return ReplicaState.ASSIGNED


def _moving(before: int, adding: tuple[int, ...] | None, removing: tuple[int, ...] | None) -> int:
    if adding is not None:
        before = before | ADDING if adding else before & ~ADDING
    if removing is not None:
        before = before | REMOVING if removing else before & ~REMOVING
    return before


def _numbered(
    partition_id: int,
    brokers: tuple[int, ...],
    directories: tuple[DirectoryId, ...],
    numbers: Numbers,
) -> tuple[int, ...]:
    if len(directories) != len(brokers):
        raise InvalidReplicaDirectories(
            f"partition {partition_id} has {len(brokers)} replicas and {len(directories)}"
            " directories"
        )
    return tuple(map(numbers.__getitem__, directories))
