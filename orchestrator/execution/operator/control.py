"""Controls an execution: begin, pause, resume, skip, roll back, abort.

Each function appends one entry to the audit trail; the orchestrator (`kraftgate run`) reads it at
its next tick. None of them changes the cluster.
"""

from orchestrator.audit.execution import entries
from orchestrator.audit.execution.state import ExecutionState
from orchestrator.errors import ExecutionError, HookError
from orchestrator.execution.allowed import hook_runs, rollback_of, to_skip
from orchestrator.execution.operator.request import OperatorRequest, open_request, runbook_of
from orchestrator.hooks.runs import HookRuns


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
        try:
            if state is not None and hook_runs(state, HookRuns(at.config.state_dir)):
                goes_on = f"; the hook of {state.id} goes on, and may still change the cluster"
        except HookError as error:  # an abort is the last way out
            goes_on = f"; whether its hook still runs is unknown: {error}"
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
        id_ = at.place("skip", checkpoint).state.id
        body = entries.CheckpointSkipped(checkpoint=id_, by=at.by, reason=request.reason)
        at.record(body, f"{id_} skipped: neither its step nor its gate was waited for")


def rollback(request: OperatorRequest, checkpoint: str | None = None) -> None:
    """Start the rollback that the current checkpoint names; `checkpoint`: which one that must be.

    Raises:
        ExecutionError: there is none, or another checkpoint is current.
        NoDataError: it is unknown whether there still is one.
    """
    with open_request(request) as at:
        place = at.place("rollback", checkpoint)
        loaded, execution, id_ = place.loaded, place.execution, place.state.id
        path = rollback_of(loaded.runbook, execution, id_, place.view())
        at.record(
            entries.RollbackBegan(path=path, at=id_, by=at.by, reason=request.reason),
            f"rolling back from {id_} by {path}, whose steps are in {loaded.path}"
            f"{_paused(execution)}",
        )


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
        earlier = to_skip(at.view())
        began = f"a new execution of {loaded.runbook.name} begins"
        at.record(body, f"{began}{_paused(execution)}{earlier}")


def _paused(execution: ExecutionState | None) -> str:
    """Return what to add to the message of a rollback or a new execution, which ends no pause."""
    if execution is None or execution.paused is None:
        return ""
    return f"; {execution.paused.by.who} paused it: no step begins before kraftgate resume"
