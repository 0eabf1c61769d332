"""Alerts on log directories, and on restarts that lose data."""

from collections.abc import Iterator, Mapping
from typing import Final

from migration.assessment.alerts.alert import Alert, Rule, Selects, from_hazards, is_hazard_resolved
from migration.assessment.conditions import DataSource, View
from migration.assessment.conditions.authority import is_log_current, is_source_current
from migration.assessment.hazards import Action, Hazard, HazardKind
from migration.observed.log_dirs import LogDirState, log_dir_state
from migration.values.severity import Severity

_SECONDS_MS: Final = 1000
_MINUTE_MS: Final = 60_000


def _states(view: View) -> Iterator[tuple[int, str, LogDirState]]:
    """Yield broker, path and state of each known directory."""
    for disks in view.summary.disks.brokers.values() if view.summary.disks else ():
        for each in disks.log_dirs:
            yield disks.id, each.path, log_dir_state(each, disks)


def _offline(rule: Rule, view: View) -> Iterator[Alert]:
    if is_source_current(view, DataSource.LOG_DIRS) is not True:
        return
    for broker, path, state in _states(view):
        if state is LogDirState.OFFLINE:
            yield rule.alert(
                view,
                labels={"broker": str(broker), "log_dir": path},
                description=(
                    f"Log directory {path} of broker {broker} of {view.cluster} is offline. Do not"
                    " restart the broker before you know whether that loses data."
                ),
            )


def _is_online(view: View, labels: Mapping[str, str]) -> bool:
    """Return whether the directory is known to be online, or its broker to be gone."""
    if is_source_current(view, DataSource.LOG_DIRS) is not True:
        return False
    broker, path = int(labels["broker"]), labels["log_dir"]
    if is_log_current(view) and all(each.id != broker for each in view.summary.brokers):
        return True
    state = {(id_, where): state for id_, where, state in _states(view)}.get((broker, path))
    return state is not LogDirState.UNKNOWN


def _who(hazard: Hazard) -> str:
    return "any broker" if hazard.broker is None else f"broker {hazard.broker}"


def _must_not(view: View, hazard: Hazard) -> str:
    return (
        f"Do not restart {_who(hazard)} of {view.cluster}: {hazard.kind}. `kraftgate hazards` has"
        " the evidence and the way out."
    )


def _better_not(view: View, hazard: Hazard) -> str:
    return (
        f"Do not start or restart {_who(hazard)} of {view.cluster} before you have checked its"
        f" log directories: {hazard.kind}. `kraftgate hazards` has the evidence and the way out."
    )


def _restart(severity: Severity, *but: HazardKind) -> Selects:
    def selects(hazard: Hazard) -> bool:
        blocks = hazard.blocks is Action.RESTART and hazard.severity is severity
        return blocks and hazard.kind not in but

    return selects


RULES: Final = (
    Rule(
        name="KraftgateLogDirOffline",
        severity=Severity.WARNING,
        for_ms=30 * _SECONDS_MS,
        summary="A log directory cannot be used.",
        find=_offline,
        is_resolved=_is_online,
    ),
    # Recorded facts show these hazards, not missing data, and a service manager restarts a broker
    # within seconds: waiting would only delay the page.
    Rule(
        name="KraftgateHazardBlocksRestart",
        severity=Severity.CRITICAL,
        for_ms=0,
        summary="A restart would lose data.",
        find=from_hazards(_restart(Severity.CRITICAL), _must_not, "hazard", "blocks", "broker"),
        is_resolved=is_hazard_resolved,
    ),
    # A broker that restarts into its next mode returns sooner. unfenced_early has its own alert.
    Rule(
        name="KraftgateHazardBlocksRestart",
        severity=Severity.WARNING,
        for_ms=5 * _MINUTE_MS,
        summary="A restart may lose data.",
        find=from_hazards(
            _restart(Severity.WARNING, HazardKind.UNFENCED_EARLY),
            _better_not,
            "hazard",
            "blocks",
            "broker",
        ),
        is_resolved=is_hazard_resolved,
    ),
)
