"""Changes of replicas' directory states, in columns: one row for each replica and record.

A large migration has millions of them, so they are rows of numbers, processed with numpy. The
shard's topics and the directories' `Numbers` map the numbers to ids. `report` has what the image
needs of them.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from migration.metadata.directory_ids import DirectoryId
from migration.metadata.partitions import Numbers as Directories
from migration.metadata.replica_state import PENDING_STATES, ReplicaState
from migration.shard.lists import ranked
from migration.shard.report import STEPS_MAX, Crossing, Movement

Numbers = NDArray[np.int64]

STATES: Final = tuple(ReplicaState)
"""The numbers of states."""
MIGRATING_STATE: Final = STATES.index(ReplicaState.MIGRATING)
UNASSIGNED_STATE: Final = STATES.index(ReplicaState.UNASSIGNED)
ASSIGNED_STATE: Final = STATES.index(ReplicaState.ASSIGNED)
OFFLINE_STATE: Final = STATES.index(ReplicaState.OFFLINE)
LOST_STATE: Final = STATES.index(ReplicaState.LOST)
RESERVED_STATE: Final = STATES.index(ReplicaState.RESERVED)
ABSENT: Final = -1
"""Used instead of a place: the replica did not exist before, or does not after."""
_STATE_BITS: Final = 3
_STATE_MASK: Final = 7

_RESERVED_STATES: Final = np.array([MIGRATING_STATE, UNASSIGNED_STATE, LOST_STATE])
"""The states of the reserved directories, by their numbers (`migration.metadata.partitions`)."""
_IS_PENDING: Final = np.array([state in PENDING_STATES for state in (*STATES, None, None)])
"""Whether a state's number is one of a pending replica; the state of ABSENT is the last one."""
_NEVER: Final = np.iinfo(np.int64).max
COLUMNS: Final = 7
"""Metadata offset, timestamp (ms), the topic's number, partition, broker, place before, after."""


Places = TypeVar("Places", int, Numbers)


def place(directory: Places, state: Places) -> Places:
    """Return a directory's number and the replica's state, in one number."""
    return (directory << _STATE_BITS) | state


