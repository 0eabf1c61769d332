"""The state of an execution: a pure fold over the entries of its audit trail."""

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Body, Judged
from orchestrator.audit.execution.running_step import RunningStep


class Stage(enum.StrEnum):
    """Where one checkpoint stands."""

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
    Stage.ASKS: "asks",
    Stage.STEP_DONE: "step done, its gate is waited for",
}
"""The text that views show for each stage; a stage without text is not shown."""
BEHIND: Final = (Stage.PASSED, Stage.SKIPPED)
TURNED_BACK: Final = "turned back"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One checkpoint of the execution.

    Attributes:
        approvals: those that are in force, one for each login.
        run: the current run of the hook, or the last one.
        attempts: the number of hooks that were started.
        open_before: whether the gate already held before the step, so that it does not show the
            step's effect.
        outcome_unknown: whether the outcome of that run is unknown.
        asks: why an operator must decide; None: no decision is needed.
        judged: the last evaluation of guards and gate, by part.
        how: how it was passed.
        shown: the step that an operator performs, as text.
        entered_ms: when the execution entered it.
    """

    id: str
    stage: Stage = Stage.AHEAD
    approvals: tuple[entries.Approved, ...] = ()
    run: str | None = None
    attempts: int = 0
    open_before: bool = False
    outcome_unknown: bool = False
    asks: str | None = None
    judged: Mapping[str, Judged] = field(default_factory=dict)
    how: str | None = None
    shown: str | None = None
    entered_ms: int | None = None
    ended_ms: int | None = None

    @property
    def is_behind(self) -> bool:
        """Whether the execution is past it."""
        return self.stage in BEHIND


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """A hook of an execution that ended before the hook did.

    Attributes:
        checkpoint: the checkpoint of its step, as that execution named it.
    """

    checkpoint: str
    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """One execution of one runbook.

    Attributes:
        sequence: the sequence number of the entry that began it.
        path: the rollback path that is being executed; None: the execution goes forward.
        turned_at: the checkpoint at which the rollback started.
        places: every checkpoint that was entered, in that order.
        paused: who paused it and why; None: it is not paused.
        outcome: how it ended: completed, rolled-back, aborted; None: it has not ended.
        execute: whether the last orchestrator ran hooks; a new execution inherits it.
        lock_lost: why no step may begin; None: the lock is held, or none is needed. A new execution
            inherits it.
        left_running: a hook of an earlier execution whose end is not in the trail.
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
    places: Mapping[str, Place] = field(default_factory=dict)
    paused: entries.Paused | None = None
    outcome: str | None = None
    ended_ms: int | None = None
    execute: bool = False
    lock_lost: str | None = None
    left_running: Left | None = None
    elsewhere: RunningStep | None = None
    decided_elsewhere: RunningStep | None = None
    unexpected: tuple[tuple[int, str], ...] = ()

    def place(self, id_: str) -> Place:
        """Return the checkpoint, even if the execution has not entered it."""
        return self.places.get(id_, Place(id=id_))

    @property
    def current(self) -> Place | None:
        """The current checkpoint; None: between two, or the execution has ended."""
        if self.outcome is not None:
            return None
        return next((each for each in self.places.values() if not each.is_behind), None)

    def passed(self, checkpoint: str) -> bool:
        """Return whether a checkpoint is passed; with `for_each`, whether all its instances are."""
        place = self.places.get(checkpoint)
        return place is not None and place.is_behind and place.how != TURNED_BACK


UNEXPECTED_MAX: Final = 20


def fold(walk: Walk | None, told: Iterable[tuple[int, int, Body]]) -> Walk | None:
    """Apply entries to a state: sequence number, time (ms) and body, in the trail's order.

    Returns:
        the new state; None: no execution has begun.
    """
    for sequence, at_ms, body in told:
        if isinstance(body, entries.WalkBegan):
            walk = _began(walk, sequence, at_ms, body)
        elif walk is not None:
            walk = _after(walk, at_ms, body)
    return walk


def _began(before: Walk | None, sequence: int, at_ms: int, body: entries.WalkBegan) -> Walk:
    """Begin an execution; it inherits the state of the process from the one before.

    A running orchestrator records itself only once, at its start, even if several executions
    follow.
    """
    walk = Walk(runbook=body.runbook, sha256=body.sha256, sequence=sequence, began_ms=at_ms)
    if before is None:
        return walk
    return replace(
        walk,
        execute=before.execute,
        lock_lost=before.lock_lost,
        left_running=before.left_running or _running(before),
        elsewhere=before.elsewhere,
        decided_elsewhere=before.decided_elsewhere,
    )


