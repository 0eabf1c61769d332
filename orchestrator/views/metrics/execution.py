"""The metrics of the execution: its checkpoint, and whether it needs an operator's decision."""

from typing import Final

from migration.assessment.conditions import Verdict
from orchestrator.run.execution_status import WalkTold
from orchestrator.views.metrics.exposition import Exposition, Subject

WALK: Final = Subject("kraftgate", "cluster")

_CHECKPOINT: Final = WALK.gauge(
    "checkpoint", "1 for the current checkpoint of the execution.", "checkpoint", "stage"
)
_ENTERED: Final = WALK.gauge(
    "checkpoint_entered_timestamp_seconds",
    "When the execution entered the checkpoint.",
    "checkpoint",
)
_CONDITIONS: Final = WALK.gauge(
    "checkpoint_conditions",
    "Conditions of the checkpoint's guards or gate, by verdict.",
    "checkpoint",
    "verdict",
)
_VERDICTS: Final = (Verdict.SATISFIED, Verdict.WAITING, Verdict.VIOLATED, Verdict.UNKNOWN)
_ASKS: Final = WALK.gauge(
    "step_needs_decision",
    "Whether an operator must decide about the checkpoint's step.",
    "checkpoint",
)
_PAUSED: Final = WALK.gauge("walk_paused", "Whether an operator paused the execution.")
_EXECUTES: Final = WALK.gauge("walk_executes", "Whether hooks perform the steps.")
_TOLD: Final = WALK.gauge(
    "walk_told_timestamp_seconds", "When the execution last reported its state."
)


def tell_walk(into: Exposition, cluster: str, walk: WalkTold) -> None:
    """Add the state of the execution; the checkpoint's only while it is at a checkpoint."""
    into.value(_PAUSED, walk.paused is not None, cluster)
    into.value(_EXECUTES, walk.execute, cluster)
    into.time(_TOLD, walk.at_ms, cluster)
    if walk.checkpoint is None:
        return
    at = (cluster, walk.checkpoint)
    into.value(_CHECKPOINT, 1, *at, walk.stage or "")
    entered = next((each.entered_ms for each in walk.places if each.id == walk.checkpoint), None)
    into.time(_ENTERED, entered, *at)
    verdicts = [each.verdict for each in walk.findings]
    for verdict in _VERDICTS:
        into.value(_CONDITIONS, verdicts.count(verdict), *at, verdict)
    into.value(_ASKS, walk.asks is not None, *at)
