"""The rate at which held brokers' replicas get their directories, and the remaining time.

The remaining time is what is pending at the observed rate, with an interval: steps are assumed to
be independent, with a constant rate and sizes like the observed ones (a compound Poisson process).
With k steps seen and n to come, the logarithm of the ratio of their durations then has about the
variance 1/k + 1/n. Steps of different size carry less information, so k and n are replicas divided
by the dispersion (variance over mean of the count).

`tests/migration/assessment/test_estimate.py` has the share of intervals that hold. A constant range
(a third to three times) holds less often where steps differ in size or pause, and is wider where
they are steady. Pauses much longer than all earlier ones cannot be predicted.
"""

import enum
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import NormalDist
from typing import Final, TypeAlias

from migration.assessment.currency import SourceCurrency
from migration.image.summary import BrokerSummary, ClusterSummary
from migration.shard.report import Step
from migration.values.durations import duration_text
from migration.values.evidence import count

LEVEL: Final = 0.9
_LOG_SILENT_MS: Final = 10_000
"""An idle controller writes a no-op record every 500 ms, unless that is disabled."""


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
        over = duration_text(self.over_ms)
        made = f"from {self.assigned} assignments in {count(self.steps, 'step')} over {over}"
        return f"{made}; {self.level * 100:.0f} % interval"


class NoEstimate(enum.StrEnum):
    """Why there is no estimate, as shown to users."""

    NOT_CURRENT = "none: the data is not current"
    STALLED = "none: it made no progress for too long"
    NO_RATE = "none yet: no two moments at which replicas got a directory"


Eta: TypeAlias = Estimate | NoEstimate


def estimate(
    broker: int, steps: Sequence[Step], pending: int, at_ms: int, level: float = LEVEL
) -> Estimate | None:
    """Estimate from the latest steps, in order; None with fewer than two, which give no rate.

    The time before the first step is unknown, so that step starts the clock and is not counted.
    `at_ms`: the time up to which there were no other steps, by the clock of the steps.
    """
    if len(steps) < 2:
        return None
    count, assigned = len(steps) - 1, sum(step.assigned for step in steps[1:])
    span_ms = steps[-1].at_ms - steps[0].at_ms
    over_ms = max(at_ms - steps[0].at_ms, span_ms)
    share = max(pending / assigned, 1 / count)  # it takes a whole step, even for a few replicas
    # With few steps the largest is likely yet to come: one more than was observed.
    dispersion = _dispersion(steps, over_ms, assigned) * (1 + 1 / count)
    variance = dispersion / assigned + 1 / max(1.0, pending / dispersion)
    factor = math.exp(NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(variance))
    seconds = over_ms * share / 1000
    return Estimate(
        broker=broker,
        seconds=seconds,
        # Either the pause ends now and the old rate resumes, or the pause is the new rate.
        low=span_ms * share / 1000 / factor,
        high=seconds * factor,
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


def rate(assigned: int, first_ms: int, last_ms: int) -> float | None:
    """Return replicas per second from the first assignment to the last; None: no time passed.

    This is the meaning of "rate" on each screen, in the JSON, the metrics and the report.
    """
    return assigned * 1000 / (last_ms - first_ms) if last_ms > first_ms else None


def rate_per_second(broker: BrokerSummary) -> float | None:
    """Return the rate over the latest steps of a held broker; None before two of them."""
    steps = _steps(broker)
    if not steps:
        return None
    return rate(sum(step.assigned for step in steps), steps[0].at_ms, steps[-1].at_ms)


def etas(
    summary: ClusterSummary, log: SourceCurrency, now_ms: int, stalled: Collection[int]
) -> dict[int, Eta]:
    """Return each held broker's remaining time, or the reason why there is no estimate."""
    held = [broker for broker in summary.brokers if broker.held]
    if not log.is_complete:
        return {broker.id: NoEstimate.NOT_CURRENT for broker in held}
    at_ms = _log_time_ms(summary, now_ms)
    return {
        broker.id: NoEstimate.STALLED
        if broker.id in stalled
        else estimate(broker.id, _steps(broker), broker.pending, at_ms) or NoEstimate.NO_RATE
        for broker in held
    }


def cluster_eta(summary: ClusterSummary, found: Mapping[int, Eta]) -> Eta | None:
    """Return the time until no broker is held; None: no broker is. `found`: the result of `etas`.

    The cluster is complete when its last broker is, and late when any broker is. So the level's
    remaining probability of being late is divided among the brokers.
    """
    lasting: Estimate | None = None
    low = high = 0.0
    level = 1 - (1 - LEVEL) / max(1, len(found))
    for broker in summary.brokers:
        one = found.get(broker.id)
        if isinstance(one, NoEstimate):
            return one
        if one is None:
            continue
        steps = _steps(broker)
        wider = estimate(broker.id, steps, broker.pending, steps[0].at_ms + one.over_ms, level)
        low, high = max(low, one.low), max(high, one.high, wider.high if wider else 0.0)
        if lasting is None or one.seconds > lasting.seconds:
            lasting = one
    return None if lasting is None else replace(lasting, low=low, high=high)


def _steps(broker: BrokerSummary) -> tuple[Step, ...]:
    return broker.progress.recent if broker.progress else ()


def _log_time_ms(summary: ClusterSummary, now_ms: int) -> int:
    """Return the time up to which the log is known, by the clock of the controllers and the steps.

    If no no-op records are written, only `now_ms` shows how long no record arrived.
    """
    log_ms = summary.observed_ms
    return now_ms if log_ms is None or now_ms - log_ms > _LOG_SILENT_MS else log_ms
