"""The alerts that stand by Kraftgate's own judgement, whoever sends them."""

from collections import Counter
from typing import Final

from migration.alerts import RULES, Standings
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
