"""Alerts on the phases of the migration and on its hazards."""

from collections.abc import Iterator
from typing import Final

from migration.assessment.alerts.alert import Alert, Rule, on_hazards
from migration.assessment.conditions import View
from migration.assessment.conditions.authority import is_log_current, log_decides
from migration.assessment.hazards import Action, Hazard, HazardKind
from migration.image.summary import Phase
from migration.values.durations import counted_text
from migration.values.severity import Severity

UNREGISTERED_MS: Final = 3_600_000
COPY_MS: Final = 900_000
HYBRID_MS: Final = 86_400_000
_SECONDS_MS: Final = 1000
_MINUTE_MS: Final = 60_000


def _not_registered(rule: Rule, view: View) -> Iterator[Alert]:
    if view.summary.known_phase is not Phase.PRE_MIGRATION or not is_log_current(view):
        return
    registered = _registered_ms(view)
    words = (
        "{cluster} is in pre-migration, and no broker registered for the migration {age}. The"
        " copy begins when all brokers have registered."
    )
    yield from _lasting(
        rule, view, max(registered, default=view.phase_began_ms), UNREGISTERED_MS, words
    )


def _registered_ms(view: View) -> list[int]:
    return [
        each.registered_ms
        for each in view.summary.brokers
        if each.epoch is not None and each.registered_ms is not None
    ]


def _lasting(
    rule: Rule, view: View, since_ms: int | None, limit_ms: int, words: str
) -> Iterator[Alert]:
    """Yield the alert if its condition has held for longer; `words` has `{cluster}` and `{age}`.

    Without `since_ms` the time counts from the metadata snapshot that showed the phase, and without
    one from the first tick with it.
    """
    bound_ms = view.phase_seen_ms if since_ms is None else since_ms
    held_ms = None if bound_ms is None else view.log_now_ms - bound_ms
    if held_ms is not None and held_ms <= limit_ms:
        return
    age = "since before Kraftgate first saw it"
    if held_ms is not None:
        age = f"for{' at least' if since_ms is None else ''} {counted_text(held_ms)}"
    yield rule.alert(
        view,
        description=words.format(cluster=view.cluster, age=age),
        since_ms=since_ms,
        bound_ms=None if since_ms is not None else bound_ms,
        for_ms=limit_ms if held_ms is None else None,
    )


def _too_long(
    name: str, severity: Severity, summary: str, phase: Phase, limit_ms: int, words: str
) -> Rule:
    """Return the rule about a phase that lasts longer; `words`: as for `_lasting`."""

    def find(rule: Rule, view: View) -> Iterator[Alert]:
        if view.summary.known_phase is phase and is_log_current(view):
            yield from _lasting(rule, view, view.phase_began_ms, limit_ms, words)

    return Rule(
        name=name,
        severity=severity,
        summary=summary,
        find=find,
        is_resolved=lambda view, _: _is_over(view, phase),
    )


def _is_over(view: View, phase: Phase, *, is_dated: bool = False) -> bool:
    """Return whether an alert that a phase lasts is over.

    A new store may not know when the phase began; then the alert may still be due. `is_dated`: its
    time counts from something else, which is known.
    """
    is_dated |= view.summary.phase is not phase or view.phase_began_ms is not None
    return log_decides(view) and is_dated


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
        is_resolved=lambda view, _: _is_over(
            view, Phase.PRE_MIGRATION, is_dated=bool(_registered_ms(view))
        ),
    ),
    _too_long(
        "KraftgateCopyTooLong",
        Severity.CRITICAL,
        "The copy from ZooKeeper does not end, and no controller elects leaders meanwhile.",
        Phase.COPYING,
        COPY_MS,
        "{cluster} has been copying its metadata from ZooKeeper {age}. Until the copy ends,"
        " no controller elects leaders: a broker that stops makes partitions unavailable.",
    ),
    _too_long(
        "KraftgateHybridTooLong",
        Severity.WARNING,
        "Brokers have been in migration mode for too long after the copy.",
        Phase.HYBRID,
        HYBRID_MS,
        "{cluster} has been hybrid {age}. Every broker in migration mode halts when one of"
        " its log directories fails.",
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
