"""All rules, those on the execution of a runbook among them, and `alerts`, which applies them."""

from collections.abc import Iterator, Mapping
from typing import Final

from migration.assessment.alerts import brokers, directories, phases, sources
from migration.assessment.alerts.alert import Alert, Rule, Severity
from migration.assessment.alerts.scene import Scene

_SECONDS_MS: Final = 1000


def _asks(rule: Rule, scene: Scene) -> Iterator[Alert]:
    walk = scene.walk
    if walk is None or walk.checkpoint is None or walk.asks is None:
        return
    yield rule.alert(
        scene,
        f"The migration of {scene.cluster} stands at {walk.checkpoint} until a person says"
        " whether its step is done or is to be repeated.",
        labels={"checkpoint": walk.checkpoint},
        details=(walk.asks,),
    )


def _violated(rule: Rule, scene: Scene) -> Iterator[Alert]:
    walk = scene.walk
    if walk is None or walk.checkpoint is None or not walk.violated:
        return
    yield rule.alert(
        scene,
        f"{len(walk.violated)} of the conditions of {walk.checkpoint} in {scene.cluster} will"
        " not come to hold by themselves.",
        labels={"checkpoint": walk.checkpoint, "verdict": "violated"},
        details=walk.violated,
    )


def _is_resolved(scene: Scene, labels: Mapping[str, str]) -> bool:  # noqa: ARG001
    return scene.walk_is_current


_EXECUTION: Final = (
    Rule(
        name="KraftgateStepNeedsDecision",
        severity=Severity.CRITICAL,
        for_ms=30 * _SECONDS_MS,
        summary="A step of the runbook failed, or nobody knows how it ended.",
        find=_asks,
        is_resolved=_is_resolved,
    ),
    Rule(
        name="KraftgateCheckpointViolated",
        severity=Severity.WARNING,
        for_ms=120 * _SECONDS_MS,
        summary="A checkpoint of the runbook will not open without a person.",
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


def alerts(scene: Scene) -> tuple[Alert, ...]:
    """The alerts whose condition holds now, in the order of the rules. Pure."""
    return tuple(alert for rule in RULES for alert in rule.find(rule, scene))