class Transitions:
    """Changes in the order of the log, in blocks of rows.

    The state of a replica in a directory follows from its broker's registration at that time.
    """

    def __init__(self, registered: Mapping[int, frozenset[int]], directories: Directories) -> None:
        """Begin a batch; `registered`: the directories of each broker before it."""
        self._directories = directories
        self._blocks: list[Numbers] = []
        self.reload(registered)

    def reload(self, registered: Mapping[int, frozenset[int]]) -> None:
        """Set the directories of all brokers from here on."""
        self._online = dict(registered)
        self._owners: Numbers | None = None

    def registered(self, broker: int, directories: frozenset[int]) -> None:
        """Set a broker's directories from here on; none: it is not registered."""
        self._online[broker] = directories
        self._owners = None

    def changed(
        self, directories: Collection[int], before: frozenset[int], after: frozenset[int]
    ) -> set[int]:
        """Return those of a broker's directories whose state its registration changes."""
        reserved = self._directories.reserved
        return {
            each
            for each in directories
            if each >= len(_RESERVED_STATES)
            and each not in reserved
            and bool(before and each not in before) != bool(after and each not in after)
        }

    def extend(self, rows: Numbers) -> None:
        """Add rows of COLUMNS with directories, or ABSENT, in the place of places."""
        if len(rows):
            for column in (5, 6):
                rows[:, column] = self._places(rows[:, 4], rows[:, column])
            self._blocks.append(rows[rows[:, 5] != rows[:, 6]])

    def restated(self, rows: Numbers, before: frozenset[int], after: frozenset[int]) -> None:
        """Add replicas that keep their directory while their broker's registration changes.

        `rows`: of COLUMNS, with the directory in the place of both places.
        """
        states = self._states()[rows[:, 5]]
        known = states == ASSIGNED_STATE
        for column, online in ((5, before), (6, after)):
            directories, found = rows[:, column], states
            if online:
                found = np.where(known & ~np.isin(directories, list(online)), OFFLINE_STATE, states)
            rows[:, column] = place(directories, found)
        self._blocks.append(rows[rows[:, 5] != rows[:, 6]])

    def table(self) -> Numbers | None:
        """Return a table of COLUMNS, a row for each change; None: nothing moved."""
        return np.concatenate(self._blocks) if self._blocks else None

    def _places(self, brokers: Numbers, directories: Numbers) -> Numbers:
        """As `migration.metadata.partitions.classify`, in numbers."""
        states = np.append(self._states(), ASSIGNED_STATE)[directories]
        # Nearly every directory is its broker's.
        others = np.flatnonzero(
            (states == ASSIGNED_STATE)
            & (directories != ABSENT)
            & (self._owner_of(directories) != brokers)
        )
        pairs, inverse = ranked((brokers[others] << 32) | directories[others])
        found = [self._state(each >> 32, each & 0xFFFFFFFF) for each in pairs.tolist()]
        states[others] = np.array(found, dtype=np.int64)[inverse]
        return np.where(directories == ABSENT, ABSENT, place(directories, states))

    def _state(self, broker: int, directory: int) -> int:
        online = self._online.get(broker)
        return OFFLINE_STATE if online and directory not in online else ASSIGNED_STATE

    def _states(self) -> Numbers:
        """Return by directory the state of a replica in it while it is online."""
        states = np.full(len(self._directories), ASSIGNED_STATE, dtype=np.int64)
        states[: len(_RESERVED_STATES)] = _RESERVED_STATES
        states[list(self._directories.reserved)] = RESERVED_STATE
        return states

    def _owner_of(self, directories: Numbers) -> Numbers:
        """Return by directory a broker that has registered it, or -1."""
        count = len(self._directories)
        if self._owners is None or len(self._owners) != count:
            owners = np.full(count, -1, dtype=np.int64)
            for broker, online in self._online.items():
                owners[list(online)] = broker
            self._owners = owners
        return self._owners[directories]


def directory_of(places: Numbers) -> Numbers:
    """Return the directories' numbers; of ABSENT, ABSENT."""
    return places >> _STATE_BITS


def state_of(places: Numbers) -> Numbers:
    """Return the states' numbers in STATES; not for ABSENT."""
    return places & _STATE_MASK


def is_pending(states: Numbers) -> NDArray[np.bool_]:
    """Return whether each state is one of a pending replica; ABSENT is not."""
    pending: NDArray[np.bool_] = _IS_PENDING[states]
    return pending


