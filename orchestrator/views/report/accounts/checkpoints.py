"""The account of one checkpoint: entered, held, its steps, passed, and who approved it.

Several conditions can hold a checkpoint at the same time, so these durations must not be added.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from migration.assessment.finding import WORST_FIRST, Verdict
from orchestrator.api.report.execution import CheckpointAccount, Hold, HoldKind, Result, StepRun
from orchestrator.api.report.shape import elapsed
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Body, Evaluated
from orchestrator.audit.execution.state import TURNED_BACK, CheckpointState, ExecutionState, Stage
from orchestrator.execution.route import CheckpointInstance, approvals_needed, is_covered
from orchestrator.runbook.model import Checkpoint

Key: TypeAlias = tuple[HoldKind, str]
_PARTS: Final[Mapping[str, HoldKind]] = {"needs": "guard", "opens_when": "gate"}


class Reason(NamedTuple):
    """Why something holds a checkpoint; `verdict`: of a condition."""

    text: str
    verdict: Verdict | None = None


@dataclass(slots=True, kw_only=True)
class Held:
    """One reason, over all its occurrences."""

    began_at: int
    reason: str
    last_reason: str = ""
    verdict: Verdict | None = None
    open_ms: int | None = None
    ended_at: int | None = None
    spent_ms: int = 0
    times: int = 0

    def begin(self, at_ms: int, reason: Reason) -> None:
        """Record that it holds, for this reason from now on."""
        self.last_reason = reason.text
        known = [each for each in (self.verdict, reason.verdict) if each is not None]
        self.verdict = min(known, key=WORST_FIRST.index, default=None)
        if self.open_ms is None:
            self.open_ms, self.times = at_ms, self.times + 1

    def end(self, at_ms: int) -> None:
        """Record that it does not hold."""
        if self.open_ms is not None:
            self.spent_ms += max(0, at_ms - self.open_ms)
            self.ended_at, self.open_ms = at_ms, None


def holds(held: Mapping[Key, Held], as_of_ms: int) -> tuple[Hold, ...]:
    """Return the reasons, the longest first; one that ended at once is left out."""
    found = []
    for (kind, what), each in held.items():
        lasting = 0 if each.open_ms is None else max(0, as_of_ms - each.open_ms)
        spent_ms = each.spent_ms + lasting
        if spent_ms or each.open_ms is not None:
            hold = Hold.from_facts(
                each,
                kind=kind,
                what=what,
                verdict=None if each.verdict is None else str(each.verdict),
                ended_at=None if each.open_ms is not None else each.ended_at,
                duration_ms=spent_ms,
            )
            found.append(hold)
    return tuple(sorted(found, key=lambda each: (-each.duration_ms, each.kind, each.what)))


@dataclass(slots=True, kw_only=True)
class CheckpointRecord:
    """A checkpoint of an execution, folded entry by entry.

    Attributes:
        id: with the instance in brackets, if any.
        known: the checkpoint in the runbook; None: its text is not available.
        path: the rollback path, if any.
        evaluated: the evaluations since the last change of its stage, the latest last.
        expired: why its last approval expired.
        is_away: whether no orchestrator runs.
        approvals: those that were in force when it ended, or are.
        skipped_by: who skipped it; None: it was not skipped.
    """

    id: str
    known: Checkpoint | None
    path: str | None = None
    entered_ms: int
    evaluated: dict[str, Evaluated] = field(default_factory=dict)
    expired: str | None = None
    is_away: bool = False
    held: dict[Key, Held] = field(default_factory=dict)
    steps: list[StepRun] = field(default_factory=list)
    approvals: tuple[entries.Approved, ...] = ()
    skipped_by: entries.Person | None = None
    ended_ms: int | None = None

    def take(self, at_ms: int, body: Body) -> None:  # noqa: C901  # a case an entry
        if not isinstance(body, Evaluated | entries.Approved | entries.ApprovalsExpired):
            self.evaluated.clear()
        match body:
            case Evaluated():
                self.evaluated.pop(body.part, None)
                self.evaluated[body.part] = body
            case entries.CheckpointSkipped():
                self.skipped_by = body.by
            case entries.ApprovalsExpired():
                self.expired = f"the one given has expired: {'; '.join(body.changed)}"
            case entries.StepStarted():
                self._begin(
                    began_at=at_ms,
                    attempt=body.attempt,
                    argv=body.argv,
                    outcome="running",
                    how="it runs, or its end is unknown",
                )
            case entries.StepShown():
                how = "shown; it is not known to be done"
                self._begin(began_at=at_ms, text=body.text, outcome="shown", how=how)
            case entries.StepEnded():
                self._change(
                    ended_at=at_ms,
                    took_ms=body.took_ms,
                    outcome="succeeded" if body.succeeded else "failed",
                    how=body.how,
                    exit_code=body.exit_code,
                    output=body.output,
                    output_sha256=body.output_sha256,
                )
            case entries.StepUnknown():
                self._change(ended_at=at_ms, outcome="unknown", how=body.why)
            case entries.StepNotStarted():
                self._change(ended_at=at_ms, outcome="not started", how="it was not started")
            case entries.StepDecided():
                self._change(decided=f"{body.decision}, by {body.by.who}: {body.reason}")
                self._end_shown(at_ms, is_done=body.decision == "done")
            case entries.CheckpointPassed():
                self._end_shown(at_ms, is_done=True)

    def update(self, at_ms: int, execution: ExecutionState) -> None:
        """Record what the execution's state means for this checkpoint from this time on."""
        now = execution.checkpoint(self.id)
        self.approvals = now.approvals
        is_over = now.is_behind or execution.outcome is not None
        found = {} if is_over else self._reasons(execution, now)
        for key, each in self.held.items():
            if key not in found:
                each.end(at_ms)
        for key, reason in found.items():
            held = self.held.setdefault(key, Held(began_at=at_ms, reason=reason.text))
            held.begin(at_ms, reason)
        if is_over:
            self.ended_ms = at_ms
            self._end_shown(at_ms, is_done=False)

    def account(self, execution: ExecutionState, as_of_ms: int) -> CheckpointAccount:
        until_ms = as_of_ms if self.ended_ms is None else self.ended_ms
        people = [each.by for each in self.approvals]
        if self.skipped_by is not None:
            people.append(self.skipped_by)
        return CheckpointAccount(
            id=self.id,
            title=None if self.known is None else self.known.title,
            way=self.path,
            entered_at=self.entered_ms,
            ended_at=self.ended_ms,
            duration_ms=elapsed(self.entered_ms, until_ms),
            result=_result(execution, execution.checkpoint(self.id)),
            by=tuple(dict.fromkeys(each.words() for each in people)),
            holds=holds(self.held, until_ms),
            steps=tuple(self.steps),
        )

    def _reasons(self, execution: ExecutionState, now: CheckpointState) -> dict[Key, Reason]:
        people = 0
        if self.known is not None:
            begun = is_covered(execution, self.known, now.id, None)
            instance = CheckpointInstance(id=now.id, checkpoint=self.known, bind={}, begun=begun)
            people = approvals_needed(execution, instance)
        whose = "a person" if people == 1 else f"{people} people"
        lacks = self.expired or "its step must be approved" if len(now.approvals) < people else None
        pause = None
        if execution.paused is not None and now.stage is Stage.ENTERED:
            pause = f"{execution.paused.by.who}: {execution.paused.reason}"
        texts: dict[Key, str | None] = {
            ("approval", f"approval by {whose}"): lacks,
            ("step", "its command"): "the command runs" if now.stage is Stage.RUNNING else None,
            ("step", "its step, by hand"): "by an operator" if now.stage is Stage.SHOWN else None,
            ("decision", "an operator's decision"): now.asks,
            ("pause", "a pause"): pause,
            ("lock", "the orchestrator's lock"): execution.lock_lost,
            ("not_running", "kraftgate run"): "no orchestrator ran" if self.is_away else None,
        }
        found = {key: Reason(text) for key, text in texts.items() if text is not None}
        parts = [each for each in self.evaluated.values() if self._counts(each, now)]
        for part in parts:
            for each in part.findings:
                if each.verdict is not Verdict.SATISFIED:
                    found[_PARTS[part.part], each.condition] = Reason(each.reason, each.verdict)
        if parts and not found:  # its sources are polled again, unless there is another reason
            what = f"confirmation of its {_PARTS[parts[-1].part]}"
            found["look", what] = Reason(
                "it holds by the last data, and its sources are polled once more"
            )
        return found

    def _counts(self, each: Evaluated, now: CheckpointState) -> bool:
        """Return whether unmet conditions of this part hold the checkpoint.

        Before the step, the gate decides only whether the step can be omitted.
        """
        has_step = self.known is not None and self.known.step is not None
        if each.part == "opens_when" and now.stage is Stage.ENTERED and has_step:
            already = now.evaluated.get("already")
            return already is not None and already.verdict is Verdict.SATISFIED
        return each.part in _PARTS

    def _begin(self, **known: object) -> None:
        unknown = dict.fromkeys(StepRun.model_fields) | {"argv": (), "output": ""}
        self.steps.append(StepRun.model_validate(unknown | known))

    def _change(self, **known: object) -> None:
        if self.steps:
            self.steps[-1] = self.steps[-1].model_copy(update=known)

    def _end_shown(self, at_ms: int, *, is_done: bool) -> None:
        last = self.steps[-1] if self.steps else None
        if last is not None and last.outcome == "shown" and last.ended_at is None:
            self._change(ended_at=at_ms, took_ms=elapsed(last.began_at, at_ms))
            if is_done:
                self._change(outcome="by hand", how="done by hand")


def _result(execution: ExecutionState, now: CheckpointState) -> Result:
    if now.stage is Stage.PASSED:
        was_done = now.how == "opened" or now.attempts > now.not_started
        return "passed" if was_done else "not needed"
    if now.stage is Stage.SKIPPED:
        return "turned back" if now.how == TURNED_BACK else "skipped"
    return "stands" if execution.outcome is None else "aborted"
