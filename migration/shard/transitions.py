"""Changes of replicas' directory states, in columns: one row for each replica and record.

A large migration has millions of them, so they are rows of numbers, processed with numpy; `topics`
and the directories' `Numbers` map the numbers to ids. `report` has what the image needs of them.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from migration.metadata.directory_ids import DirectoryId
from migration.metadata.partitions import Numbers as Directories
from migration.metadata.partitions import Replicas, moves
from migration.metadata.replica_state import PENDING_STATES, ReplicaState
from migration.shard.report import STEPS_MAX, Crossing, Movement, Step

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
"""In place of a place: the replica did not exist before, or does not after."""
_STATE_BITS: Final = 3
_STATE_MASK: Final = 7

_RESERVED_STATES: Final = np.array([MIGRATING_STATE, UNASSIGNED_STATE, LOST_STATE])
"""The states of the reserved directories, by their numbers (`migration.metadata.partitions`)."""
_IS_PENDING: Final = np.array([state in PENDING_STATES for state in (*STATES, None, None)])
"""Whether a state's number is one of a pending replica; the state of ABSENT is the last one."""
_NEVER: Final = np.iinfo(np.int64).max
COLUMNS: Final = 7
"""Metadata offset, timestamp (ms), number of the topic, partition, broker, place before, after."""


def place(directory: int, state: int) -> int:
    """Return a directory's number and the replica's state, in one number."""
    return (directory << _STATE_BITS) | state


class Transitions:
    """Changes in log order, as flat lists that are only extended.

    A record changes `count` replicas; each adds one element to `_brokers`, `_was` and `_now`.
    `table` leaves out replicas that did not move.

    Attributes:
        topics: id and name by number.
    """

    def __init__(self, registered: Mapping[int, frozenset[int]], directories: Directories) -> None:
        """Begin a batch; `registered`: the directories of each broker before it."""
        self._directories = directories
        self.topics: list[tuple[bytes, str]] = []
        self._topic_numbers: dict[bytes, int] = {}
        # Metadata offset, timestamp, topic's number, partition and count, record by record.
        self._heads: list[int] = []
        self._brokers: list[int] = []
        self._was: list[int] = []
        self._now: list[int] = []
        # Rows of COLUMNS, for replicas that kept their directory.
        self._restated: list[int] = []
        self.reload(registered)

    def topic(self, topic_id: bytes, name: str) -> int:
        """Return the topic's number in this batch."""
        number = self._topic_numbers.get(topic_id)
        if number is None:
            number = self._topic_numbers[topic_id] = len(self._topic_numbers)
            self.topics.append((topic_id, name))
        return number

    def moved(
        self, at: tuple[int, int, int, int], before: Replicas | None, after: Replicas | None
    ) -> None:
        """Record that replicas of a partition changed directory, were added or removed.

        `at`: metadata offset, timestamp (ms), the topic's number, partition.
        """
        if before is None and after is not None:
            count = len(after.brokers)
            self._heads += (*at, count)
            self._brokers += after.brokers
            self._was += (ABSENT,) * count
            self._now += after.directories
        elif before is not None and after is not None and before.brokers == after.brokers:
            self._heads += (*at, len(after.brokers))
            self._brokers += after.brokers
            self._was += before.directories
            self._now += after.directories
        else:
            for broker, was, now in moves(before, after):
                self._heads += (*at, 1)
                self._brokers.append(broker)
                self._was.append(ABSENT if was is None else was)
                self._now.append(ABSENT if now is None else now)

    def reload(self, registered: Mapping[int, frozenset[int]]) -> None:
        """Set the directories of all brokers, from a snapshot."""
        self._registered: dict[int, list[tuple[int, frozenset[int]]]] = {
            broker: [(0, directories)] for broker, directories in registered.items()
        }

    def all_gone(self, registered: Mapping[int, frozenset[int]]) -> None:
        """Drop all moves so far, and set the directories of all brokers."""
        for versions in self._registered.values():
            versions.append((len(self._brokers), frozenset()))
        for broker, directories in registered.items():
            self.registered(broker, directories)

    def registered(self, broker: int, directories: frozenset[int]) -> None:
        """Set a broker's directories from here on; none: it is not registered."""
        versions = self._registered.setdefault(broker, [(0, frozenset())])
        versions.append((len(self._brokers), directories))

    def restated(
        self,
        at: tuple[int, int, int, int],
        broker: int,
        directory: int,
        before: frozenset[int],
        after: frozenset[int],
    ) -> None:
        """Record that a replica keeps its directory while its broker's registration changes."""
        was, now = self._place_in(directory, before), self._place_in(directory, after)
        if was != now:
            self._restated += (*at, broker, was, now)

    def _place_in(self, directory: int, online: frozenset[int]) -> int:
        """As `migration.metadata.partitions.classify`, in numbers."""
        if directory < len(_RESERVED_STATES):
            return place(directory, int(_RESERVED_STATES[directory]))
        if directory in self._directories.reserved:
            return place(directory, RESERVED_STATE)
        if online and directory not in online:
            return place(directory, OFFLINE_STATE)
        return place(directory, ASSIGNED_STATE)

    def table(self) -> Numbers | None:
        """Return a table of COLUMNS, a row for each change; None: nothing moved."""
        if not self._brokers and not self._restated:
            return None
        heads = np.array(self._heads, dtype=np.int64).reshape(-1, 5)
        table = np.empty((len(self._brokers), COLUMNS), dtype=np.int64)
        table[:, :4] = np.repeat(heads[:, :4], heads[:, 4], axis=0)
        table[:, 4] = self._brokers
        table[:, 5] = self._was
        table[:, 6] = self._now
        self._place(table)
        table = table[table[:, 5] != table[:, 6]]
        if self._restated:
            restated = np.array(self._restated, dtype=np.int64).reshape(-1, COLUMNS)
            table = np.concatenate([table, restated])
            table = table[np.argsort(table[:, 0], kind="stable")]
        return table

    def _place(self, table: Numbers) -> None:
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
            versions = self._registered.get(int(brokers[start]), [])
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
        if self._directories.reserved:
            others = np.isin(directories, list(self._directories.reserved))
            states = np.where(others, RESERVED_STATE, states)
        there = directories != ABSENT
        table[:, 5:7] = np.where(there, (directories << _STATE_BITS) | states, ABSENT)


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
    rows = table[
        (was != ABSENT) & (now != ABSENT) & ~is_pending(state_of(table[:, 6])) & (was != now)
    ]
    brokers, inverse = np.unique(rows[:, 4], return_inverse=True)
    last = np.zeros(len(brokers), dtype=np.int64)
    np.maximum.at(last, inverse, rows[:, 1])
    return dict(zip(brokers.tolist(), last.tolist(), strict=True))


