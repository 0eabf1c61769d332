"""The account of one checkpoint: entered, held, its steps, passed, and who approved it."""

from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from orchestrator.api.report.execution import CheckpointAccount, StepRun
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Body
from orchestrator.audit.execution.state import TURNED_BACK, CheckpointState, ExecutionState, Stage
from orchestrator.views.report.accounts.checkpoint_holds import Holding

Result: TypeAlias = Literal["passed", "not needed", "skipped", "turned back", "stands", "aborted"]
_STEP: Final[dict[str, Any]] = {
    "attempt": None,
    "argv": (),
    "text": None,
    "ended_at": None,
    "took_ms": None,
    "exit_code": None,
    "output": "",
    "output_sha256": None,
    "decided": None,
}


@dataclass(slots=True, kw_only=True)
class CheckpointRecord:
    """A checkpoint of an execution, folded entry by entry.

    Attributes:
        id: with the instance in brackets, if any.
        title: None: the runbook's text is not available.
        path: the rollback path, if any.
    """

    id: str
    title: str | None
    path: str | None
    entered_ms: int
    holding: Holding
    steps: list[StepRun] = field(default_factory=list)
    by: list[str] = field(default_factory=list)
    ended_ms: int | None = None

    def take(self, at_ms: int, now: CheckpointState, body: Body) -> None:
        """Process an entry of this checkpoint, which has this state after it."""
        self.holding.take(now, body)
        match body:
            case entries.Approved() | entries.CheckpointSkipped():
                self.by.append(body.by.who)
            case entries.ApprovalsExpired():
                self.by.clear()
            case entries.StepStarted():
                self._begin(
                    began_at=at_ms,
                    attempt=body.attempt,
                    argv=body.argv,
                    outcome="running",
                    how="it runs, or its end is unknown",
                )
            case entries.StepShown():
                self._begin(began_at=at_ms, text=body.text, outcome="by hand", how="done by hand")
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
                if body.decision == "execute":
                    self._end_by_hand(at_ms)

    def update(self, at_ms: int, execution: ExecutionState) -> None:
        """Record what the execution's state means for this checkpoint from this time on."""
        now = execution.checkpoint(self.id)
        self.holding.update(at_ms, execution, now)
        if now.is_behind or execution.outcome is not None:
            self.ended_ms = at_ms
            self._end_by_hand(at_ms)

    def account(self, execution: ExecutionState, as_of_ms: int) -> CheckpointAccount:
        until_ms = as_of_ms if self.ended_ms is None else self.ended_ms
        return CheckpointAccount(
            id=self.id,
            title=self.title,
            way=self.path,
            entered_at=self.entered_ms,
            ended_at=self.ended_ms,
            duration_ms=max(0, until_ms - self.entered_ms),
            result=_result(execution, execution.checkpoint(self.id)),
            by=tuple(dict.fromkeys(self.by)),
            holds=self.holding.holds(until_ms),
            steps=tuple(self.steps),
        )

    def _begin(self, **known: object) -> None:
        self.steps.append(StepRun(**{**_STEP, **known}))

    def _change(self, **known: object) -> None:
        if self.steps:
            self.steps[-1] = self.steps[-1].model_copy(update=known)

    def _end_by_hand(self, at_ms: int) -> None:
        last = self.steps[-1] if self.steps else None
        if last is not None and last.outcome == "by hand" and last.ended_at is None:
            self._change(ended_at=at_ms, took_ms=max(0, at_ms - last.began_at))


def _result(execution: ExecutionState, now: CheckpointState) -> Result:
    if now.stage is Stage.PASSED:
        return "passed" if now.how == "opened" else "not needed"
    if now.stage is Stage.SKIPPED:
        return "turned back" if now.how == TURNED_BACK else "skipped"
    return "stands" if execution.outcome is None else "aborted"
