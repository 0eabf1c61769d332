"""Replicas over time, from the transitions that the job stores: counts at moments, and rates.

All computations are sums over columns, because there are millions of rows.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from migration.assessment.eta import rate
from migration.metadata.replica_state import PENDING_STATES
from migration.shard.transitions import (
    ABSENT,
    ASSIGNED_STATE,
    OFFLINE_STATE,
    STATES,
    Numbers,
    is_pending,
)
from orchestrator.api.report.brokers import Assignments, BrokerSeries, Series
from streams.spark.transition_files import TransitionColumns

MOMENTS_MAX: Final = 160
"""The most moments of a series: half of them evenly spaced, half at changes."""
_SECOND_MS: Final = 1000
_OFFSET_BITS: Final = 40


class Assigned:
    """The transitions by which a pending replica got a directory."""

    def __init__(self, found: TransitionColumns) -> None:
        there = (found.now != ABSENT) & ~is_pending(found.now)
        rows = np.flatnonzero(is_pending(found.was) & there)
        rows = rows[np.argsort(found.brokers[rows], kind="stable")]
        self._brokers = found.brokers[rows]
        self._places = (found.logs[rows] << _OFFSET_BITS) | found.offsets[rows]
        self._at_ms = found.at_ms[rows]

    def of(self, broker: int, log: int, after: int, before: int | None) -> Assignments | None:
        """Return a broker's assignments in one log, from record `after` until record `before`.

        `after` is included, `before` is not; None: until the end of the log. Returns None if there
        are no assignments.
        """
        first, last = np.searchsorted(self._brokers, [broker, broker + 1])
        places = self._places[first:last]
        end = log << _OFFSET_BITS | before if before is not None else (log + 1) << _OFFSET_BITS
        begin, until = np.searchsorted(places, [log << _OFFSET_BITS | max(after, 0), end])
        at_ms = self._at_ms[first + begin : first + until]
        return _measured(at_ms) if len(at_ms) else None


def _measured(at_ms: Numbers) -> Assignments:
    first_ms, last_ms = int(at_ms[0]), int(at_ms[-1])
    found = rate(len(at_ms), first_ms, last_ms)
    return Assignments(
        assigned=len(at_ms),
        first_at=first_ms,
        last_at=last_ms,
        rate_per_second=None if found is None else round(found, 3),
        busiest_second=int(np.unique(at_ms // _SECOND_MS, return_counts=True)[1].max()),
        longest_pause_ms=int(np.diff(at_ms).max(initial=0)),
    )


def series(found: TransitionColumns, began_ms: int, until_ms: int) -> Series | None:
    """Return the replica counts from `began_ms` to `until_ms`; None: there are no transitions."""
    if not len(found.at_ms) or until_ms <= began_ms:
        return None
    moments = _moments(found.at_ms, began_ms, until_ms)
    ids, which = np.unique(found.brokers, return_inverse=True)
    # A row counts from the first moment that is not before it.
    places = which * (len(moments) + 1) + np.searchsorted(moments, found.at_ms)
    counted = {
        name: _sums(found, states, places, (len(ids), len(moments) + 1))
        for name, states in (
            ("assigned", [ASSIGNED_STATE]),
            ("pending", [STATES.index(each) for each in PENDING_STATES]),
            ("unusable", [OFFLINE_STATE]),
        )
    }
    return Series(
        at=tuple(moments.tolist()),
        assigned=tuple(counted["assigned"].sum(axis=0).tolist()),
        pending=tuple(counted["pending"].sum(axis=0).tolist()),
        unusable=tuple(counted["unusable"].sum(axis=0).tolist()),
        brokers=tuple(
            BrokerSeries(
                id=int(id_),
                assigned=tuple(counted["assigned"][at].tolist()),
                pending=tuple(counted["pending"][at].tolist()),
            )
            for at, id_ in enumerate(ids)
        ),
    )


def _moments(at_ms: Numbers, began_ms: int, until_ms: int) -> Numbers:
    even = np.linspace(began_ms, until_ms, MOMENTS_MAX // 2).astype(np.int64)
    inside = np.unique(at_ms[(at_ms >= began_ms) & (at_ms <= until_ms)])
    picked = np.unique(np.linspace(0, len(inside) - 1, MOMENTS_MAX // 4).astype(np.int64))
    changes = inside[picked] if len(inside) else inside
    # Also one millisecond before each change, so that a plot draws a step.
    every = np.concatenate([even, changes, changes - 1])
    return np.unique(every[(every >= began_ms) & (every <= until_ms)])


def _sums(
    found: TransitionColumns, states: Sequence[int], places: Numbers, shape: tuple[int, int]
) -> Numbers:
    """Return the number of replicas in these states, by broker and moment."""
    change = np.isin(found.now, states).astype(np.int64) - np.isin(found.was, states)
    steps = np.bincount(places, weights=change, minlength=shape[0] * shape[1])
    sums: Numbers = steps.reshape(shape).cumsum(axis=1).astype(np.int64)[:, :-1]
    return sums