def directory_changes(table: Numbers, ids: list[DirectoryId]) -> dict[tuple[int, DirectoryId], int]:
    """Return (broker, directory) -> change of the number of replicas in it; no zeros."""
    brokers, ranks = ranked(table[:, 4])
    keys, changes = [], []
    for column, change in ((5, -1), (6, 1)):
        directories = directory_of(table[:, column])
        there = directories >= 0
        keys.append(ranks[there] * len(ids) + directories[there])
        changes.append(np.full(len(keys[-1]), change))
    places, inverse = ranked(np.concatenate(keys))
    sums = np.bincount(inverse, weights=np.concatenate(changes), minlength=len(places))
    return {
        (int(brokers[place // len(ids)]), ids[place % len(ids)]): int(change)
        for place, change in zip(places.tolist(), sums.tolist(), strict=True)
        if change
    }


def last_assignments(table: Numbers) -> dict[int, int]:
    """Return broker -> timestamp of the last assignment of an existing replica to a directory.

    The controller writes such a record for a broker's AssignReplicasToDirs request.
    """
    was, now = directory_of(table[:, 5]), directory_of(table[:, 6])
    rows = table[
        (was != ABSENT) & (now != ABSENT) & ~is_pending(state_of(table[:, 6])) & (was != now)
    ]
    brokers, inverse = ranked(rows[:, 4])
    last = np.zeros(len(brokers), dtype=np.int64)
    np.maximum.at(last, inverse, rows[:, 1])
    return dict(zip(brokers.tolist(), last.tolist(), strict=True))


class PendingSteps:
    """The rows at which a broker's number of pending or of migrating replicas changes, by one."""

    def __init__(self, table: Numbers) -> None:
        was, now = state_of(table[:, 5]), state_of(table[:, 6])
        steps = is_pending(now).astype(np.int64) - is_pending(was)
        migrating = (now == MIGRATING_STATE).astype(np.int64) - (was == MIGRATING_STATE)
        changed = (steps != 0) | (migrating != 0)
        self._steps = steps[changed]
        self._migrating = migrating[changed]
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
        ids, ranks = ranked(self._brokers)
        marks = [
            (rank, offset)
            for rank, broker in enumerate(ids.tolist())
            for offset in sorted({*barriers.get(broker, ()), *ends})
        ]
        next_barrier = _next(marks, ranks, self._offsets)
        keys, inverse = ranked(next_barrier)
        count = len(keys)
        net = np.bincount(inverse, weights=self._steps, minlength=count)
        assigned = np.bincount(inverse, weights=self._assigned, minlength=count)
        migrating = np.bincount(inverse, weights=self._migrating, minlength=count)
        first = np.full(count, _NEVER)
        last = np.zeros(count, dtype=np.int64)
        np.minimum.at(first, inverse[self._assigned], self._moments[self._assigned])
        np.maximum.at(last, inverse[self._assigned], self._moments[self._assigned])
        first[first == _NEVER] = 0
        recent = self._recent(inverse)
        rows = zip(
            (marks[key] for key in keys.tolist()),
            net.tolist(),
            assigned.tolist(),
            first.tolist(),
            last.tolist(),
            migrating.tolist(),
            strict=True,
        )
        return {
            (offset, ids[rank].item()): Movement(
                int(one), int(two), three, four, tuple(recent.get(number, ())), int(five)
            )
            for number, ((rank, offset), one, two, three, four, five) in enumerate(rows)
        }

    def _recent(self, groups: NDArray[np.intp]) -> dict[int, list[tuple[int, int]]]:
        """Group -> its latest steps, in order of time; `groups`: the group of each row."""
        moments, moment = ranked(self._moments[self._assigned])
        steps, counts = np.unique(
            groups[self._assigned] * len(moments) + moment, return_counts=True
        )
        if not len(steps):
            return {}
        group = steps // len(moments)
        starts = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
        ends = np.r_[starts[1:], len(steps)]
        recent: dict[int, list[tuple[int, int]]] = {}
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            kept = slice(max(start, end - STEPS_MAX), end)
            at = moments[steps[kept] % len(moments)].tolist()
            recent[int(group[start])] = list(zip(at, counts[kept].tolist(), strict=True))
        return recent

    def crossings(self, pending: dict[int, int]) -> list[Crossing]:
        """Return where a broker's pending replicas reached or left zero, and update `pending`."""
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
        crossed = np.flatnonzero((steps != 0) & ((after == 0) | (after == steps)))
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


def _next(
    marks: Sequence[tuple[int, int]], ranks: NDArray[np.intp], offsets: NDArray[np.int64]
) -> NDArray[np.intp]:
    """Return for each row the position of the first mark of its rank after its offset.

    `marks`: (rank, offset) in order. Offsets are compared by their positions among the marks,
    because a rank and an offset of 64 bits do not fit into one number.
    """
    places = np.unique(np.array([offset for _, offset in marks], dtype=np.int64))
    width = len(places) + 1
    rank, offset = np.array(marks, dtype=np.int64).T
    ordered = rank * width + np.searchsorted(places, offset)
    rows = ranks * width + np.searchsorted(places, offsets, side="right")
    return np.searchsorted(ordered, rows)
