"""Changes of replicas' directory states, in columns: one row for a replica and a record.

There are millions in a large migration, so they are kept as rows of numbers and worked on with
numpy; `names` say what topics and directories the numbers stand for. What the cluster-wide image
must know of them is told by `report`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from migration.directory_ids import DirectoryId
from migration.replica_state import ReplicaState

Numbers = NDArray[np.int64]

STATES: Final = tuple(ReplicaState)
"""The order in which states are numbered; the two pending ones come first."""
MIGRATING_STATE: Final = STATES.index(ReplicaState.MIGRATING)
UNASSIGNED_STATE: Final = STATES.index(ReplicaState.UNASSIGNED)
ASSIGNED_STATE: Final = STATES.index(ReplicaState.ASSIGNED)
OFFLINE_STATE: Final = STATES.index(ReplicaState.OFFLINE)
LOST_STATE: Final = STATES.index(ReplicaState.LOST)
ABSENT: Final = -1
"""Instead of a place: the replica was not there, or is no more."""
_STATE_BITS: Final = 3
_STATE_MASK: Final = 7
_OFFSET_BITS: Final = 40
_OFFSET_MASK: Final = 2**_OFFSET_BITS - 1
"""A trillion records: at a thousand a second, thirty years."""

_RESERVED_STATES: Final = np.array([MIGRATING_STATE, UNASSIGNED_STATE, LOST_STATE])
"""The states of the reserved directories, by their numbers (`migration.partitions`)."""
COLUMNS: Final = 7
"""Metadata offset, timestamp (ms), number of the topic, partition, broker, place before, after."""


def place(directory: int, state: int) -> int:
    """A directory's number and the replica's state there, in one number."""
    return (directory << _STATE_BITS) | state


class Movement(NamedTuple):
    """How a broker's pending replicas moved before one barrier.

    Attributes:
        net: change of their number.
        assigned: how many got a directory.
        first_ms: timestamp of the first assignment (0: none).
        last_ms: timestamp of the last one (0: none).
    """

    net: int = 0
    assigned: int = 0
    first_ms: int = 0
    last_ms: int = 0

    def plus(self, other: "Movement") -> "Movement":
        """Both movements together, in either order."""
        firsts = [moment for moment in (self.first_ms, other.first_ms) if moment]
        return Movement(
            self.net + other.net,
            self.assigned + other.assigned,
            min(firsts, default=0),
            max(self.last_ms, other.last_ms),
        )


class Crossing(NamedTuple):
    """At this record a broker's pending replicas in the shard came to none, or were some again."""

    offset: int
    timestamp_ms: int
    broker: int
    pending: bool


@dataclass(slots=True)
class Transitions:
    """Changes in log order, as flat lists that the hot path only ever extends.

    One record changes `count` replicas; for each of them `brokers`, `was` and `now` go on by one.
    A replica that did not move is among them and left out by `columns`.

    Attributes:
        heads: metadata offset, timestamp, topic's number, partition and count, record by record.
        was: directory's number before, or ABSENT.
        now: directory's number after, or ABSENT.
        restated: rows of COLUMNS, for replicas that stayed where they are while their broker's
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
        """A table of COLUMNS, a row for each change."""
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
    """Which directories each broker had registered, from which row of a batch on."""

    def __init__(self, before: Mapping[int, frozenset[int]]) -> None:
        self._versions: dict[int, list[tuple[int, frozenset[int]]]] = {
            broker: [(0, directories)] for broker, directories in before.items()
        }

    def change(self, broker: int, row: int, directories: frozenset[int]) -> None:
        """From the given row on the broker has these."""
        self._versions.setdefault(broker, [(0, frozenset())]).append((row, directories))

    def place(self, table: Numbers) -> None:
        """Turn the table's directories into places, in the two last columns."""
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
    """The directories' numbers; of ABSENT, ABSENT."""
    return places >> _STATE_BITS


def state_of(places: Numbers) -> Numbers:
    """The states' numbers in STATES; not for ABSENT."""
    return places & _STATE_MASK


