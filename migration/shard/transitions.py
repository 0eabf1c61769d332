"""Changes of replicas' directory states, in columns: one row for each replica and record.

A large migration has millions of them, so they are rows of numbers, processed with numpy; `topics`
and the directories' `Numbers` map the numbers to ids. `report` has what the image needs of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from migration.metadata.directory_ids import DirectoryId
from migration.metadata.replica_state import ReplicaState

Numbers = NDArray[np.int64]

STATES: Final = tuple(ReplicaState)
"""The numbers of states; the two pending ones are first."""
MIGRATING_STATE: Final = STATES.index(ReplicaState.MIGRATING)
UNASSIGNED_STATE: Final = STATES.index(ReplicaState.UNASSIGNED)
ASSIGNED_STATE: Final = STATES.index(ReplicaState.ASSIGNED)
OFFLINE_STATE: Final = STATES.index(ReplicaState.OFFLINE)
LOST_STATE: Final = STATES.index(ReplicaState.LOST)
ABSENT: Final = -1
"""In place of a place: the replica did not exist before, or does not after."""
_STATE_BITS: Final = 3
_STATE_MASK: Final = 7

_RESERVED_STATES: Final = np.array([MIGRATING_STATE, UNASSIGNED_STATE, LOST_STATE])
"""The states of the reserved directories, by their numbers (`migration.metadata.partitions`)."""
COLUMNS: Final = 7
"""Metadata offset, timestamp (ms), number of the topic, partition, broker, place before, after."""


def place(directory: int, state: int) -> int:
    """Return a directory's number and the replica's state, in one number."""
    return (directory << _STATE_BITS) | state


@dataclass(slots=True)
class Transitions:
    """Changes in log order, as flat lists that are only extended.

    A record changes `count` replicas; each adds one element to `brokers`, `was` and `now`.
    `columns` leaves out replicas that did not move.

    Attributes:
        heads: metadata offset, timestamp, topic's number, partition and count, record by record.
        was: directory's number before, or ABSENT.
        now: directory's number after, or ABSENT.
        restated: rows of COLUMNS, for replicas that kept their directory while their broker's
            registration changed.
        topics: id and name by number.
    """

    heads: list[int] = field(default_factory=list)
    brokers: list[int] = field(default_factory=list)
    was: list[int] = field(default_factory=list)
    now: list[int] = field(default_factory=list)
    restated: list[int] = field(default_factory=list)
    topics: list[tuple[bytes, str]] = field(default_factory=list)

    def columns(self, registered: "Registrations") -> Numbers:
        """Return a table of COLUMNS, a row for each change."""
        heads = np.array(self.heads, dtype=np.int64).reshape(-1, 5)
        table = np.empty((len(self.brokers), COLUMNS), dtype=np.int64)
        table[:, :4] = np.repeat(heads[:, :4], heads[:, 4], axis=0)
        table[:, 4] = self.brokers
        table[:, 5] = self.was
        table[:, 6] = self.now
        registered.place(table)
        table = table[table[:, 5] != table[:, 6]]
        if self.restated:
            restated = np.array(self.restated, dtype=np.int64).reshape(-1, COLUMNS)
            table = np.concatenate([table, restated])
            table = table[np.argsort(table[:, 0], kind="stable")]
        return table


class Registrations:
    """The registered directories of each broker, by row of a batch."""

    def __init__(self, before: Mapping[int, frozenset[int]]) -> None:
        self._versions: dict[int, list[tuple[int, frozenset[int]]]] = {
            broker: [(0, directories)] for broker, directories in before.items()
        }

    def change(self, broker: int, row: int, directories: frozenset[int]) -> None:
        """Set a broker's directories from a row on."""
        self._versions.setdefault(broker, [(0, frozenset())]).append((row, directories))

    def forget(self, row: int) -> None:
        """Clear all brokers' directories from a row on."""
        for versions in self._versions.values():
            versions.append((row, frozenset()))

    def place(self, table: Numbers) -> None:
        """Replace directories by places in the two last columns of the table."""
        if not len(table):
            return
        order = np.argsort(table[:, 4], kind="stable")
        brokers = table[order, 4]
        starts = np.flatnonzero(np.r_[True, brokers[1:] != brokers[:-1]])
        ends = np.r_[starts[1:], len(brokers)]
        states = np.full((len(table), 2), ASSIGNED_STATE, dtype=np.int64)
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            rows = order[start:end]
            versions = self._versions.get(int(brokers[start]), [])
            bounds = [*np.searchsorted(rows, [row for row, _ in versions]), len(rows)]
            for number, (_, online) in enumerate(versions):
                part = rows[bounds[number] : bounds[number + 1]]
                if online and len(part):
                    known = np.isin(table[part, 5:7], list(online))
                    states[part] = np.where(known, ASSIGNED_STATE, OFFLINE_STATE)
        directories = table[:, 5:7]
        reserved = directories < len(_RESERVED_STATES)
        states = np.where(
            reserved, np.take(_RESERVED_STATES, np.maximum(directories, 0) % 3), states
        )
        there = directories != ABSENT
        table[:, 5:7] = np.where(there, (directories << _STATE_BITS) | states, ABSENT)


def directory_of(places: Numbers) -> Numbers:
    """Return the directories' numbers; of ABSENT, ABSENT."""
    return places >> _STATE_BITS


def state_of(places: Numbers) -> Numbers:
    """Return the states' numbers in STATES; not for ABSENT."""
    return places & _STATE_MASK


def directory_changes(table: Numbers, ids: list[DirectoryId]) -> dict[tuple[int, DirectoryId], int]:
    """Return (broker, directory) -> change of the number of replicas in it; no zeros."""
    brokers = table[:, 4]
    keys, changes = [], []
    for column, change in ((5, -1), (6, 1)):
        directories = directory_of(table[:, column])
        there = directories >= 0
        keys.append((brokers[there] << 32) | directories[there])
        changes.append(np.full(int(there.sum()), change))
    unique, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    sums = np.bincount(inverse, weights=np.concatenate(changes), minlength=len(unique))
    return {
        (key >> 32, ids[key & 0xFFFFFFFF]): int(change)
        for key, change in zip(unique.tolist(), sums.tolist(), strict=True)
        if change
    }


def last_assignments(table: Numbers) -> dict[int, int]:
    """Return broker -> timestamp of the last assignment of an existing replica to a directory.

    The controller writes such a record for a broker's AssignReplicasToDirs request.
    """
    was, now = directory_of(table[:, 5]), directory_of(table[:, 6])
    rows = table[(was != ABSENT) & (now >= len(_RESERVED_STATES)) & (was != now)]
    brokers, inverse = np.unique(rows[:, 4], return_inverse=True)
    last = np.zeros(len(brokers), dtype=np.int64)
    np.maximum.at(last, inverse, rows[:, 1])
    return dict(zip(brokers.tolist(), last.tolist(), strict=True))
