"""The steps in which a held broker's replicas get their directories.

A broker asks for directories in AssignReplicasToDirs requests of up to 2250 replicas, one in flight
(AssignmentsManager), and the controller appends the records of one request in one batch of the
log, with one timestamp. So replicas are assigned in steps: the records of one timestamp are
one step.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

STEPS_MAX: Final = 32
"""The number of latest steps that are kept; older ones do not help an estimate."""


class Step(NamedTuple):
    """The number of a broker's replicas that got a directory at a timestamp (ms since 1970)."""

    at_ms: int
    assigned: int


def together(*parts: Iterable[Step]) -> tuple[Step, ...]:
    """Return the latest steps of all parts, in order of time; one timestamp is one step.

    Associative and commutative: the division of the steps into parts does not matter.
    """
    counts: dict[int, int] = {}
    for part in parts:
        for at_ms, assigned in part:
            counts[at_ms] = counts.get(at_ms, 0) + assigned
    return tuple(Step(at_ms, counts[at_ms]) for at_ms in sorted(counts)[-STEPS_MAX:])