def _running(walk: Walk) -> Left | None:
    """Return the hook that was still running when the execution ended."""
    return next(
        (
            Left(checkpoint=each.id, run=str(each.run))
            for each in walk.places.values()
            if each.stage is Stage.RUNNING
        ),
        None,
    )


def _after(walk: Walk, at_ms: int, body: Body) -> Walk:  # noqa: C901  # a case an entry
    match body:
        case entries.OrchestratorStarted():
            return replace(walk, execute=body.execute, lock_lost=None)
        case entries.LockLost():
            return replace(walk, lock_lost=body.reason)
        case entries.LockHeld():
            return replace(walk, lock_lost=None)
        case entries.Paused():
            return replace(walk, paused=body)
        case entries.Resumed():
            return replace(walk, paused=None)
        case entries.Aborted():
            return replace(walk, outcome="aborted", ended_ms=at_ms)
        case entries.WalkEnded():
            return replace(walk, outcome=body.outcome, ended_ms=at_ms)
        case entries.RollbackBegan():
            return _turned(walk, body)
        case entries.Unexpected():
            told = (*walk.unexpected, (at_ms, body.text))
            return replace(walk, unexpected=told[-UNEXPECTED_MAX:])
        case entries.WalkBegan() | entries.OrchestratorEnded():
            return walk
        case entries.StepElsewhere():
            return replace(walk, elsewhere=body.step)
        case entries.StepElsewhereEnded():
            decided = walk.decided_elsewhere if body.by is None else body.step
            return replace(walk, elsewhere=None, decided_elsewhere=decided)
        case entries.StepEnded() | entries.StepNotStarted() | entries.StepUnknown() if (
            walk.left_running is not None and body.run == walk.left_running.run
        ):
            return replace(walk, left_running=None)
        case _:
            place = _place(walk.place(body.checkpoint), at_ms, body)
            return replace(walk, places={**walk.places, place.id: place})


def _turned(walk: Walk, body: entries.RollbackBegan) -> Walk:
    """Start the rollback: open checkpoints are marked as left, because they are not on its path."""
    left = {
        id_: each if each.is_behind else replace(each, stage=Stage.SKIPPED, how=TURNED_BACK)
        for id_, each in walk.places.items()
    }
    return replace(walk, path=body.path, turned_at=body.at, places=left, paused=None)


def _place(place: Place, at_ms: int, body: Body) -> Place:  # noqa: C901  # a case an entry
    match body:
        case entries.CheckpointEntered():
            return replace(place, stage=Stage.ENTERED, entered_ms=at_ms)
        case entries.Judged():
            return replace(place, judged={**place.judged, body.part: body})
        case entries.Approved():
            others = tuple(e for e in place.approvals if not e.by.same_login(body.by))
            return replace(place, approvals=(*others, body))
        case entries.ApprovalsExpired():
            return replace(place, approvals=())
        case entries.StepShown():
            return replace(place, stage=Stage.SHOWN, shown=body.text, open_before=body.open_before)
        case entries.StepStarted():
            return replace(
                place,
                stage=Stage.RUNNING,
                run=body.run,
                attempts=body.attempt,
                open_before=body.open_before,
                outcome_unknown=False,
                asks=None,
            )
        case entries.StepEnded():
            if body.succeeded:
                return replace(place, stage=Stage.STEP_DONE, asks=None)
            return replace(place, stage=Stage.ASKS, asks=f"the hook {body.how}")
        case entries.StepNotStarted():
            return replace(place, stage=Stage.ENTERED, asks=None)
        case entries.StepUnknown():
            return replace(place, stage=Stage.ASKS, asks=body.why, outcome_unknown=True)
        case entries.StepDecided():
            done = body.decision == "done"
            stage = Stage.STEP_DONE if done else Stage.ENTERED
            return replace(place, stage=stage, asks=None)
        case entries.CheckpointPassed():
            return replace(place, stage=Stage.PASSED, asks=None, how=body.how, ended_ms=at_ms)
        case entries.CheckpointSkipped():
            return replace(place, stage=Stage.SKIPPED, asks=None, how="skipped", ended_ms=at_ms)
    return place
