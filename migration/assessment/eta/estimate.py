"""How long the rest will take, with an interval: from the steps seen, by compound Poisson.

What is assumed: steps come independently of each other at a rate that stays, and their sizes are
like those seen. Then with k steps after the first one in a time E, and n more to come, the time T
of those n behaves as E times a ratio of two gamma variables, of shapes n and k. Its logarithm is
near enough to normal with the mean psi(n) - psi(k) and the variance psi'(n) + psi'(k) (psi: the
digamma function). Nothing is known of the time before the first step, so it starts the clock and
is not counted.

Steps of different size tell less: k and n are replicas divided by the dispersion (sum of squares
over sum of the sizes, the variance of a compound Poisson count over its mean). Where the steps
scatter more than that around their own rate, the present silence included, their scatter counts
instead. A step more than was seen is allowed for: of few steps the largest is likely yet to come.

Brokers that send their requests one behind the other are steadier than this assumes: then the
interval is wider than it had to be. Pauses much longer than all before are what it cannot know.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist
from typing import Final

from migration.shard.progress import Step
from migration.values.durations import duration_text

LEVEL: Final = 0.9
_ASYMPTOTIC: Final = 6.0
"""From here on the series below are exact to eight digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """How long until no replica of a broker is without a directory.

    Attributes:
        broker: whose; of a cluster, the one that is expected to be last.
        seconds: at the rate seen. low <= seconds <= high.
        level: the share of estimates whose interval should hold what happens.
        assigned: made from so many replicas that got a directory,
        steps: in so many steps,
        over_ms: in so long, up to the moment of the estimate.
    """

    broker: int
    seconds: float
    low: float
    high: float
    level: float
    assigned: int
    steps: int
    over_ms: int

    @property
    def how(self) -> str:
        """How it was made, in words.

        >>> Estimate(broker=1, seconds=6, low=2, high=19, level=0.9, assigned=50, steps=8,
        ...          over_ms=25_000).how
        'from 50 assignments in 8 steps over 25 s; 90 % interval'
        """
        steps = "1 step" if self.steps == 1 else f"{self.steps} steps"
        over = duration_text(self.over_ms)
        made = f"from {self.assigned} assignments in {steps} over {over}"
        return f"{made}; {self.level * 100:.0f} % interval"


def estimate(
    broker: int, steps: Sequence[Step], pending: int, at_ms: int, level: float = LEVEL
) -> Estimate | None:
    """Estimate from the latest steps, in order; None with fewer than two: there is no rate.

    `at_ms`: up to when there were no others, by the clock of the steps.
    """
    if len(steps) < 2:  # one step has no gap
        return None
    sizes = [step.assigned for step in steps[1:]]
    count, assigned = len(sizes), sum(sizes)
    span_ms = steps[-1].at_ms - steps[0].at_ms
    over_ms = max(at_ms - steps[0].at_ms, span_ms)
    share = max(pending / assigned, 1 / count)  # it takes a whole step, however few are left
    dispersion = _dispersion(steps, over_ms, assigned) * (1 + 1 / count)
    seen, left = assigned / dispersion, max(1.0, pending / dispersion)
    spread = NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(_trigamma(left) + _trigamma(seen))
    middle = _digamma(left) - _digamma(seen) + math.log(seen / left)
    seconds = over_ms * share / 1000
    return Estimate(
        broker=broker,
        seconds=seconds,
        # The silence may be over at once, and the rate what it was; or it may be the new rate.
        low=span_ms * share / 1000 * min(1.0, math.exp(middle - spread)),
        high=seconds * max(1.0, math.exp(middle + spread)),
        level=level,
        assigned=assigned,
        steps=count,
        over_ms=over_ms,
    )


def _dispersion(steps: Sequence[Step], over_ms: int, assigned: int) -> float:
    """Variance over mean of the count: as the sizes have it, or as it is seen, if that is more."""
    span_ms = steps[-1].at_ms - steps[0].at_ms
    squares = 0
    scatter = (assigned * (1 - span_ms / over_ms)) ** 2  # what the silence should have brought
    for before, step in pairwise(steps):
        squares += step.assigned**2
        scatter += (step.assigned - assigned * (step.at_ms - before.at_ms) / span_ms) ** 2
    return max(squares, scatter) / assigned


def _digamma(x: float) -> float:
    """Derive the logarithm of gamma: by recurrence to where its series holds (DLMF 5.11.2)."""
    below = 0.0
    while x < _ASYMPTOTIC:
        below += 1 / x
        x += 1
    inverse = 1 / (x * x)
    series = inverse * (1 / 12 - inverse * (1 / 120 - inverse / 252))
    return math.log(x) - 0.5 / x - series - below


def _trigamma(x: float) -> float:
    """Derive digamma, likewise."""
    below = 0.0
    while x < _ASYMPTOTIC:
        below += 1 / (x * x)
        x += 1
    inverse = 1 / (x * x)
    return (1 + 0.5 / x + inverse * (1 / 6 - inverse * (1 / 30 - inverse / 42))) / x + below
