"""All rules of alerts, and the lifecycle of alerts from tick to tick: pending, active, resolved.

An alert is pending while its condition holds, and active once it has held at every tick for the
rule's time. It is resolved when current data shows that the condition does not hold. Until then it
stays active, marked as unknown.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from migration.assessment.alerts import brokers, directories, phases, sources
from migration.assessment.alerts.alert import Alert, Rule
from migration.assessment.conditions import STEP_NEEDS_DECISION, View
from migration.assessment.finding import Verdict
from migration.values.severity import Severity
from migration.values.timestamps import is_unbroken

_SECONDS_MS: Final = 1000


def _asks(rule: Rule, view: View) -> Iterator[Alert]:
    execution = view.execution
    if execution is None or execution.asks is None:
        return
    if execution.checkpoint is None and execution.outcome is not None and not execution.turn:
        return
    yield rule.alert(
        view,
        f"The migration of {view.cluster} waits at {execution.whereabouts} until an operator"
        " decides how it continues.",
        labels={"checkpoint": execution.checkpoint or "unknown"},
        details=(execution.asks,),
    )


def _violated(rule: Rule, view: View) -> Iterator[Alert]:
    execution = view.execution
    if execution is None or execution.checkpoint is None or not execution.violated:
        return
    yield rule.alert(
        view,
        f"Conditions of {execution.whereabouts} in {view.cluster} do not come to hold without an"
        " operator.",
        labels={"checkpoint": execution.checkpoint, "verdict": "violated"},
        details=execution.violated,
    )


def _is_resolved(view: View, labels: Mapping[str, str]) -> bool:  # noqa: ARG001
    """Return whether a recent record shows the checkpoint or the outcome; True: no execution.

    If an execution has not ended and has no checkpoint (its runbook was changed, or a hook of an
    aborted execution still runs), it is unknown whether its step still needs a decision.
    """
    execution = view.execution
    if execution is None:
        return True
    is_somewhere = execution.checkpoint is not None or execution.outcome is not None
    return is_somewhere and execution.is_recent(view.now_ms)


def _is_judged(view: View, labels: Mapping[str, str]) -> bool:
    """Return whether each condition of the alert's checkpoint is known, while it is current."""
    execution = view.execution
    is_current = execution is not None and execution.checkpoint == labels.get("checkpoint")
    findings = execution.findings if execution is not None and is_current else ()
    return _is_resolved(view, labels) and all(
        each.verdict is not Verdict.UNKNOWN for each in findings
    )


_EXECUTION: Final = (
    Rule(
        name=STEP_NEEDS_DECISION,
        severity=Severity.CRITICAL,
        for_ms=30 * _SECONDS_MS,
        summary="A step of the runbook failed, or does not continue without an operator.",
        find=_asks,
        is_resolved=_is_resolved,
    ),
    Rule(
        name="KraftgateCheckpointViolated",
        severity=Severity.WARNING,
        for_ms=120 * _SECONDS_MS,
        summary="A checkpoint of the runbook does not open without an operator.",
        find=_violated,
        is_resolved=_is_judged,
    ),
)

RULES: Final = (
    *brokers.RULES,
    *directories.RULES,
    *phases.RULES,
    *_EXECUTION,
    *sources.RULES,
)


def alerts(view: View) -> tuple[Alert, ...]:
    """Return the alerts whose condition holds now, in the order of the rules. Pure."""
    return tuple(alert for rule in RULES for alert in rule.find(rule, view))


_RANK: Final = {(rule.name, rule.severity): rank for rank, rule in enumerate(RULES)}
GAP_MS_MAX: Final = 60_000
"""After a longer gap between two ticks it is unknown whether a pending condition held
throughout."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertState:
    """One alert at one tick.

    Attributes:
        found_ms: since when its condition has held at every tick.
        active_since_ms: since when it is active; None: it is pending.
        is_known: whether its condition held at this tick; False: stale data may hide that it is
            resolved.
        held_ms: when its condition last held; None: unknown, an earlier process recorded it.
    """

    alert: Alert
    found_ms: int
    active_since_ms: int | None
    is_known: bool = True
    held_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertStates:
    """All alerts of one cluster at one tick, by fingerprint.

    Attributes:
        at_ms: time of the tick; None: there was none.
    """

    at_ms: int | None = None
    all: Mapping[str, AlertState] = field(default_factory=dict)

    def active(self) -> tuple[AlertState, ...]:
        """Return the active alerts, the critical ones first, then in the order of the rules."""
        return self._ranked(lambda each: each.active_since_ms is not None)

    def pending(self) -> tuple[AlertState, ...]:
        """Return the pending alerts, in the same order."""
        return self._ranked(lambda each: each.active_since_ms is None)

    def _ranked(self, wanted: Callable[[AlertState], bool]) -> tuple[AlertState, ...]:
        return tuple(sorted(filter(wanted, self.all.values()), key=_rank))


NO_ALERTS: Final = AlertStates()


def advance(before: AlertStates, view: View) -> AlertStates:
    now_ms = view.now_ms
    missed = before.at_ms is None or not is_unbroken(before.at_ms, now_ms, GAP_MS_MAX)
    after: dict[str, AlertState] = {}
    for alert in alerts(view):
        was = before.all.get(alert.fingerprint)
        if was is None or (was.active_since_ms is None and missed):
            was = AlertState(alert=alert, found_ms=now_ms, active_since_ms=None)
        active_since_ms = was.active_since_ms
        if active_since_ms is None and now_ms - was.found_ms >= alert.for_ms:
            active_since_ms = now_ms
        after[alert.fingerprint] = replace(
            was, alert=alert, active_since_ms=active_since_ms, is_known=True, held_ms=now_ms
        )
    after |= _left(before, after, view)
    return AlertStates(at_ms=now_ms, all=after)


def _left(
    before: AlertStates, found: Mapping[str, AlertState], view: View
) -> Mapping[str, AlertState]:
    """Return the active alerts whose condition does not hold but may not be resolved."""
    return {
        fingerprint: replace(was, is_known=False)
        for fingerprint, was in before.all.items()
        if fingerprint not in found
        and was.active_since_ms is not None
        and not _is_over(was, was.active_since_ms if was.held_ms is None else was.held_ms, view)
    }


def _is_over(was: AlertState, held_ms: int, view: View) -> bool:
    return all(rule.is_over(view, was.alert.labels, held_ms) for rule in _rules_of(was.alert))


def _rules_of(alert: Alert) -> Iterator[Rule]:
    """Yield the rule that raised the alert; nothing if only an earlier version has that rule."""
    return (each for each in RULES if each.name == alert.name and each.severity is alert.severity)


def _rank(state: AlertState) -> tuple[bool, int, str]:
    alert = state.alert
    at = _RANK.get((alert.name, alert.severity), len(_RANK))
    return alert.severity is not Severity.CRITICAL, at, alert.fingerprint
