"""The rate at which held brokers' replicas get their directories, and the estimated last time."""

import enum
from collections.abc import Mapping
from typing import Final

from migration.assessment.eta import Eta, NoEstimate, cluster_eta, rate_per_second
from migration.image.summary import ClusterSummary
from orchestrator.views.metrics.exposition import Exposition, Metric, Subject

PACE: Final = Subject("kraftgate_broker", "cluster", "broker")
HOLDS: Final = Subject("kraftgate", "cluster")

_RATE: Final = PACE.gauge(
    "assigned_replicas_per_second",
    "Replicas of a held broker that got their directory, per second, over the latest "
    "steps of its progress. Only while the broker is held.",
)
_BROKER_ETA: Final = PACE.gauge(
    "eta_timestamp_seconds",
    "Estimated time at which the last replica of a held broker has its directory; "
    "`bound` is the estimate, or an end of the interval that nine of ten such "
    "estimates keep to. Absent without a rate, for stale data, or if the broker is "
    "stalled.",
    "bound",
)
_ETA: Final = HOLDS.gauge(
    "eta_timestamp_seconds",
    "Estimated time at which no broker is held. Absent unless every held broker has an estimate.",
    "bound",
)


class Bound(enum.StrEnum):
    """A bound of an estimate, as the value of the label `bound`."""

    EXPECTED = "expected"
    EARLIEST = "earliest"
    LATEST = "latest"


def tell_etas(
    into: Exposition, summary: ClusterSummary, found: Mapping[int, Eta], now_ms: int
) -> None:
    """Add the rates and estimates; `found` has those of the held brokers by id."""
    for broker in summary.brokers:
        if broker.id in found:
            into.value(_RATE, rate_per_second(broker), summary.cluster, broker.id)
            _tell(into, _BROKER_ETA, found[broker.id], now_ms, summary.cluster, broker.id)
    _tell(into, _ETA, cluster_eta(summary, found), now_ms, summary.cluster)


def _tell(into: Exposition, metric: Metric, eta: Eta | None, now_ms: int, *labels: object) -> None:
    if eta is None or isinstance(eta, NoEstimate):
        return
    bounds = {Bound.EXPECTED: eta.seconds, Bound.EARLIEST: eta.low, Bound.LATEST: eta.high}
    for bound, seconds in bounds.items():
        into.value(metric, now_ms / 1000 + seconds, *labels, bound)
