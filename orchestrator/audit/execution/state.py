"""The state of an execution: a pure fold over the entries of its audit trail."""

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from migration.assessment.conditions import SOAK, Verdict
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Body, Evaluated
from orchestrator.audit.execution.running_step import RunningStep


class Stage(enum.StrEnum):
    """The progress of one checkpoint."""

    AHEAD = "ahead"
    ENTERED = "entered"
    RUNNING = "running"
    SHOWN = "shown"
    ASKS = "asks"
    STEP_DONE = "step done"
    PASSED = "passed"
    SKIPPED = "skipped"


STAGE_WORDS: Final = {
    Stage.AHEAD: "next",
    Stage.ENTERED: "before its step",
    Stage.RUNNING: "its hook runs",
    Stage.SHOWN: "do this by hand",
    Stage.ASKS: "needs a decision",
    Stage.STEP_DONE: "step done, its gate is waited for",
}
"""The text that views show for each stage; a stage without text is not shown."""
BEHIND: Final = (Stage.PASSED, Stage.SKIPPED)
TURNED_BACK: Final = "turned back"
OUTPUT_LINES: Final = 12
"""Of a failed hook's output, on screens; the audit trail has more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointState:
    """The state of one checkpoint of an execution.

    Attributes:
        approvals: those that are in force; of each login the first one for its state.
        run: the current run of the hook, or the last one.
        attempts: the number of hooks that were started.
        open_before: whether the gate already held before the step, so that it does not show the
            step's effect.
        outcome_unknown: whether the outcome of that run is unknown.
        asks: why an operator must decide; None: no decision is needed.
        output: the last lines that the last run of the hook printed.
        evaluated: the last evaluation of guards and gate, by part.
        how: how it was passed.
        shown: the step that an operator performs, as text.
        violated_before: the conditions of the gate that were violated when it was shown.
        entered_ms: when the execution entered it.
    """

    id: str
    stage: Stage = Stage.AHEAD
    approvals: tuple[entries.Approved, ...] = ()
    run: str | None = None
    attempts: int = 0
    not_started: int = 0
    open_before: bool = False
    outcome_unknown: bool = False
    asks: str | None = None
    output: tuple[str, ...] = ()
    evaluated: Mapping[str, Evaluated] = field(default_factory=dict)
    how: str | None = None
    shown: str | None = None
    violated_before: frozenset[str] = frozenset()
    entered_ms: int | None = None
    ended_ms: int | None = None

    @property
    def may_run(self) -> bool:
        """Whether the hook, or processes that it left, may run: nobody has decided about it."""
        return self.stage is Stage.RUNNING or (self.stage is Stage.ASKS and self.outcome_unknown)

    @property
    def awaited(self) -> entries.RecordedFinding | None:
        """The condition that shows when the step by hand is done; None: an operator says it."""
        gate = self.evaluated.get("opens_when")
        if self.stage is not Stage.SHOWN or self.open_before or gate is None:
            return None
        closed = (e for e in gate.findings if e.verdict in (Verdict.WAITING, Verdict.VIOLATED))
        return next((e for e in closed if not e.condition.startswith(f"{SOAK}(")), None)

    @property
    def is_behind(self) -> bool:
        return self.stage in BEHIND


class Unexpected(NamedTuple):
    """A change in the cluster that no step made."""

    at_ms: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionState:
    """The state of one execution of a runbook.

    Attributes:
        sequence: the sequence number of the entry that began it.
        path: the rollback path that is being executed; None: the execution goes forward.
        turned_at: the checkpoint at which the rollback started.
        checkpoints: every checkpoint that was entered, in that order.
        paused: who paused it and why; None: it is not paused.
        pauses: the number of its pauses so far; one that it inherits does not count.
        outcome: how it ended: completed, rolled-back, aborted; None: it has not ended.
        execute: whether the last orchestrator ran hooks; a new execution inherits it.
        hooks_sha256: the hash of that orchestrator's file of hooks; a new execution inherits it.
        lock_lost: why no step may begin; None: the lock is held, or none is needed. A new execution
            inherits it.
        left_running: the checkpoint whose hook started and has no end in the trail, although its
            execution, an earlier one or this one, was aborted.
        last_run: the last run of a hook in the trail, also of an earlier execution.
        elsewhere: a step that another orchestrator began, whose end is not known here.
        decided_elsewhere: the last such step that ended by an operator's decision.
        unexpected: changes in the cluster that no step made, newest last.
    """

    runbook: str
    sha256: str
    sequence: int
    began_ms: int
    path: str | None = None
    turned_at: str | None = None
    checkpoints: Mapping[str, CheckpointState] = field(default_factory=dict)
    paused: entries.Paused | None = None
    pauses: int = 0
    outcome: entries.Outcome | None = None
    ended_ms: int | None = None
    execute: bool = False
    hooks_sha256: str | None = None
    lock_lost: str | None = None
    left_running: CheckpointState | None = None
    last_run: str | None = None
    elsewhere: RunningStep | None = None
    decided_elsewhere: RunningStep | None = None
    unexpected: tuple[Unexpected, ...] = ()

    def checkpoint(self, id_: str) -> CheckpointState:
        """Return the checkpoint, even if the execution has not entered it."""
        return self.checkpoints.get(id_, CheckpointState(id=id_))

    @property
    def current(self) -> CheckpointState | None:
        """The current checkpoint; None: between two, or the execution has ended."""
        if self.outcome is not None:
            return None
        return next((each for each in self.checkpoints.values() if not each.is_behind), None)

    @property
    def place(self) -> tuple[object, ...]:
        """What a decision about the current checkpoint is made for: this attempt at its step."""
        at = self.current
        where = None if at is None else (at.id, at.stage, at.attempts, at.asks)
        return self.sequence, self.path, where

    @property
    def position(self) -> tuple[object, ...]:
        """What the beginning of a step, or a decision about it, relies on."""
        return self.outcome, self.paused, *self.place

    def passed(self, id_: str) -> bool:
        """Return whether a checkpoint is passed; with `for_each`, whether all its instances are."""
        checkpoint = self.checkpoints.get(id_)
        return checkpoint is not None and checkpoint.is_behind and checkpoint.how != TURNED_BACK


UNEXPECTED_MAX: Final = 20


def fold(
    execution: ExecutionState | None, new: Iterable[tuple[int, int, Body]]
) -> ExecutionState | None:
    """Apply entries to a state: sequence number, time (ms) and body, in the trail's order.

    Returns:
        the new state; None: no execution has begun.
    """
    for sequence, at_ms, body in new:
        if isinstance(body, entries.ExecutionBegan):
            execution = _begin(execution, sequence, at_ms, body)
        elif execution is not None:
            execution = _apply(execution, at_ms, body)
    return execution


def _begin(
    before: ExecutionState | None, sequence: int, at_ms: int, body: entries.ExecutionBegan
) -> ExecutionState:
    """Begin an execution; it inherits the state of the process from the one before.

    A running orchestrator records itself only once, at its start, even if several executions
    follow.
    """
    execution = ExecutionState(
        runbook=body.runbook, sha256=body.sha256, sequence=sequence, began_ms=at_ms
    )
    if before is None:
        return execution
    return replace(
        execution,
        execute=before.execute,
        hooks_sha256=before.hooks_sha256,
        paused=before.paused,
        lock_lost=before.lock_lost,
        left_running=before.left_running,
        last_run=before.last_run,
        elsewhere=before.elsewhere,
        decided_elsewhere=before.decided_elsewhere,
    )


def _apply(execution: ExecutionState, at_ms: int, body: Body) -> ExecutionState:  # noqa: C901  # a case an entry
    match body:
        case entries.OrchestratorStarted():
            return replace(
                execution, execute=body.execute, hooks_sha256=body.hooks_sha256, lock_lost=None
            )
        case entries.LockLost():
            return replace(execution, lock_lost=body.reason)
        case entries.LockAcquired():
            return replace(execution, lock_lost=None)
        case entries.Paused():
            return replace(execution, paused=body, pauses=execution.pauses + 1)
        case entries.Resumed():
            return replace(execution, paused=None)
        case entries.Aborted():
            running = (e for e in execution.checkpoints.values() if e.run is not None and e.may_run)
            left = execution.left_running or next(running, None)
            return replace(execution, outcome="aborted", ended_ms=at_ms, left_running=left)
        case entries.ExecutionEnded():
            return replace(execution, outcome=body.outcome, ended_ms=at_ms)
        case entries.RollbackBegan():
            return _roll_back(execution, body)
        case entries.UnexpectedChange():
            unexpected = (*execution.unexpected, Unexpected(at_ms, body.text))
            return replace(execution, unexpected=unexpected[-UNEXPECTED_MAX:])
        case entries.StepElsewhere():
            return replace(execution, elsewhere=body.step)
        case entries.StepElsewhereEnded():
            decided = execution.decided_elsewhere if body.by is None else body.step
            return replace(execution, elsewhere=None, decided_elsewhere=decided)
        case entries.StepEnded() | entries.StepNotStarted() | entries.StepUnknown() if (
            execution.left_running is not None and body.run == execution.left_running.run
        ):
            after = replace(execution, left_running=None)
            is_own = execution.checkpoint(body.checkpoint).run == body.run
            return _apply(after, at_ms, body) if is_own else after
        case entries.OfCheckpoint():
            checkpoint = _advance(execution.checkpoint(body.checkpoint), at_ms, body)
            run = body.run if isinstance(body, entries.StepStarted) else execution.last_run
            return replace(
                execution,
                checkpoints={**execution.checkpoints, checkpoint.id: checkpoint},
                last_run=run,
            )
    return execution


def _roll_back(execution: ExecutionState, body: entries.RollbackBegan) -> ExecutionState:
    """Start the rollback: open checkpoints are marked as left, because they are not on its path."""
    left = {
        id_: each if each.is_behind else replace(each, stage=Stage.SKIPPED, how=TURNED_BACK)
        for id_, each in execution.checkpoints.items()
    }
    return replace(execution, path=body.path, turned_at=body.at, checkpoints=left)


def _advance(checkpoint: CheckpointState, at_ms: int, body: Body) -> CheckpointState:  # noqa: C901  # a case an entry
    match body:
        case entries.CheckpointEntered():
            return replace(checkpoint, stage=Stage.ENTERED, entered_ms=at_ms)
        case entries.Evaluated():
            return replace(checkpoint, evaluated={**checkpoint.evaluated, body.part: body})
        case entries.Approved():
            given = [e for e in checkpoint.approvals if e.by.same_login(body.by)]
            if any(each.basis == body.basis for each in given):
                return checkpoint
            others = tuple(each for each in checkpoint.approvals if each not in given)
            return replace(checkpoint, approvals=(*others, body))
        case entries.ApprovalsExpired():
            return replace(checkpoint, approvals=())
        case entries.StepShown():
            gate = checkpoint.evaluated.get("opens_when")
            found = () if gate is None else gate.findings
            return replace(
                checkpoint,
                stage=Stage.SHOWN,
                shown=body.text,
                open_before=body.open_before,
                violated_before=frozenset(
                    each.condition for each in found if each.verdict is Verdict.VIOLATED
                ),
            )
        case entries.StepStarted():
            return replace(
                checkpoint,
                stage=Stage.RUNNING,
                run=body.run,
                attempts=body.attempt,
                open_before=body.open_before,
                outcome_unknown=False,
                asks=None,
            )
        case entries.StepEnded():
            if body.succeeded:
                return replace(checkpoint, stage=Stage.STEP_DONE, asks=None)
            output = tuple(body.output.splitlines()[-OUTPUT_LINES:])
            asks = f"the hook {body.how}"
            left = checkpoint.not_started + (not body.started)
            return replace(checkpoint, stage=Stage.ASKS, asks=asks, output=output, not_started=left)
        case entries.StepNotStarted():
            left = checkpoint.not_started + 1
            return replace(checkpoint, stage=Stage.ENTERED, asks=None, not_started=left)
        case entries.StepUnknown():
            return replace(checkpoint, stage=Stage.ASKS, asks=body.why, outcome_unknown=True)
        case entries.StepDecided():
            done = body.decision == "done"
            stage = Stage.STEP_DONE if done else Stage.ENTERED
            return replace(checkpoint, stage=stage, asks=None)
        case entries.CheckpointPassed():
            return replace(checkpoint, stage=Stage.PASSED, asks=None, how=body.how, ended_ms=at_ms)
        case entries.CheckpointSkipped():
            return replace(
                checkpoint, stage=Stage.SKIPPED, asks=None, how="skipped", ended_ms=at_ms
            )
    return checkpoint
