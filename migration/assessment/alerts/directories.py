"""Alerts on log directories, and on restarts that lose data."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from migration.assessment.alerts.alert import Alert, Rule, Selects, on_hazards
from migration.assessment.conditions import DataSource, View
from migration.assessment.conditions.authority import (
    is_log_current,
    is_source_current,
)
from migration.assessment.failed_directories import Channel, DirectoryFailed, advice, state_of
from migration.assessment.hazards import Action, Hazard, HazardKind
from migration.observed.log_dirs import LogDirState
from migration.values.evidence import capitalized
from migration.values.severity import Severity

_SECONDS_MS: Final = 1000
_MINUTE_MS: Final = 60_000


_SHOWN_BY: Final = {
    Channel.LOG_DIRS: DataSource.LOG_DIRS,
    Channel.REGISTRATION: DataSource.METADATA_LOG,
    Channel.ZNODE: DataSource.ZOOKEEPER,
}
_REPORTS: Final = {
    Channel.LOG_DIRS: "DescribeLogDirs, or a read on the broker's host, reports it",
    Channel.REGISTRATION: "the broker's registration with the controllers no longer names it",
    Channel.ZNODE: "a notification in ZooKeeper reports it, without the directory's name",
}

_MISSED: Final = "a notification was deleted from ZooKeeper before it was read"


def _offline(rule: Rule, view: View) -> Iterator[Alert]:
    for each in view.failed:
        current = [
            channel
            for channel in each.channels
            if channel in _SHOWN_BY and is_source_current(view, _SHOWN_BY[channel]) is True
        ]
        if current:
            yield rule.alert(
                view,
                labels=_labels(each),
                description=_description(view, each),
                details=_details(view, each, current),
                since_ms=each.since_ms,
            )


def _details(view: View, one: DirectoryFailed, current: Sequence[Channel]) -> tuple[str, ...]:
    if one.broker is None:
        return (_MISSED,)
    ends = [
        each.text
        for each in view.due_hazards
        if (each.kind, each.broker) == (HazardKind.BROKER_SHUTS_DOWN, one.broker)
    ]
    return (*(_REPORTS[each] for each in current), *ends)


def _labels(one: DirectoryFailed) -> Mapping[str, str]:
    return {
        "broker": "" if one.broker is None else str(one.broker),
        "log_dir": one.path or "",
        "directory": "" if one.path else one.directory or "",
    }


def _description(view: View, one: DirectoryFailed) -> str:
    """Return the advice that the headline gives, with the cluster's name."""
    action, why = advice(
        one, view.summary, log_is_current=is_log_current(view), rolls_back=view.rolls_back
    )
    return f"{view.cluster}: {action}. {capitalized(why)}."


def _is_online(view: View, labels: Mapping[str, str]) -> bool:
    """Return whether the directory is known to be online, or its broker to be gone.

    A source that is no longer configured never shows the failure again.
    """
    id_ = int(labels["broker"]) if "broker" in labels else None
    if id_ is not None and is_log_current(view) and view.summary.broker(id_) is None:
        return True
    if "log_dir" not in labels:
        shows = DataSource.METADATA_LOG if "directory" in labels else DataSource.ZOOKEEPER
        return is_source_current(view, shows) is not False
    is_current = is_source_current(view, DataSource.LOG_DIRS)
    if is_current is not True:
        return is_current is None
    states = (
        state_of(each, one, view.failed)
        for one in view.summary.broker_disks.values()
        for each in one.log_dirs
        if (one.id, each.path) == (id_, labels["log_dir"])
    )
    return LogDirState.UNKNOWN not in states


def _restart(severity: Severity) -> Selects:
    def selects(_: View, hazard: Hazard) -> bool:
        """Select the hazards that block a restart; unfenced_early has its own alert."""
        blocks = hazard.blocks is Action.RESTART and hazard.severity is severity
        return blocks and hazard.kind is not HazardKind.UNFENCED_EARLY

    return selects


RULES: Final = (
    # Notifications and registrations do not name the path. DescribeLogDirs does, at most 10 s
    # later: then only the alert with the path is sent.
    Rule(
        name="KraftgateLogDirOffline",
        severity=Severity.WARNING,
        for_ms=10 * _SECONDS_MS,
        summary="A log directory cannot be used.",
        find=_offline,
        is_resolved=_is_online,
    ),
    # Recorded facts show these hazards, not missing data, and a service manager restarts a broker
    # within seconds: waiting would only delay the page.
    on_hazards(
        "KraftgateHazardBlocksRestart",
        Severity.CRITICAL,
        "A restart would lose data, or end the migration.",
        _restart(Severity.CRITICAL),
        "Do not restart {who} of {cluster}: {kind}. `kraftgate hazards` has the evidence and the"
        " way out.",
        "hazard",
        "blocks",
        "broker",
        own_words={
            HazardKind.CONTROLLER_ENDS_MIGRATION: (
                "Stop or restart no controller of {cluster} except the one that `kraftgate hazards`"
                " names: {kind}. The next election may finalize the migration, and that cannot be"
                " undone. Until that controller is back, restart no broker."
            )
        },
    ),
    # A broker that restarts into its next mode returns sooner.
    on_hazards(
        "KraftgateHazardBlocksRestart",
        Severity.WARNING,
        "A restart may lose data.",
        _restart(Severity.WARNING),
        "Do not start or restart {who} of {cluster} before you have checked its log directories:"
        " {kind}. `kraftgate hazards` has the evidence and the way out.",
        "hazard",
        "blocks",
        "broker",
        for_ms=5 * _MINUTE_MS,
    ),
)
