"""The executions of runbooks, from their entries in the audit trail."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from orchestrator.api.report.execution import ExecutionAccount, Noticed, Orchestrator
from orchestrator.api.report.shape import elapsed
from orchestrator.audit import Entry
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Body
from orchestrator.audit.execution.state import ExecutionState, fold
from orchestrator.audit.run_spans import RunSpan
from orchestrator.execution.route import checkpoint_of
from orchestrator.run.execution_status import ExecutionStatus
from orchestrator.runbook.loaded import Loaded
from orchestrator.runbook.model import Checkpoint
from orchestrator.views.report.accounts.checkpoints import CheckpointRecord


@dataclass(slots=True, kw_only=True)
class RecordedExecution:
    """The typed entries of one execution, in the trail's order.

    Attributes:
        orchestrators: who executed it; the first one may have started in an earlier execution.
    """

    number: int
    began: entries.ExecutionBegan
    orchestrators: list[Orchestrator]
    entries: list[tuple[Entry, Body]] = field(default_factory=list)


def executions(found: Iterable[Entry]) -> list[RecordedExecution]:
    """Return a cluster's executions with their entries.

    Raises:
        AuditError: an entry was written by another version.
    """
    recorded: list[RecordedExecution] = []
    before: list[Orchestrator] = []
    is_over = False
    for entry, body in Body.read(found):
        if isinstance(body, entries.ExecutionBegan):
            running = [each for each in before[-1:] if each.ended_at is None]
            before, is_over = running, False
            number = len(recorded) + 1
            recorded.append(RecordedExecution(number=number, began=body, orchestrators=running))
        elif isinstance(body, entries.ExecutionEnded | entries.Aborted):
            is_over = True
        elif isinstance(body, entries.OrchestratorStarted):
            if is_over:  # it also executes the next one, if any
                before = []
            before.append(Orchestrator.from_facts(body, began_at=entry.at_ms, ended_at=None))
        elif isinstance(body, entries.OrchestratorEnded):
            ended = [each.model_copy(update={"ended_at": entry.at_ms}) for each in before[-1:]]
            before[-1:] = ended
        if recorded:
            recorded[-1].entries.append((entry, body))
    return recorded


def accounts(
    recorded: Sequence[RecordedExecution],
    runbooks: Mapping[str, Loaded],
    runs: Sequence[RunSpan],
    now: ExecutionStatus | None,
    as_of_ms: int,
) -> Iterator[ExecutionAccount]:
    """Yield the account of each execution; `now`: the reported state of the last one."""
    state: ExecutionState | None = None
    for each in recorded:
        course = _Course(runbooks.get(each.began.sha256), _marks(runs, as_of_ms))
        for entry, body in each.entries:
            state = fold(state, [(entry.sequence, entry.at_ms, body)])
            if state is not None:
                course.take(entry.at_ms, body, state)
        if state is not None:
            status = now if each is recorded[-1] else None
            yield course.account(each, state, status, as_of_ms)


class _Mark(NamedTuple):
    """A time from which an orchestrator runs, or none does."""

    at_ms: int
    runs: bool


class _Course:
    """The checkpoints of one execution, entry by entry."""

    def __init__(self, loaded: Loaded | None, marks: list[_Mark]) -> None:
        self._loaded = loaded
        self._marks = marks
        self._records: dict[str, CheckpointRecord] = {}
        self._state: ExecutionState | None = None

    def take(self, at_ms: int, body: Body, state: ExecutionState) -> None:
        """Process an entry, after which the execution has this state."""
        self._pass_marks(at_ms)
        before, self._state = self._state, state
        if isinstance(body, entries.CheckpointEntered):
            self._records[body.checkpoint] = CheckpointRecord(
                id=body.checkpoint,
                known=self._known(body.checkpoint, state.path),
                path=state.path,
                entered_ms=at_ms,
            )
        if isinstance(body, entries.OfCheckpoint):
            record, id_ = self._records.get(body.checkpoint), body.checkpoint
            # The end of a hook that an earlier execution left running changes no checkpoint.
            is_ours = before is None or state.checkpoint(id_) is not before.checkpoint(id_)
            if record is not None and record.ended_ms is None and is_ours:
                record.take(at_ms, body)
        self._update(at_ms)

    def account(
        self,
        recorded: RecordedExecution,
        state: ExecutionState,
        now: ExecutionStatus | None,
        as_of_ms: int,
    ) -> ExecutionAccount:
        self._pass_marks(as_of_ms)
        until_ms = as_of_ms if state.ended_ms is None else state.ended_ms
        current = next((each.id for each in self._open()), None)
        is_there = now is not None and now.checkpoint == current
        return ExecutionAccount.from_facts(
            state,
            number=recorded.number,
            runbook_sha256=state.sha256,
            runbook_kept=self._loaded is not None,
            began_at=state.began_ms,
            ended_at=state.ended_ms,
            duration_ms=elapsed(state.began_ms, until_ms),
            way_back=state.path,
            stands_at=current,
            place=now.place if now is not None and is_there else "",
            waiting_for=now.holds if now is not None and is_there else (),
            checkpoints=[each.account(state, until_ms) for each in self._records.values()],
            orchestrators=recorded.orchestrators,
            unexpected=[
                Noticed.from_facts(body, at=entry.at_ms)
                for entry, body in recorded.entries
                if isinstance(body, entries.UnexpectedChange)
            ],
        )

    def _update(self, at_ms: int) -> None:
        for each in self._open():
            if self._state is not None:
                each.update(at_ms, self._state)

    def _pass_marks(self, until_ms: int) -> None:
        """Process the times without a running `kraftgate run`: they hold the open checkpoint."""
        while self._marks and self._marks[0].at_ms <= until_ms:
            mark = self._marks.pop(0)
            for each in self._open():
                each.is_away = not mark.runs and each.entered_ms < mark.at_ms
            self._update(mark.at_ms)

    def _open(self) -> list[CheckpointRecord]:
        return [each for each in self._records.values() if each.ended_ms is None]

    def _known(self, id_: str, path: str | None) -> Checkpoint | None:
        """Return the checkpoint in the runbook; None: its text is not available."""
        if self._loaded is None:
            return None
        try:
            return checkpoint_of(self._loaded.runbook, path, id_)
        except (KeyError, StopIteration):  # only in a trail that was tampered with
            return None


def _marks(runs: Sequence[RunSpan], as_of_ms: int) -> list[_Mark]:
    """Return when each `kraftgate run` ended and when the next one began, in order of time."""
    marks: list[_Mark] = []
    for number, run in enumerate(runs, start=1):
        if run.until_ms is not None and run.until_ms < as_of_ms:
            marks.append(_Mark(run.until_ms, runs=False))
            marks += [_Mark(each.began_ms, runs=True) for each in runs[number : number + 1]]
    return marks
