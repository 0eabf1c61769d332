"""Decides about a step that failed, is shown, had no effect, or whose outcome is unknown."""

from collections.abc import Mapping
from typing import Final

from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Decision
from orchestrator.audit.execution.state import CheckpointState, ExecutionState, Stage
from orchestrator.errors import ExecutionError
from orchestrator.execution.operator.request import (
    OperatorRequest,
    RequestContext,
    open_request,
    runbook_of,
)
from orchestrator.execution.route import checkpoint_of
from orchestrator.runbook.hooks_file import load_hooks
from orchestrator.runbook.loaded import Loaded


def decide(request: OperatorRequest, checkpoint: str, decision: Decision) -> None:
    """Record an operator's decision about a step.

    Raises:
        ExecutionError: the step does not ask for this decision, or cannot be executed.
        RunbookError: the runbook or the file of hooks cannot be used.
    """
    with open_request(request) as at:
        execution, state = at.current(checkpoint)
        if decision not in _DECISIONS.get(state.stage, ()):
            raise ExecutionError(f"{state.id} asks for no decision {_asks_for(state)}")
        if decision == "done" and state.awaited is not None:
            raise ExecutionError(
                f"{state.id} needs no decision: its gate shows when its step is done; now:"
                f" {state.awaited.reason}"
            )
        loaded = runbook_of(at, execution)
        if decision == "execute":
            _must_have_hook(at, execution, state, loaded)
        if decision == "repeat":
            at.require_no_hook(state, although_done=True)
        if decision in ("execute", "repeat"):
            _must_have_the_same_hooks(at, execution, loaded)
        body = entries.StepDecided(
            checkpoint=state.id, decision=decision, by=at.by, reason=request.reason
        )
        at.record(body, f"the step of {state.id}: {decision}; {_AFTER[decision]}")


def done(request: OperatorRequest, checkpoint: str | None) -> None:
    """Record that the step that an operator performs is done; None: of the current checkpoint.

    Raises:
        ExecutionError: no step is shown for an operator.
    """
    with open_request(request) as at:
        state = at.current(checkpoint)[1]
        if state.stage is not Stage.SHOWN:
            raise ExecutionError(
                f"{state.id} shows no step to an operator: it is {state.stage}. For a failed"
                " step, use `kraftgate decide`"
            )
    decide(request, state.id, "done")


_DECISIONS: Final[Mapping[Stage, tuple[Decision, ...]]] = {
    Stage.ASKS: ("done", "repeat"),
    Stage.SHOWN: ("done", "execute"),
    Stage.STEP_DONE: ("repeat",),
}
_PASSES_OR: Final = (
    "it passes if its gate holds; otherwise its guards and its approval are checked again"
)
_AFTER: Final[Mapping[Decision, str]] = {
    "done": "its gate is waited for",
    "repeat": f"{_PASSES_OR} before it is begun",
    "execute": f"{_PASSES_OR} before its hook is started",
}


def _asks_for(state: CheckpointState) -> str:
    able = _DECISIONS.get(state.stage, ())
    others = f"; it takes {' or '.join(f'--{each}' for each in able)}" if able else ""
    return f"of this kind: it is {state.stage}{others}"


def _must_have_hook(
    at: RequestContext, execution: ExecutionState, state: CheckpointState, loaded: Loaded
) -> None:
    """Raise an error unless the orchestrator runs hooks and the step has one."""
    if not execution.execute:
        raise ExecutionError(
            "kraftgate run was started without --execute, so every step is done by hand: end it and"
            " start kraftgate run --execute first"
        )
    step = checkpoint_of(loaded.runbook, execution.path, state.id).step
    file = None if at.entry.runbook is None else at.entry.runbook.hooks
    if step is None or file is None or load_hooks(file, loaded.runbook).command(step.name) is None:
        name = state.id if step is None else step.name
        raise ExecutionError(f"{file or 'the configuration'} has no hook for {name}: do it by hand")


def _must_have_the_same_hooks(
    at: RequestContext, execution: ExecutionState, loaded: Loaded
) -> None:
    """Raise an error if the orchestrator would run the command of an older file of hooks."""
    if execution.hooks_sha256 is None or at.entry.runbook is None:
        return
    file = at.entry.runbook.hooks
    if file is None or load_hooks(file, loaded.runbook).sha256 != execution.hooks_sha256:
        raise ExecutionError(
            f"{file or '`runbook.hooks`'} was changed since kraftgate run started: end it and start"
            " it again first"
        )


def ended(request: OperatorRequest, checkpoint: str) -> None:
    """Record that the hook of a step that another orchestrator began has ended.

    Raises:
        ExecutionError: no such step is pending.
    """
    with open_request(request) as at:
        step = at.execution().elsewhere
        if step is None:
            raise ExecutionError("no step of another orchestrator is pending: see kraftgate status")
        if step.checkpoint != checkpoint:
            raise ExecutionError(f"the pending step is {step.words()}, not {checkpoint}")
        at.record(
            entries.StepElsewhereEnded(step=step, by=at.by, reason=request.reason),
            f"the step of {checkpoint} that began on {step.host} has ended; steps begin again",
        )
