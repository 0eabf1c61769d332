"""The alerts that stand by Kraftgate's own judgement, and how its own notices of them go."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from migration.assessment.alerts import RULES, Standings
from orchestrator.alerts.sender import Figures
from orchestrator.metrics.exposition import Exposition, Subject

ALERTS: Final = Subject("kraftgate", "cluster")

_ALERTS: Final = ALERTS.gauge(
    "alerts",
    "Alerts that stand, or are pending, by Kraftgate's own judgement; of one that it cannot tell to"
    " be over, what was last known.",
    "alertname",
    "severity",
    "state",
)


NOTICES: Final = Subject("kraftgate_notices", "receiver")

_SENT: Final = NOTICES.counter(
    "sent", "Notices of alerts, or signs of life, that the receiver took, since the start."
)
_FAILED: Final = NOTICES.counter("failed", "Attempts to tell the receiver that failed.")
_WAITING: Final = NOTICES.gauge("waiting", "Notices that are due and that it was not told yet.")
_SUCCESS: Final = NOTICES.gauge(
    "last_success_timestamp_seconds", "When it last took one, earlier runs included."
)


def tell_notices(into: Exposition, receivers: Mapping[str, Figures]) -> None:
    """Give how it goes with each receiver of alerts."""
    for name, figures in receivers.items():
        into.value(_SENT, figures.sent, name)
        into.value(_FAILED, figures.failed, name)
        into.value(_WAITING, figures.waiting, name)
        into.time(_SUCCESS, figures.success_ms, name)


def tell_alerts(into: Exposition, cluster: str, alerts: Standings) -> None:
    """Give how many alerts there are of each name and severity."""
    if alerts.at_ms is None:
        return
    counts = Counter(
        (each.alert.name, each.alert.severity, each.stands_ms is not None)
        for each in alerts.all.values()
    )
    for rule in RULES:
        for state, stands in (("firing", True), ("pending", False)):
            into.value(
                _ALERTS,
                counts[rule.name, rule.severity, stands],
                cluster,
                rule.name,
                rule.severity,
                state,
            )
