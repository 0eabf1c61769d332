"""Where a walk stands: a pure fold over the entries of its audit trail."""

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
"""How views name each stage; a stage without words is not shown."""
BEHIND: Final = (Stage.PASSED, Stage.SKIPPED)
TURNED_BACK: Final = "turned back"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One checkpoint of the walk.

    Attributes:
        approvals: those that are in force, one for each login.
        run: the hook's run that is under way, or the last one.
        attempts: how many hooks were started.
        open_before: whether the gate held before the step, and so says nothing of its effect.
        outcome_unknown: nobody knows how that run ended.
        asks: why a person must decide; None: nobody need.
        judged: the last judgement of guards and gate, by part.
        how: how it was passed.
        shown: what a person is to do.
        entered_ms: when the walk came to it.
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
        """Whether the walk is past it."""
        return self.stage in BEHIND


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """A hook of a walk that ended before the hook did.

    Attributes:
        checkpoint: whose step it is, as that walk named it.
    """

    checkpoint: str
    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """One walk through one runbook.

    Attributes:
        sequence: of the entry that began it.
        path: the way back that is taken; None: the way ahead.
        turned_at: the checkpoint at which it turned.
        places: every checkpoint that was entered, in that order.
        paused: who paused it and why; None: it goes on.
        outcome: how it ended: completed, rolled-back, aborted; None: it goes on.
        execute: whether the last orchestrator ran hooks; a new walk inherits it.
        lock_lost: why no step may be begun; None: the lock is held, or none is needed. A new walk
            inherits it.
        left_running: a hook of an earlier walk whose end is not in the trail.
        elsewhere: a step that another orchestrator began, whose end is not known here.
        decided_elsewhere: the last such step of which an operator decided that it has ended.
        unexpected: what the cluster showed that no step did, newest last.
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
        """The checkpoint, also when the walk has not come to it."""
        return self.places.get(id_, Place(id=id_))

    @property
    def current(self) -> Place | None:
        """The checkpoint before which the walk stands; None: between two, or ended."""
        if self.outcome is not None:
            return None
        return next((each for each in self.places.values() if not each.is_behind), None)

    def passed(self, checkpoint: str) -> bool:
        """Whether a checkpoint is behind; of one for each broker, whether all of them are."""
        place = self.places.get(checkpoint)
        return place is not None and place.is_behind and place.how != TURNED_BACK


UNEXPECTED_MAX: Final = 20


def fold(walk: Walk | None, told: Iterable[tuple[int, int, Body]]) -> Walk | None:
    """Take entries in: sequence number, time (ms) and body, in the trail's order.

    None: no walk has begun.
    """
    for sequence, at_ms, body in told:
        if isinstance(body, entries.WalkBegan):
            walk = _began(walk, sequence, at_ms, body)
        elif walk is not None:
            walk = _after(walk, at_ms, body)
    return walk


def _began(before: Walk | None, sequence: int, at_ms: int, body: entries.WalkBegan) -> Walk:
    """Begin a walk; what is true of the process and not of the walk is inherited.

    The orchestrator that runs tells of itself once, at its start, whichever walks follow.
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
    """Return the hook whose end the walk did not see."""
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
    """What stood before the turn is left as it is; it is not of the way back."""
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
