"""Changes of brokers' pending replicas in one batch: between barriers, and when none is left.

Computed with numpy from the table of `migration.shard.transitions`; it may have millions of rows.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from migration.shard.report import STEPS_MAX, Crossing, Movement, Step
from migration.shard.transitions import ABSENT, UNASSIGNED_STATE, Numbers, state_of

_NEVER: Final = np.iinfo(np.int64).max


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


def _is_pending(places: Numbers) -> NDArray[np.bool_]:
    pending: NDArray[np.bool_] = (places != ABSENT) & (state_of(places) <= UNASSIGNED_STATE)
    return pending
