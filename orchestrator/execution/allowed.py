"""Which actions an execution allows an operator now; the console offers these."""

from collections.abc import Iterator
from typing import Literal, TypeAlias

from migration.assessment.conditions import View
from orchestrator.audit.execution.state import ExecutionState, Stage
from orchestrator.errors import ExecutionError, NoDataError
from orchestrator.execution.operator.control import rollback_of
from orchestrator.execution.route import CheckpointInstance, approvals_needed
from orchestrator.runbook.model import Runbook

Action: TypeAlias = Literal[
    "approve", "done", "repeat", "execute", "pause", "resume", "skip", "rollback", "abort", "begin"
]


def allowed(
    execution: ExecutionState,
    runbook: Runbook,
    instance: CheckpointInstance | None,
    view: View | None,
    *,
    has_hook: bool,
) -> Iterator[Action]:
    """Yield the actions, the most likely first.

    Args:
        execution: its state.
        runbook: that it executes.
        instance: the current checkpoint; None: there is none.
        view: what is known of the cluster; None: no checkpoint is current.
        has_hook: whether a hook could perform the step that is shown.
    """
    if execution.outcome is not None:
        yield "begin"
        return
    if instance is not None and view is not None:
        yield from _at(execution, runbook, instance, view, has_hook=has_hook)
    yield "pause" if execution.paused is None else "resume"
    yield "abort"


def _at(
    execution: ExecutionState,
    runbook: Runbook,
    instance: CheckpointInstance,
    view: View,
    *,
    has_hook: bool,
) -> Iterator[Action]:
    state = execution.checkpoint(instance.id)
    if approvals_needed(execution, instance) > len(state.approvals):
        yield "approve"
    if state.stage is Stage.ASKS:
        yield from ("repeat", "done")
    if state.stage is Stage.STEP_DONE:
        yield "repeat"
    if state.stage is Stage.SHOWN:
        if state.awaited is None:
            yield "done"
        if has_hook and execution.execute:
            yield "execute"
    if state.stage is Stage.RUNNING:
        return
    if not instance.checkpoint.irreversible:
        yield "skip"
    if execution.path is None and _has_rollback(runbook, execution, instance.id, view):
        yield "rollback"


def _has_rollback(runbook: Runbook, execution: ExecutionState, id_: str, view: View) -> bool:
    try:
        rollback_of(runbook, execution, id_, view)
    except (ExecutionError, NoDataError):
        return False
    return True
