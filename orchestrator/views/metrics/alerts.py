"""The metrics of the alerts, which the Prometheus rules read, and the notifier's counters."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from migration.assessment.alerts import RULES, AlertState, AlertStates
from orchestrator.notify.sender import SenderStats
from orchestrator.views.metrics.exposition import Exposition, Subject

ALERTS: Final = Subject("kraftgate", "cluster")

_ALERTS: Final = ALERTS.gauge(
    "alerts",
    "Active and pending alerts. An alert stays active until current data shows that "
    "it is resolved.",
    "alertname",
    "severity",
    "state",
)
_IDENTITY: Final = (
    "alertname",
    "severity",
    "broker",
    "log_dir",
    "hazard",
    "blocks",
    "source",
    "checkpoint",
    "verdict",
)
"""The labels of every alert except `cluster`; an alert has some of them, the others are empty."""
_ALERT: Final = ALERTS.gauge(
    "alert",
    "1 for each alert whose condition holds. The Prometheus rules read it and wait "
    "for their `for`. An active alert stays until current data shows that it is "
    "resolved.",
    *_IDENTITY,
)
_SINCE: Final = ALERTS.gauge(
    "alert_since_timestamp_seconds",
    "When the condition of that alert began, or when Kraftgate first saw it.",
    *_IDENTITY,
)
_WAITING_RULES: Final = frozenset((rule.name, rule.severity) for rule in RULES if rule.for_ms)

NOTICES: Final = Subject("kraftgate_notices", "receiver")

_SENT: Final = NOTICES.counter(
    "sent", "Notifications or heartbeats that the receiver accepted since the start."
)
_FAILED: Final = NOTICES.counter("failed", "Failed attempts to notify the receiver.")
_WAITING: Final = NOTICES.gauge("waiting", "Notifications that are due and not delivered yet.")
_SUCCESS: Final = NOTICES.gauge(
    "last_success_timestamp_seconds",
    "When the receiver last accepted a notification, including earlier runs.",
)


def add_notifications(into: Exposition, receivers: Mapping[str, SenderStats]) -> None:
    """Add the counters of each receiver."""
    for name, stats in receivers.items():
        into.value(_SENT, stats.sent, name)
        into.value(_FAILED, stats.failed, name)
        into.value(_WAITING, stats.waiting, name)
        into.time(_SUCCESS, stats.success_ms, name)


def add_alerts(into: Exposition, cluster: str, alerts: AlertStates) -> None:
    """Add each alert, and for each rule the number of active and of pending alerts."""
    if alerts.at_ms is None:
        return
    counts = Counter(
        (each.alert.name, each.alert.severity, each.active_since_ms is not None)
        for each in alerts.all.values()
    )
    for rule in RULES:
        for state, is_active in (("firing", True), ("pending", False)):
            into.value(
                _ALERTS,
                counts[rule.name, rule.severity, is_active],
                cluster,
                rule.name,
                rule.severity,
                state,
            )
    for each in alerts.all.values():
        _add_alert(into, cluster, each)


def _add_alert(into: Exposition, cluster: str, one: AlertState) -> None:
    """Add an alert, unless it is pending and its Prometheus rule has no `for`.

    A stalled broker without timestamps is such a case: only Kraftgate waits for it.
    """
    alert = one.alert
    if one.active_since_ms is None and (alert.name, alert.severity) not in _WAITING_RULES:
        return
    labels = {"alertname": alert.name, **alert.labels}
    identity = [labels.get(label, "") for label in _IDENTITY]
    into.value(_ALERT, 1, cluster, *identity)
    since_ms = one.found_ms if alert.since_ms is None else alert.since_ms
    into.time(_SINCE, since_ms, cluster, *identity)
