"""The account of one checkpoint: entered, held, its steps, passed, and who approved it."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from orchestrator.api.report.execution import CheckpointAccount, StepRun
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Body
from orchestrator.runbook.model import Checkpoint
from orchestrator.views.report.accounts.checkpoint_holds import Holding

Result: TypeAlias = Literal["passed", "not needed", "skipped", "turned back", "stands", "aborted"]


@dataclass(slots=True, kw_only=True)
class Passing:
    """A checkpoint of an execution, folded entry by entry."""

    id: str
    title: str | None
    way: str | None
    entered_ms: int
    holding: Holding
    steps: list[StepRun] = field(default_factory=list)
    by: list[str] = field(default_factory=list)
    result: Result = "stands"
    ended_ms: int | None = None

    @classmethod
    def entered(
        cls, id_: str, known: Checkpoint | None, way: str | None, at_ms: int, people: int
    ) -> "Passing":
        """Return a checkpoint that the execution has just entered.

        Args:
            id_: The id, with the instance in brackets, if any.
            known: The checkpoint in the runbook; None: its text is not available.
            way: The rollback path, if any.
            at_ms: When it was entered.
            people: The number of people who must approve its step.
        """
        has_step = None if known is None else known.step is not None
        return cls(
            id=id_,
            title=None if known is None else known.title,
            way=way,
            entered_ms=at_ms,
            holding=Holding.entered(at_ms, people=people, has_step=has_step),
        )

    def take(self, at_ms: int, body: Body) -> None:  # noqa: C901  # a case an entry
        """Process an entry of this checkpoint."""
        self.holding.take(at_ms, body)
        match body:
            case entries.Approved():
                self.by.append(body.by.who)
            case entries.ApprovalsExpired():
                self.by.clear()
            case entries.StepStarted():
                self.steps.append(_started(at_ms, body))
            case entries.StepShown():
                self.steps.append(_shown(at_ms, body))
            case entries.StepEnded():
                outcome = "succeeded" if body.succeeded else "failed"
                self._step(
                    ended_at=at_ms,
                    took_ms=body.took_ms,
                    outcome=outcome,
                    how=body.how,
                    exit_code=body.exit_code,
                    output=body.output,
                    output_sha256=body.output_sha256,
                )
            case entries.StepUnknown():
                self._step(ended_at=at_ms, outcome="unknown", how=body.why)
            case entries.StepNotStarted():
                self._step(ended_at=at_ms, outcome="not started", how="it was not started")
            case entries.StepDecided():
                self._step(decided=f"{body.decision}, by {body.by.who}: {body.reason}")
                if body.decision == "execute":
                    self._end_by_hand(at_ms)
            case entries.CheckpointSkipped():
                self.by.append(body.by.who)
                self.end(at_ms, "skipped")
            case entries.CheckpointPassed():
                self.end(at_ms, "passed" if body.how == "opened" else "not needed")

    def end(self, at_ms: int, result: Result) -> None:
        """Record that the execution has left the checkpoint."""
        self.ended_ms, self.result = at_ms, result
        self.holding.close(at_ms)
        self._end_by_hand(at_ms)

    def _end_by_hand(self, at_ms: int) -> None:
        last = self.steps[-1] if self.steps else None
        if last is not None and last.outcome == "by hand" and last.ended_at is None:
            self._step(ended_at=at_ms, took_ms=max(0, at_ms - last.began_at))

    def account(self, as_of_ms: int) -> CheckpointAccount:
        """Return the checkpoint's part of the report."""
        until_ms = as_of_ms if self.ended_ms is None else self.ended_ms
        return CheckpointAccount(
            id=self.id,
            title=self.title,
            way=self.way,
            entered_at=self.entered_ms,
            ended_at=self.ended_ms,
            duration_ms=max(0, until_ms - self.entered_ms),
            result=self.result,
            by=tuple(dict.fromkeys(self.by)),
            holds=self.holding.told(until_ms),
            steps=tuple(self.steps),
        )

    def _step(self, **known: object) -> None:
        if self.steps:
            self.steps[-1] = self.steps[-1].model_copy(update=known)


def _started(at_ms: int, body: entries.StepStarted) -> StepRun:
    return StepRun(
        attempt=body.attempt,
        argv=body.argv,
        text=None,
        began_at=at_ms,
        ended_at=None,
        took_ms=None,
        outcome="running",
        how="it runs, or its end was not seen",
        exit_code=None,
        output="",
        output_sha256=None,
        decided=None,
    )


def _shown(at_ms: int, body: entries.StepShown) -> StepRun:
    return StepRun(
        attempt=None,
        argv=(),
        text=body.text,
        began_at=at_ms,
        ended_at=None,
        took_ms=None,
        outcome="by hand",
        how="done by hand",
        exit_code=None,
        output="",
        output_sha256=None,
        decided=None,
    )