class PendingSteps:
    """The rows at which a broker's number of pending replicas changes, by one."""

    def __init__(self, table: Numbers) -> None:
        was, now = is_pending(state_of(table[:, 5])), is_pending(state_of(table[:, 6]))
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
        ids, ranks = np.unique(self._brokers, return_inverse=True)
        marks = [
            (rank, offset)
            for rank, broker in enumerate(ids.tolist())
            for offset in sorted({*barriers.get(broker, ()), *ends})
        ]
        next_barrier = _next(marks, ranks, self._offsets)
        keys, inverse = np.unique(next_barrier, return_inverse=True)
        count = len(keys)
        net = np.bincount(inverse, weights=self._steps, minlength=count)
        assigned = np.bincount(inverse, weights=self._assigned, minlength=count)
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
            strict=True,
        )
        return {
            (offset, ids[rank].item()): Movement(
                int(one), int(two), three, four, tuple(recent.get(number, ()))
            )
            for number, ((rank, offset), one, two, three, four) in enumerate(rows)
        }

    def _recent(self, groups: NDArray[np.intp]) -> dict[int, list[Step]]:
        """Group -> its latest steps, in order of time; `groups`: the group of each row."""
        moments, moment = np.unique(self._moments[self._assigned], return_inverse=True)
        steps, counts = np.unique(
            groups[self._assigned] * len(moments) + moment, return_counts=True
        )
        if not len(steps):
            return {}
        group = steps // len(moments)
        starts = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
        ends = np.r_[starts[1:], len(steps)]
        recent: dict[int, list[Step]] = {}
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            kept = slice(max(start, end - STEPS_MAX), end)
            at = moments[steps[kept] % len(moments)].tolist()
            recent[int(group[start])] = list(map(Step, at, counts[kept].tolist()))
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
