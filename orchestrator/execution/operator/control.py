"""Controls an execution: begin, pause, resume, skip, roll back, abort.

Each function appends one entry to the audit trail; the orchestrator (`kraftgate run`) reads it at
its next tick. None of them changes the cluster.
"""

from typing import Final

from migration.assessment.conditions import View
from migration.assessment.conditions.authority import is_log_past
from migration.image.summary import WITHOUT_ZOOKEEPER, Phase
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.state import ExecutionState, Stage
from orchestrator.errors import ExecutionError, NoDataError
from orchestrator.execution.operator.request import OperatorRequest, open_request, runbook_of
from orchestrator.execution.route import (
    checkpoint_of,
    done_without_step,
    members_not_known,
    step_begun,
    was_begun,
)
from orchestrator.runbook.checks.phases import need_zookeeper, passable_path
from orchestrator.runbook.model import NO_ROLLBACK, Runbook

_SHOWN: Final = (
    ". If the step that was shown has not been begun, end this execution (kraftgate abort), begin"
    " another one (kraftgate begin), skip its checkpoints up to the last one with a rollback"
    " (kraftgate skip), and repeat `kraftgate rollback`"
)


def pause(request: OperatorRequest) -> None:
    """Prevent further steps from beginning; a running step continues."""
    with open_request(request) as at:
        execution = at.execution()
        if execution.paused is not None:
            raise ExecutionError(f"it is paused already, by {execution.paused.by.who}")
        at.record(
            entries.Paused(by=at.by, reason=request.reason), "paused: no further step is begun"
        )


def resume(request: OperatorRequest) -> None:
    """Let steps begin again."""
    with open_request(request) as at:
        if at.execution().paused is None:
            raise ExecutionError("it is not paused")
        at.record(entries.Resumed(by=at.by, reason=request.reason), "resumed")


def abort(request: OperatorRequest) -> None:
    """End the execution at its current checkpoint; completed steps are not undone."""
    with open_request(request) as at:
        state = at.execution().current
        goes_on = ""
        if state is not None and at.hook_runs(state):
            goes_on = f"; the hook of {state.id} goes on, and may still change the cluster"
        at.record(
            entries.Aborted(by=at.by, reason=request.reason),
            f"aborted; nothing was undone{goes_on}",
        )


def skip(request: OperatorRequest, checkpoint: str) -> None:
    """Continue without the current checkpoint.

    Raises:
        ExecutionError: another checkpoint is current, it cannot be skipped, or its hook runs.
    """
    with open_request(request) as at:
        execution, state = at.current(checkpoint)
        runbook = runbook_of(at, execution).runbook
        if checkpoint_of(runbook, execution.path, state.id).irreversible:
            raise ExecutionError(f"{state.id} is irreversible: it is never skipped")
        at.require_no_hook(state)
        body = entries.CheckpointSkipped(checkpoint=state.id, by=at.by, reason=request.reason)
        at.record(body, f"{state.id} skipped: neither its step nor its gate was waited for")


def rollback(request: OperatorRequest, checkpoint: str | None = None) -> None:
    """Start the rollback that the current checkpoint names; `checkpoint`: which one that must be.

    Raises:
        ExecutionError: there is none, or another checkpoint is current.
        NoDataError: it is unknown whether there still is one.
    """
    with open_request(request) as at:
        execution, state = at.current(checkpoint)
        if execution.path is not None:
            raise ExecutionError(f"a rollback is already being executed: {execution.path}")
        at.require_no_hook(state)
        loaded = runbook_of(at, execution)
        path = rollback_of(loaded.runbook, execution, state.id, at.view())
        at.record(
            entries.RollbackBegan(path=path, at=state.id, by=at.by, reason=request.reason),
            f"rolling back from {state.id} by {path}, whose steps are in {loaded.path}"
            f"{_paused(execution)}",
        )


def rollback_of(runbook: Runbook, execution: ExecutionState, id_: str, view: View) -> str:
    """Return the path that rolls back from a checkpoint.

    An irreversible step may have been done by another client, also for another instance.

    Raises:
        ExecutionError: there is none; the message has the runbook's reason.
        NoDataError: the data that would show such a step is stale.
    """
    name = id_.partition("[")[0]
    at = next(each for each in runbook.checkpoints if each.id == name)
    if at.rollback == NO_ROLLBACK:
        begun = any(was_begun(each) for each in execution.checkpoints.values())
        earlier = "" if begun else _earlier(view)
        reason = str(at.rollback_reason).removesuffix(".")
        raise ExecutionError(f"cannot roll back from {at.id}: {reason}{earlier}")
    if at.rollback is None or (at.irreversible and step_begun(execution, at.id)):
        shown = execution.checkpoint(id_).stage is Stage.SHOWN
        raise ExecutionError(
            f"cannot roll back from {at.id}: what was begun cannot be undone"
            f"{_SHOWN if shown else ''}"
        )
    phase = view.summary.phase
    path = passable_path(runbook, at.rollback, phase)
    needs_zookeeper = need_zookeeper(runbook.rollback_path(path))
    if phase in WITHOUT_ZOOKEEPER and needs_zookeeper:
        raise ExecutionError(
            f"cannot roll back from {at.id}: the phase is {phase}, which cannot be undone"
        )
    ends = view.summary.ends_migration
    if needs_zookeeper and ends:
        raise ExecutionError(
            f"cannot roll back from {at.id}: controller {ends[0]} was restarted without the"
            " migration enabled, and finalizes the migration if it leads the quorum: restart it in"
            " migration mode, then repeat `kraftgate rollback`"
        )
    if at.irreversible and at.already:
        if (stale := members_not_known(at.for_each, view)) is not None:
            raise NoDataError(
                f"cannot roll back from {at.id}: whether its step was done is unknown:"
                f" {stale.reason}"
            )
        if (done := done_without_step(at, runbook, view)) is not None:
            raise ExecutionError(
                f"cannot roll back from {at.id}: {done}, and that cannot be undone"
            )
    return path


def begin(request: OperatorRequest) -> None:
    """Begin an execution at the runbook's first checkpoint; gates that already hold open at once.

    Raises:
        ExecutionError: an execution has not ended.
    """
    with open_request(request, begins=True) as at:
        execution = at.trail.state()
        if execution is not None and execution.outcome is None:
            raise ExecutionError(
                f"an execution of {at.entry.name} has not ended: abort it first (kraftgate abort)"
            )
        loaded = runbook_of(at, None)
        body = entries.ExecutionBegan(
            runbook=loaded.runbook.name, sha256=loaded.sha256, by=at.by, reason=request.reason
        )
        earlier = _earlier(at.view())
        began = f"a new execution of {loaded.runbook.name} begins"
        at.record(body, f"{began}{_paused(execution)}{earlier}")


def _earlier(view: View) -> str:
    """Return what to add to a message about an execution that has not begun the migration."""
    phase = view.summary.phase
    begun = (Phase.PRE_MIGRATION, Phase.COPYING, Phase.HYBRID, Phase.DUAL_WRITE)
    if is_log_past(view) or phase not in begun:
        return ""
    return (
        f"; the phase is {phase}: skip each checkpoint that the migration has passed"
        " (kraftgate skip): its gate may not open again"
    )


def _paused(execution: ExecutionState | None) -> str:
    """Return what to add to the message of a rollback or a new execution, which ends no pause."""
    if execution is None or execution.paused is None:
        return ""
    return f"; {execution.paused.by.who} paused it: no step begins before kraftgate resume"
