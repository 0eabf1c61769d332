"""The remaining time, with an interval: a compound Poisson model of the observed steps.

The model assumes that steps are independent of each other, that their rate is constant, and that
future sizes are like the observed ones. With k steps after the first one in a time E, and n more to
come, the time T of those n is distributed as E times a ratio of two gamma variables, of shapes n
and k. Its logarithm is approximately normal with the mean psi(n) - psi(k) and the variance psi'(n)
+ psi'(k) (psi: the digamma function). The time before the first step is unknown, so the first step
starts the clock and is not counted.

Steps of different size carry less information: k and n are replicas divided by the dispersion (sum
of squares over sum of the sizes, the variance of a compound Poisson count over its mean). If the
steps scatter more than that around their own rate, including the time since the last step, their
scatter counts instead. The dispersion allows for one step more than was observed: with few steps
the largest is likely yet to come.

Brokers that send one request after the other are steadier than the model assumes: then the interval
is wider than necessary. The model cannot predict pauses much longer than all earlier ones.
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
"""From this argument on, the series below are exact to eight digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The time until no replica of a broker is without a directory.

    Attributes:
        broker: its id; for a cluster, the one expected to be last.
        seconds: at the observed rate. low <= seconds <= high.
        level: the expected share of estimates whose interval contains the true value.
        assigned: number of replicas that the estimate is based on,
        steps: in this number of steps,
        over_ms: over this time, up to the moment of the estimate.
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
        """A description of the data and the level.

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
    """Estimate from the latest steps, in order; None with fewer than two, which give no rate.

    `at_ms`: the time up to which there were no other steps, by the clock of the steps.
    """
    if len(steps) < 2:  # one step has no gap
        return None
    sizes = [step.assigned for step in steps[1:]]
    count, assigned = len(sizes), sum(sizes)
    span_ms = steps[-1].at_ms - steps[0].at_ms
    over_ms = max(at_ms - steps[0].at_ms, span_ms)
    share = max(pending / assigned, 1 / count)  # it takes a whole step, even for a few replicas
    dispersion = _dispersion(steps, over_ms, assigned) * (1 + 1 / count)
    seen, left = assigned / dispersion, max(1.0, pending / dispersion)
    spread = NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(_trigamma(left) + _trigamma(seen))
    middle = _digamma(left) - _digamma(seen) + math.log(seen / left)
    seconds = over_ms * share / 1000
    return Estimate(
        broker=broker,
        seconds=seconds,
        # Either the pause ends now and the old rate resumes, or the pause is the new rate.
        low=span_ms * share / 1000 * min(1.0, math.exp(middle - spread)),
        high=seconds * max(1.0, math.exp(middle + spread)),
        level=level,
        assigned=assigned,
        steps=count,
        over_ms=over_ms,
    )


def _dispersion(steps: Sequence[Step], over_ms: int, assigned: int) -> float:
    """Return variance over mean of the count: from the sizes or the scatter, the larger one."""
    span_ms = steps[-1].at_ms - steps[0].at_ms
    squares = 0
    scatter = (assigned * (1 - span_ms / over_ms)) ** 2  # the expected number during the pause
    for before, step in pairwise(steps):
        squares += step.assigned**2
        scatter += (step.assigned - assigned * (step.at_ms - before.at_ms) / span_ms) ** 2
    return max(squares, scatter) / assigned


def _digamma(x: float) -> float:
    """Return the derivative of log gamma: recurrence, then its series (DLMF 5.11.2)."""
    below = 0.0
    while x < _ASYMPTOTIC:
        below += 1 / x
        x += 1
    inverse = 1 / (x * x)
    series = inverse * (1 / 12 - inverse * (1 / 120 - inverse / 252))
    return math.log(x) - 0.5 / x - series - below


def _trigamma(x: float) -> float:
    """Return the derivative of digamma, by the same method."""
    below = 0.0
    while x < _ASYMPTOTIC:
        below += 1 / (x * x)
        x += 1
    inverse = 1 / (x * x)
    return (1 + 0.5 / x + inverse * (1 / 6 - inverse * (1 / 30 - inverse / 42))) / x + below
