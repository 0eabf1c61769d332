"""Which actions an execution allows an operator now, and why not the others.

The console offers these, messages name their commands, and the commands refuse the others.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from migration.assessment.conditions import View
from migration.assessment.conditions.authority import is_log_past
from migration.image.summary import WITHOUT_ZOOKEEPER, Phase
from orchestrator.audit.execution.state import CheckpointState, ExecutionState, Stage
from orchestrator.errors import ExecutionError, HookError, NoDataError
from orchestrator.execution.approvals import basis, changed
from orchestrator.execution.route import (
    CheckpointInstance,
    approvals_needed,
    checkpoint_of,
    done_without_step,
    is_covered,
    members_not_known,
    step_begun,
    was_begun,
    without_approval,
)
from orchestrator.hooks.runs import HookRuns
from orchestrator.runbook.checks.phases import need_zookeeper, passable_path
from orchestrator.runbook.loaded import Loaded, has_hash
from orchestrator.runbook.model import NO_ROLLBACK, Checkpoint, Runbook, Step

OfCheckpoint: TypeAlias = Literal["approve", "repeat", "done", "execute", "skip", "rollback"]
"""The actions that concern the current checkpoint, the most likely first."""
Action: TypeAlias = Literal[OfCheckpoint, "pause", "resume", "abort", "begin"]
_DECISIONS: Final[Mapping[Stage, tuple[OfCheckpoint, ...]]] = {
    Stage.ASKS: ("done", "repeat"),
    Stage.SHOWN: ("done", "execute"),
    Stage.STEP_DONE: ("repeat",),
}
_SHOWN: Final = (
    ". If the step that was shown has not been begun, end this execution (kraftgate abort), begin"
    " another one (kraftgate begin), skip its checkpoints up to the last one with a rollback"
    " (kraftgate skip), and repeat `kraftgate rollback`"
)


@dataclass(frozen=True, kw_only=True)
class Place:
    """The current checkpoint of an execution, and what decides about the actions there.

    Attributes:
        state: of the checkpoint.
        view: returns what is known of the cluster.
        runs: those of hooks in the state directory.
        hooks: the configured file of hooks.
        has_hook: returns whether a hook could perform a step.
    """

    execution: ExecutionState
    state: CheckpointState
    loaded: Loaded
    view: Callable[[], View]
    runs: HookRuns
    hooks: Path | None
    has_hook: Callable[[Step], bool]

    @property
    def checkpoint(self) -> Checkpoint:
        return checkpoint_of(self.loaded.runbook, self.execution.path, self.state.id)

    @cached_property
    def hook_runs(self) -> bool:
        """Whether the hook of the checkpoint, or processes that it left, run."""
        return hook_runs(self.state, self.runs)


def hook_runs(state: CheckpointState, runs: HookRuns) -> bool:
    """Return whether the hook of a checkpoint, or processes that it left, run.

    Raises:
        HookError: its files cannot be read.
    """
    return state.stage is Stage.RUNNING or (
        state.outcome_unknown and state.run is not None and runs.runs(state.run)
    )


def allowed(execution: ExecutionState, place: Place | None) -> Iterator[Action]:
    """Yield the actions, the most likely first; without a `place`, those of the execution alone."""
    if execution.outcome is not None:
        yield "begin"
        return
    if place is not None:
        yield from (each for each in get_args(OfCheckpoint) if refusal(each, place) is None)
    yield "pause" if execution.paused is None else "resume"
    yield "abort"


def refusal(action: OfCheckpoint, at: Place) -> str | None:
    """Return why a checkpoint does not allow an action now; None: it does."""
    try:
        require(action, at)
    except (ExecutionError, HookError, NoDataError) as error:
        return str(error)
    return None


def require(action: OfCheckpoint, at: Place) -> None:
    """Raise an error unless a checkpoint allows an action now.

    Raises:
        ExecutionError: it does not.
        NoDataError: the data that would show it is stale.
        HookError: the files of its hook cannot be read.
        RunbookError: the file of hooks cannot be used.
    """
    if action in ("repeat", "skip", "rollback"):
        _require_no_hook(action, at)
    if action == "approve":
        _require_approval(at)
    elif action == "rollback":
        rollback_of(at.loaded.runbook, at.execution, at.state.id, at.view())
    elif action != "skip":
        _require_decision(action, at)
    elif at.checkpoint.irreversible:
        raise ExecutionError(f"{at.state.id} is irreversible: it is never skipped")


def _require_no_hook(action: OfCheckpoint, at: Place) -> None:
    """Raise an error if the hook runs, or processes that it left and nobody decided about.

    A step is not repeated while they run, even if an operator decided that it is done.
    """
    state = at.state
    if state.stage is Stage.RUNNING:
        raise ExecutionError(f"the hook of {state.id} runs: wait for its end")
    repeats = action == "repeat" and action in _DECISIONS.get(state.stage, ())
    if (state.may_run or repeats) and at.hook_runs:
        done = ". If the step is done without them, decide that it is (--done)"
        raise ExecutionError(
            f"the hook of {state.id} still has running processes. End them or wait"
            f"{done if state.may_run else ''}"
        )


def _require_approval(at: Place) -> None:
    id_, checkpoint, view = at.state.id, at.checkpoint, at.view()
    begun = is_covered(at.execution, checkpoint, id_, view.summary)
    instance = CheckpointInstance(id=id_, checkpoint=checkpoint, bind={}, begun=begun)
    why = without_approval(at.execution, instance)
    now = basis(view.summary, view.hazards, at.loaded.sha256)
    given = [each for each in at.state.approvals if not changed(each.basis, now)]
    if why is None and len(given) >= approvals_needed(at.execution, instance):
        why = f"no approval any more: {', '.join(sorted(e.by.words() for e in given))} approved it"
    if why is not None:
        raise ExecutionError(f"{id_} needs {why}")


def _require_decision(action: OfCheckpoint, at: Place) -> None:
    state, step, file = at.state, at.checkpoint.step, at.hooks
    able, sha256 = _DECISIONS.get(state.stage, ()), at.execution.hooks_sha256
    if action not in able:
        others = f"; it takes {' or '.join(f'--{each}' for each in able)}" if able else ""
        raise ExecutionError(
            f"{state.id} asks for no decision of this kind: it is {state.stage}{others}"
        )
    if action == "done":
        if state.awaited is not None:
            raise ExecutionError(
                f"{state.id} needs no decision: its gate shows when its step is done; now:"
                f" {state.awaited.reason}"
            )
        return
    if action == "execute" and not at.execution.execute:
        raise ExecutionError(
            "kraftgate run was started without --execute, so every step is done by hand: end it and"
            " start kraftgate run --execute first"
        )
    # The orchestrator would run the command of the file that it read at its start.
    if sha256 is not None and (file is None or not has_hash(file, sha256)):
        raise ExecutionError(
            f"{file or '`runbook.hooks`'} was changed since kraftgate run started: end it and start"
            " it again first"
        )
    if action == "execute" and (step is None or not at.has_hook(step)):
        name = state.id if step is None else step.name
        raise ExecutionError(f"{file or 'the configuration'} has no hook for {name}: do it by hand")


def rollback_of(runbook: Runbook, execution: ExecutionState, id_: str, view: View) -> str:
    """Return the path that rolls back from a checkpoint.

    An irreversible step may have been done by another client, also for another instance.

    Raises:
        ExecutionError: there is none; the message has the runbook's reason.
        NoDataError: the data that would show such a step is stale.
    """
    if execution.path is not None:
        raise ExecutionError(f"a rollback is already being executed: {execution.path}")
    name = id_.partition("[")[0]
    at = next(each for each in runbook.checkpoints if each.id == name)
    if at.rollback == NO_ROLLBACK:
        begun = any(was_begun(each) for each in execution.checkpoints.values())
        earlier = "" if begun else to_skip(view)
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


def to_skip(view: View) -> str:
    """Return what to add to a message about an execution that has not begun the migration."""
    phase = view.summary.phase
    begun = (Phase.PRE_MIGRATION, Phase.COPYING, Phase.HYBRID, Phase.DUAL_WRITE)
    if is_log_past(view) or phase not in begun:
        return ""
    return (
        f"; the phase is {phase}: skip each checkpoint that the migration has passed"
        " (kraftgate skip): its gate may not open again"
    )
