"""The rate at which held brokers' replicas get their directories, and the remaining time.

Each screen, the JSON and the metrics show the same estimate, or the same reason why there is none.
"""

import enum
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from migration.assessment.currency import SourceCurrency, SourceState
from migration.assessment.eta.estimate import LEVEL, Estimate, estimate
from migration.image.summary import BrokerSummary, ClusterSummary
from migration.shard.progress import Step

_LOG_SILENT_MS: Final = 10_000
"""An idle controller writes a no-op record every 500 ms, unless that is disabled."""


class NoEstimate(enum.StrEnum):
    """Why there is no estimate, as shown to users."""

    NOT_CURRENT = "none: what is known is not the present"
    STALLED = "none: it made no progress for too long"
    NO_RATE = "none yet: no two moments at which replicas got a directory"


Eta: TypeAlias = Estimate | NoEstimate


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
    if log.state not in (SourceState.CURRENT, SourceState.OVER):
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

    The cluster is complete when its last broker is, and late when any broker is. So the probability
    to be late that the level leaves is divided among the brokers.
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
    """Return up to when the log is known, by the controllers' clock, which the steps use, too.

    If no no-op records are written, only `now_ms` shows how long no record arrived.
    """
    log_ms = summary.observed_ms
    return now_ms if log_ms is None or now_ms - log_ms > _LOG_SILENT_MS else log_ms
