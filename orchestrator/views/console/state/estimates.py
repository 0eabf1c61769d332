"""Estimates at intervals: they change with time alone, and would be a change at every tick."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from migration.assessment.eta import Eta, NoEstimate, cluster_eta
from migration.image.summary import BrokerSummary, ClusterSummary

EVERY_MS: Final = 5_000
"""An estimate of an otherwise unchanged broker is renewed at most once in this time."""


class Estimated(NamedTuple):
    """An estimate, or why there is none, and when it was made."""

    eta: Eta
    at_ms: int


class Estimates:
    """The estimates of one cluster's held brokers."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[BrokerSummary, Estimated]] = {}

    def take(self, summary: ClusterSummary, found: Mapping[int, Eta], now_ms: int) -> None:
        """Store the estimates that are due: those of changed brokers, and those that are old."""
        before, self._known = self._known, {}
        for broker in summary.brokers:
            eta = found.get(broker.id)
            if eta is None:
                continue
            known = before.get(broker.id)
            if known is None or known[0] != broker or _is_due(known[1], eta, now_ms):
                known = (broker, Estimated(eta, now_ms))
            self._known[broker.id] = known

    def of(self, broker: BrokerSummary) -> Estimated | None:
        """Return the estimate of one broker; None: it is not held."""
        known = self._known.get(broker.id)
        return None if known is None else known[1]

    def of_all(self, summary: ClusterSummary) -> Estimated | None:
        """Return the estimate of the time until no broker is held; None: none is held."""
        eta = cluster_eta(summary, {id_: each.eta for id_, (_, each) in self._known.items()})
        if eta is None:
            return None
        return Estimated(eta, max(each.at_ms for _, each in self._known.values()))


def _is_due(known: Estimated, now: Eta, now_ms: int) -> bool:
    none_any_more = isinstance(now, NoEstimate) or isinstance(known.eta, NoEstimate)
    return now != known.eta if none_any_more else now_ms - known.at_ms >= EVERY_MS