def directory_changes(table: Numbers, ids: list[DirectoryId]) -> dict[tuple[int, DirectoryId], int]:
    """(broker, directory) -> change of the number of replicas in it; no zeros."""
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
    """Broker -> timestamp of the last record that put a replica, there before, into a directory.

    That is what the controller makes of a broker's AssignReplicasToDirs request.
    """
    was, now = directory_of(table[:, 5]), directory_of(table[:, 6])
    rows = table[(was != ABSENT) & (now >= len(_RESERVED_STATES)) & (was != now)]
    brokers, inverse = np.unique(rows[:, 4], return_inverse=True)
    last = np.zeros(len(brokers), dtype=np.int64)
    np.maximum.at(last, inverse, rows[:, 1])
    return dict(zip(brokers.tolist(), last.tolist(), strict=True))


class PendingSteps:
    """The rows at which a broker's number of pending replicas changes, by one."""

    def __init__(self, table: Numbers) -> None:
        was, now = _is_pending(table[:, 5]), _is_pending(table[:, 6])
        steps = now.astype(np.int64) - was.astype(np.int64)
        changed = steps != 0
        self._steps = steps[changed]
        self._offsets = table[changed, 0]
        self._moments = table[changed, 1]
        self._brokers = table[changed, 4]
        self._assigned = (self._steps < 0) & (table[changed, 6] != ABSENT)

    def movements(
        self, barriers: Mapping[int, Sequence[int]], ends: Sequence[int]
    ) -> dict[tuple[int, int], Movement]:
        """(next barrier, broker) -> movement of the broker's pending before it.

        `barriers`: broker -> offsets of the records about it; `ends`: barriers of all brokers,
        the last one beyond all rows.
        """
        if not len(self._steps):
            return {}
        ordered = np.array(
            sorted(
                {
                    (broker << _OFFSET_BITS) | offset
                    for broker in np.unique(self._brokers).tolist()
                    for offset in (*barriers.get(broker, ()), *ends)
                }
            ),
            dtype=np.int64,
        )
        places = (self._brokers << _OFFSET_BITS) | self._offsets
        next_barrier = np.searchsorted(ordered, places, side="right")
        keys, inverse = np.unique(next_barrier, return_inverse=True)
        count = len(keys)
        net = np.bincount(inverse, weights=self._steps, minlength=count)
        assigned = np.bincount(inverse, weights=self._assigned, minlength=count)
        never = np.iinfo(np.int64).max
        first = np.full(count, never)
        last = np.zeros(count, dtype=np.int64)
        np.minimum.at(first, inverse[self._assigned], self._moments[self._assigned])
        np.maximum.at(last, inverse[self._assigned], self._moments[self._assigned])
        first[first == never] = 0
        rows = zip(
            ordered[keys].tolist(),
            net.tolist(),
            assigned.tolist(),
            first.tolist(),
            last.tolist(),
            strict=True,
        )
        return {
            (key & _OFFSET_MASK, key >> _OFFSET_BITS): Movement(int(one), int(two), three, four)
            for key, one, two, three, four in rows
        }

    def crossings(self, pending: dict[int, int]) -> list[Crossing]:
        """Where a broker's pending came to none or left it; `pending` is brought up to date."""
        if not len(self._steps):
            return []
        order = np.argsort(self._brokers, kind="stable")
        brokers, steps = self._brokers[order], self._steps[order]
        sums = np.cumsum(steps)
        starts = np.flatnonzero(np.r_[True, brokers[1:] != brokers[:-1]])
        ends = np.r_[starts[1:], len(brokers)]
        known = np.array([pending.get(each, 0) for each in brokers[starts].tolist()])
        base = known - (sums[starts] - steps[starts])
        after = sums + np.repeat(base, ends - starts)
        for broker, left in zip(brokers[starts].tolist(), after[ends - 1].tolist(), strict=True):
            if left:
                pending[broker] = left
            else:
                pending.pop(broker, None)
        crossed = np.flatnonzero((after == 0) | (after == steps))
        rows = order[crossed]
        found = zip(
            rows.tolist(),
            self._offsets[rows].tolist(),
            self._moments[rows].tolist(),
            brokers[crossed].tolist(),
            (after[crossed] != 0).tolist(),
            strict=True,
        )
        return [Crossing(*rest) for _, *rest in sorted(found)]


def _is_pending(places: Numbers) -> NDArray[np.bool_]:
    pending: NDArray[np.bool_] = (places != ABSENT) & (state_of(places) <= UNASSIGNED_STATE)
    return pending
