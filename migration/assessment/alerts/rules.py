"""All rules, including those on the execution of a runbook, and `alerts`, which applies them."""

from collections.abc import Iterator, Mapping
from typing import Final

from migration.assessment.alerts import brokers, directories, phases, sources
from migration.assessment.alerts.alert import Alert, AlertFacts, Rule
from migration.values.severity import Severity

_SECONDS_MS: Final = 1000


def _asks(rule: Rule, facts: AlertFacts) -> Iterator[Alert]:
    execution = facts.execution
    if execution is None or execution.checkpoint is None or execution.asks is None:
        return
    yield rule.alert(
        facts,
        f"The migration of {facts.cluster} waits at {execution.checkpoint} until an operator"
        " decides whether its step is done or is repeated.",
        labels={"checkpoint": execution.checkpoint},
        details=(execution.asks,),
    )


def _violated(rule: Rule, facts: AlertFacts) -> Iterator[Alert]:
    execution = facts.execution
    if execution is None or execution.checkpoint is None or not execution.violated:
        return
    yield rule.alert(
        facts,
        f"Conditions of {execution.checkpoint} in {facts.cluster} do not come to hold without an"
        " operator.",
        labels={"checkpoint": execution.checkpoint, "verdict": "violated"},
        details=execution.violated,
    )


def _is_resolved(facts: AlertFacts, labels: Mapping[str, str]) -> bool:  # noqa: ARG001
    return facts.execution_is_current


_EXECUTION: Final = (
    Rule(
        name="KraftgateStepNeedsDecision",
        severity=Severity.CRITICAL,
        for_ms=30 * _SECONDS_MS,
        summary="A step of the runbook failed, or its result is unknown.",
        find=_asks,
        is_resolved=_is_resolved,
    ),
    Rule(
        name="KraftgateCheckpointViolated",
        severity=Severity.WARNING,
        for_ms=120 * _SECONDS_MS,
        summary="A checkpoint of the runbook does not open without an operator.",
        find=_violated,
        is_resolved=_is_resolved,
    ),
)

RULES: Final = (
    *brokers.RULES,
    *directories.RULES,
    *phases.RULES,
    *_EXECUTION,
    *sources.RULES,
)


def alerts(facts: AlertFacts) -> tuple[Alert, ...]:
    """Return the alerts whose condition holds now, in the order of the rules. Pure."""
    return tuple(alert for rule in RULES for alert in rule.find(rule, facts))
