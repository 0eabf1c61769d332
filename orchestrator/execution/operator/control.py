"""Controls an execution: begin, pause, resume, skip, roll back, abort.

Each function appends one entry to the audit trail; the orchestrator (`kraftgate run`) reads it at
its next tick. None of them changes the cluster.
"""

from orchestrator.audit.execution import entries
from orchestrator.audit.execution.state import ExecutionState, Stage
from orchestrator.errors import WalkError
from orchestrator.execution.operator.request import Said, opened, runbook_of
from orchestrator.execution.route import checkpoint_of, step_begun
from orchestrator.runbook.model import NO_ROLLBACK, Runbook


def pause(said: Said) -> None:
    """Prevent further steps from beginning; a running step continues."""
    with opened(said) as at:
        walk = at.walk()
        if walk.paused is not None:
            raise WalkError(f"it is paused already, by {walk.paused.by.who}")
        at.tell(entries.Paused(by=at.by, reason=said.reason), "paused: no further step is begun")


def resume(said: Said) -> None:
    """Let steps begin again."""
    with opened(said) as at:
        if at.walk().paused is None:
            raise WalkError("it is not paused")
        at.tell(entries.Resumed(by=at.by, reason=said.reason), "resumed")


def abort(said: Said) -> None:
    """End the execution at its current checkpoint; completed steps are not undone."""
    with opened(said) as at:
        at.walk()
        at.tell(entries.Aborted(by=at.by, reason=said.reason), "aborted; nothing was taken back")


def skip(said: Said, checkpoint: str) -> None:
    """Continue without the current checkpoint.

    Raises:
        WalkError: another checkpoint is current, it cannot be skipped, or its hook runs.
    """
    with opened(said) as at:
        walk, place = at.current(checkpoint)
        runbook = runbook_of(at.entry, walk).runbook
        if checkpoint_of(runbook, walk.path, place.id).irreversible:
            raise WalkError(f"{place.id} is irreversible: it is never skipped")
        if place.stage is Stage.RUNNING:
            raise WalkError(f"the hook of {place.id} runs: wait for its end")
        body = entries.CheckpointSkipped(checkpoint=place.id, by=at.by, reason=said.reason)
        at.tell(body, f"{place.id} skipped: neither its step nor its gate was waited for")


def rollback(said: Said) -> None:
    """Start the rollback that the current checkpoint names.

    Raises:
        WalkError: there is none.
    """
    with opened(said) as at:
        walk, place = at.current(None)
        if walk.path is not None:
            raise WalkError(f"it is on a way back already: {walk.path}")
        if place.stage is Stage.RUNNING:
            raise WalkError(f"the hook of {place.id} runs: wait for its end")
        loaded = runbook_of(at.entry, walk)
        path = way_back(loaded.runbook, walk, place.id)
        at.tell(
            entries.RollbackBegan(path=path, at=place.id, by=at.by, reason=said.reason),
            f"rolling back from {place.id} by {path}: kraftgate runbook show has its steps",
        )


def way_back(runbook: Runbook, walk: ExecutionState, id_: str) -> str:
    """Return the path that rolls back from a checkpoint.

    Raises:
        WalkError: there is none; the message has the runbook's reason.
    """
    name = id_.partition("[")[0]
    at = next(each for each in runbook.checkpoints if each.id == name)
    if at.rollback == NO_ROLLBACK:
        raise WalkError(f"no way back leads from {at.id}: {at.rollback_reason}")
    if at.rollback is None or (at.irreversible and step_begun(walk, at.id)):
        raise WalkError(f"no way back leads from {at.id}: what was begun cannot be taken back")
    return at.rollback


def begin(said: Said) -> None:
    """Begin an execution at the runbook's first checkpoint; gates that already hold open at once.

    Raises:
        WalkError: an execution has not ended.
    """
    with opened(said) as at:
        walk = at.trail.state()
        if walk is not None and walk.outcome is None:
            raise WalkError(f"a walk goes on at {at.entry.name}: abort it first, or let it end")
        loaded = runbook_of(at.entry, None)
        body = entries.ExecutionBegan(
            runbook=loaded.runbook.name, sha256=loaded.sha256, by=at.by, reason=said.reason
        )
        at.tell(body, f"a new walk through {loaded.runbook.name} begins")
