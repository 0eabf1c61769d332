"""How a held broker's replicas got their directories, step by step.

A broker asks for directories in AssignReplicasToDirs requests of up to 2250 replicas, one in flight
(AssignmentsManager), and the controller appends what comes of one request in one batch of the log,
with one timestamp. So replicas do not come one by one: they come in steps, and the records of one
timestamp are one step.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

STEPS_MAX: Final = 32
"""So many of the latest steps are kept: what came long ago says little of what is to come."""


class Step(NamedTuple):
    """At this timestamp (ms since the epoch) so many replicas of a broker got a directory."""

    at_ms: int
    assigned: int


def together(*parts: Iterable[Step]) -> tuple[Step, ...]:
    """The latest steps of all parts, in order of time; what has one timestamp is one step.

    The same steps in any parts, and any of them put together before, give the same.
    """
    counts: dict[int, int] = {}
    for part in parts:
        for at_ms, assigned in part:
            counts[at_ms] = counts.get(at_ms, 0) + assigned
    return tuple(Step(at_ms, counts[at_ms]) for at_ms in sorted(counts)[-STEPS_MAX:])
