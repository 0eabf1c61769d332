"""Decides about a step that failed, has an unknown outcome, or is shown to be done by hand."""

from collections.abc import Mapping
from typing import Final

from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Decision
from orchestrator.audit.execution.state import CheckpointState, ExecutionState, Stage
from orchestrator.errors import WalkError
from orchestrator.execution.operator.request import Opened, Said, opened, runbook_of
from orchestrator.execution.route import checkpoint_of
from orchestrator.runbook.hooks_file import load_hooks


def decide(said: Said, checkpoint: str, decision: Decision) -> None:
    """Record an operator's decision about a step.

    Raises:
        WalkError: the step does not ask for this decision, or cannot be executed.
        RunbookError: the runbook or the file of hooks cannot be used.
    """
    with opened(said) as at:
        walk, place = at.current(checkpoint)
        if decision not in _DECISIONS.get(place.stage, ()):
            raise WalkError(f"{place.id} asks for no decision {_asks_for(place)}")
        if decision == "execute":
            _must_have_hook(at, walk, place)
        body = entries.StepDecided(
            checkpoint=place.id, decision=decision, by=at.by, reason=said.reason
        )
        at.tell(body, f"the step of {place.id}: {decision}; {_AFTER[decision]}")


_DECISIONS: Final[Mapping[Stage, tuple[Decision, ...]]] = {
    Stage.ASKS: ("done", "repeat"),
    Stage.SHOWN: ("done", "execute"),
}
_AFTER: Final[Mapping[Decision, str]] = {
    "done": "its gate is waited for",
    "repeat": "its guards and its approval are checked again before it is begun",
    "execute": "its guards and its approval are checked again before its hook is started",
}


def _asks_for(place: CheckpointState) -> str:
    able = _DECISIONS.get(place.stage, ())
    others = f"; it takes {' or '.join(f'--{each}' for each in able)}" if able else ""
    return f"of this kind: it is {place.stage}{others}"


def _must_have_hook(at: Opened, walk: ExecutionState, place: CheckpointState) -> None:
    """Raise an error unless the orchestrator runs hooks and the step has one."""
    if not walk.execute:
        raise WalkError(
            "kraftgate run was started without --execute, so every step is done by hand: end it and"
            " start kraftgate run --execute first"
        )
    loaded = runbook_of(at.entry, walk)
    step = checkpoint_of(loaded.runbook, walk.path, place.id).step
    file = None if at.entry.runbook is None else at.entry.runbook.hooks
    if step is None or file is None or load_hooks(file, loaded.runbook).command(step.name) is None:
        name = place.id if step is None else step.name
        raise WalkError(f"{file or 'the configuration'} has no hook for {name}: do it by hand")


def ended(said: Said, checkpoint: str) -> None:
    """Record that the hook of a step that another orchestrator began has ended.

    Raises:
        WalkError: no such step is pending.
    """
    with opened(said) as at:
        step = at.walk().elsewhere
        if step is None:
            raise WalkError("no step of another orchestrator is waited for: see kraftgate status")
        if step.checkpoint != checkpoint:
            raise WalkError(f"the pending step is {step.words()}, not {checkpoint}")
        at.tell(
            entries.StepElsewhereEnded(step=step, by=at.by, reason=said.reason),
            f"the step of {checkpoint} that began on {step.host} has ended; steps begin again",
        )
