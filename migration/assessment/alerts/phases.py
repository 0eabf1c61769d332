"""Alerts on the phases of the migration and on its hazards."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from migration.assessment.alerts.alert import Alert, Rule, on_hazards
from migration.assessment.conditions import View
from migration.assessment.conditions.authority import is_log_current, log_decides
from migration.assessment.hazards import Action, Hazard, HazardKind
from migration.image.summary import Phase
from migration.values.durations import counted_text
from migration.values.severity import Severity

UNREGISTERED_MS: Final = 3_600_000
HYBRID_MS: Final = 86_400_000
_SECONDS_MS: Final = 1000
_MINUTE_MS: Final = 60_000


def _not_registered(rule: Rule, view: View) -> Iterator[Alert]:
    if view.summary.known_phase is not Phase.PRE_MIGRATION or not is_log_current(view):
        return
    registered = [
        each.registered_ms
        for each in view.summary.brokers
        if each.epoch is not None and each.registered_ms is not None
    ]
    since_ms = max(registered, default=view.phase_began_ms)
    if since_ms is None or view.log_now_ms - since_ms <= UNREGISTERED_MS:
        return
    age = counted_text(view.log_now_ms - since_ms)
    yield rule.alert(
        view,
        description=(
            f"{view.cluster} is in pre-migration, and no broker registered for the migration for"
            f" {age}. The copy begins when all brokers have registered."
        ),
        since_ms=since_ms,
    )


def _hybrid(rule: Rule, view: View) -> Iterator[Alert]:
    since_ms = view.phase_began_ms
    if since_ms is None or view.summary.known_phase is not Phase.HYBRID or not is_log_current(view):
        return
    if view.log_now_ms - since_ms > HYBRID_MS:
        age = counted_text(view.log_now_ms - since_ms)
        yield rule.alert(
            view,
            description=(
                f"{view.cluster} has been hybrid for {age}. Every broker in migration mode halts"
                " when one of its log directories fails."
            ),
            since_ms=since_ms,
        )


def _is_resolved_in(phase: Phase) -> Callable[[View, Mapping[str, str]], bool]:
    def is_resolved(view: View, labels: Mapping[str, str]) -> bool:  # noqa: ARG001
        """Return whether the phase is known to be another one, or its start is known."""
        timed = view.summary.phase is not phase or view.phase_began_ms is not None
        return log_decides(view) and timed

    return is_resolved


def _forbids_finalizing(view: View, hazard: Hazard) -> bool:
    """Return whether a hazard blocks finalizing; FINALIZE_TOO_EARLY counts only in dual write."""
    if hazard.kind is HazardKind.FINALIZE_TOO_EARLY:
        return view.summary.known_phase is Phase.DUAL_WRITE
    return hazard.blocks is Action.FINALIZE and hazard.kind is not HazardKind.DUAL_WRITE_STUCK


RULES: Final = (
    Rule(
        name="KraftgateBrokersNotRegistered",
        severity=Severity.WARNING,
        summary="The migration waits for brokers to register, and none registers.",
        find=_not_registered,
        is_resolved=_is_resolved_in(Phase.PRE_MIGRATION),
    ),
    Rule(
        name="KraftgateHybridTooLong",
        severity=Severity.WARNING,
        summary="Brokers have been in migration mode for too long after the copy.",
        find=_hybrid,
        is_resolved=_is_resolved_in(Phase.HYBRID),
    ),
    on_hazards(
        "KraftgateDualWriteStuck",
        Severity.CRITICAL,
        "The controllers have stopped writing to ZooKeeper.",
        lambda _, each: each.kind is HazardKind.DUAL_WRITE_STUCK,
        "In {cluster} changes no longer reach ZooKeeper. Brokers in ZooKeeper mode do not see them,"
        " and a rollback would lose them.",
        "hazard",
        for_ms=_MINUTE_MS,
    ),
    on_hazards(
        "KraftgateFinalizeBlocked",
        Severity.WARNING,
        "The migration must not be finalized before an operator removes the cause.",
        _forbids_finalizing,
        "{cluster} must not be finalized: {kind}. Kafka would accept it, and it cannot be rolled"
        " back. If the migration is over, the harm may come now.",
        "hazard",
        "blocks",
        "broker",
        for_ms=15 * _MINUTE_MS,
    ),
    on_hazards(
        "KraftgateStaleMigrationZnode",
        Severity.CRITICAL,
        "The /migration znode of an earlier attempt makes a new quorum wipe ZooKeeper.",
        lambda _, each: each.kind is HazardKind.STALE_MIGRATION_ZNODE,
        "/migration of {cluster} records a copy that no running controller made. Stop the running"
        " KRaft controllers, and start none before /migration is deleted: they delete every topic"
        " from ZooKeeper.",
        "hazard",
        for_ms=30 * _SECONDS_MS,
    ),
    on_hazards(
        "KraftgateHarmDone",
        Severity.CRITICAL,
        "Data or metadata was damaged, and waiting does not repair it.",
        lambda _, each: each.severity is Severity.CRITICAL and each.blocks is None,
        "{cluster}{where}: {kind}. `kraftgate hazards` has the partitions and the way out.",
        "hazard",
        "broker",
        for_ms=30 * _SECONDS_MS,
    ),
)
