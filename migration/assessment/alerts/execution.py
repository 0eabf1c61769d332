"""The walk through the runbook: the rules' group `kraftgate-walk`."""

from collections.abc import Iterator, Mapping
from typing import Final

from migration.assessment.alerts.alert import Found, Rule, Severity
from migration.assessment.alerts.scene import Scene

_SECONDS_MS: Final = 1000


def _asks(scene: Scene) -> Iterator[Found]:
    walk = scene.walk
    if walk is None or walk.checkpoint is None or walk.asks is None:
        return
    yield Found(
        labels={"checkpoint": walk.checkpoint},
        description=(
            f"The migration of {scene.cluster} stands at {walk.checkpoint} until a person says"
            " whether its step is done or is to be repeated."
        ),
        details=(walk.asks,),
    )


def _violated(scene: Scene) -> Iterator[Found]:
    walk = scene.walk
    if walk is None or walk.checkpoint is None or not walk.violated:
        return
    yield Found(
        labels={"checkpoint": walk.checkpoint, "verdict": "violated"},
        description=(
            f"{len(walk.violated)} of the conditions of {walk.checkpoint} in {scene.cluster} will"
            " not come to hold by themselves."
        ),
        details=walk.violated,
    )


def _is_over(scene: Scene, labels: Mapping[str, str]) -> bool:  # noqa: ARG001
    return scene.walk_is_current


RULES: Final = (
    Rule(
        name="KraftgateStepNeedsDecision",
        severity=Severity.CRITICAL,
        for_ms=30 * _SECONDS_MS,
        summary="A step of the runbook failed, or nobody knows how it ended.",
        find=_asks,
        is_over=_is_over,
    ),
    Rule(
        name="KraftgateCheckpointViolated",
        severity=Severity.WARNING,
        for_ms=120 * _SECONDS_MS,
        summary="A checkpoint of the runbook will not open without a person.",
        find=_violated,
        is_over=_is_over,
    ),
)
