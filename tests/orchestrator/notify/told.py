"""Alerts that stand, as they are handed over to receivers."""

from collections.abc import Iterable
from dataclasses import replace

from migration.assessment.alerts import Alert, AlertState
from migration.values.severity import Severity
from orchestrator.notify.delivery import ActiveAlerts, Policy

HOUR_MS = 3_600_000
POLICY = Policy(min_severity=Severity.WARNING, repeat_ms=4 * HOUR_MS, inhibits=True)


def alert(
    broker: int = 3,
    severity: Severity = Severity.WARNING,
    name: str = "KraftgateAssignmentStalled",
    **changes: object,
) -> Alert:
    given = Alert(
        name=name,
        labels={"broker": str(broker), "cluster": "prod", "severity": str(severity)},
        summary="Replicas of a broker wait for their log directories, and none gets one.",
        description=f"Broker {broker} of prod is held & <waits>.",
        details=("12 of 64 replicas without a directory", "a second fact"),
        since_ms=1_789_999_000_000,
    )
    return replace(given, **changes)  # type: ignore[arg-type]


def wanted(at_ms: int, *alerts: Alert, since_ms: int | None = None) -> ActiveAlerts:
    """So much stands at that moment, since then or since a moment before."""
    return of(at_ms, (standing(each, at_ms if since_ms is None else since_ms) for each in alerts))


def of(at_ms: int, standings: Iterable[AlertState]) -> ActiveAlerts:
    found = {each.alert.fingerprint: each for each in standings}
    return ActiveAlerts(at_ms=at_ms, clusters=frozenset({"prod"}), active=found)


def standing(one: Alert, active_since_ms: int, *, is_known: bool = True) -> AlertState:
    return AlertState(
        alert=one, found_ms=active_since_ms, active_since_ms=active_since_ms, is_known=is_known
    )
