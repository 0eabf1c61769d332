"""Decides about a step that failed, is shown, had no effect, or whose outcome is unknown."""

from collections.abc import Mapping
from typing import Final

from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Decision
from orchestrator.audit.execution.state import Stage
from orchestrator.errors import ExecutionError
from orchestrator.execution.operator.request import OperatorRequest, open_request


def decide(request: OperatorRequest, checkpoint: str, decision: Decision) -> None:
    """Record an operator's decision about a step.

    Raises:
        ExecutionError: the step does not ask for this decision, or cannot be executed.
        RunbookError: the runbook or the file of hooks cannot be used.
    """
    with open_request(request) as at:
        id_ = at.place(decision, checkpoint).state.id
        body = entries.StepDecided(
            checkpoint=id_, decision=decision, by=at.by, reason=request.reason
        )
        at.record(body, f"the step of {id_}: {decision}; {_AFTER[decision]}")


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


_PASSES_OR: Final = (
    "it passes if its gate holds; otherwise its guards and its approval are checked again"
)
_AFTER: Final[Mapping[Decision, str]] = {
    "done": "its gate is waited for",
    "repeat": f"{_PASSES_OR} before it is begun",
    "execute": f"{_PASSES_OR} before its hook is started",
}


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
