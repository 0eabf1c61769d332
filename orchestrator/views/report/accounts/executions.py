"""The executions of runbooks, from their entries in the audit trail."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from orchestrator.api.report.execution import Noticed, Orchestrator, WalkAccount
from orchestrator.audit import Entry
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Body
from orchestrator.audit.execution.state import fold
from orchestrator.audit.run_spans import RunSpan
from orchestrator.execution.route import checkpoints
from orchestrator.run.execution_status import ExecutionStatus
from orchestrator.runbook.loaded import Loaded
from orchestrator.runbook.model import Checkpoint
from orchestrator.views.report.accounts.checkpoint_holds import Holding
from orchestrator.views.report.accounts.checkpoints import CheckpointRecord


@dataclass(slots=True, kw_only=True)
class Walked:
    """The typed entries of one execution, in the trail's order.

    Attributes:
        taken_up: the entry of the orchestrator that already ran when the execution began.
    """

    number: int
    began: entries.ExecutionBegan
    taken_up: tuple[Entry, entries.OrchestratorStarted] | None = None
    entries: list[tuple[Entry, Body]] = field(default_factory=list)


def walks(found: Iterable[Entry]) -> list[Walked]:
    """Return a cluster's executions with their entries.

    Raises:
        pydantic.ValidationError: an entry was written by another version.
    """
    told: list[Walked] = []
    runs: tuple[Entry, entries.OrchestratorStarted] | None = None
    for each, body in Body.read(found):
        if isinstance(body, entries.ExecutionBegan):
            told.append(Walked(number=len(told) + 1, began=body, taken_up=runs))
        elif isinstance(body, entries.OrchestratorStarted):
            runs = each, body
        elif isinstance(body, entries.OrchestratorEnded):
            runs = None
        if told:
            told[-1].entries.append((each, body))
    return told


def account(
    walked: Walked,
    runbooks: Mapping[str, Loaded],
    runs: Sequence[RunSpan],
    now: ExecutionStatus | None,
    as_of_ms: int,
) -> WalkAccount:
    """Return the account of one execution; `now`: the last one's reported state, else None."""
    course = _Course(walked, runbooks.get(walked.began.sha256), _marks(runs, as_of_ms))
    for entry, body in walked.entries[1:]:
        course.take(entry, body)
    return course.account(now, as_of_ms)


class _Mark(NamedTuple):
    """A time from which an orchestrator runs, or none does."""

    at_ms: int
    runs: bool


class _Course:
    """The checkpoints of one execution, entry by entry."""

    def __init__(self, walked: Walked, loaded: Loaded | None, marks: list[_Mark]) -> None:
        (began, body), *_ = walked.entries
        state = fold(None, [(began.sequence, began.at_ms, body)])
        if state is None:
            raise ValueError(f"audit entry {began.sequence} begins no execution")
        self._walked = walked
        self._loaded = loaded
        self._marks = marks
        self._state = state
        self._records: dict[str, CheckpointRecord] = {}
        self._begun: set[str] = set()

    def take(self, entry: Entry, body: Body) -> None:
        at_ms = entry.at_ms
        self._pass_marks(at_ms)
        self._state = fold(self._state, [(entry.sequence, at_ms, body)]) or self._state
        if isinstance(body, entries.CheckpointEntered):
            self._records[body.checkpoint] = self._entered(at_ms, body.checkpoint)
        if isinstance(body, entries.StepStarted | entries.StepShown):
            self._begun.add(_name(body.checkpoint))
        record = self._records.get(getattr(body, "checkpoint", ""))
        if record is not None and record.ended_ms is None:
            record.take(at_ms, self._state.checkpoint(record.id), body)
        self._update(at_ms)

    def _update(self, at_ms: int) -> None:
        for each in self._open():
            each.update(at_ms, self._state)

    def _pass_marks(self, until_ms: int) -> None:
        """Process the times without a running `kraftgate run`: they hold the open checkpoint."""
        while self._marks and self._marks[0].at_ms <= until_ms:
            mark = self._marks.pop(0)
            for each in self._open():
                each.holding.is_away = not mark.runs and each.entered_ms < mark.at_ms
            self._update(mark.at_ms)

    def _entered(self, at_ms: int, id_: str) -> CheckpointRecord:
        known = self._known().get(_name(id_))
        people = 0
        if known is not None and known.approval is not None and known.id not in self._begun:
            given_at = self._state.checkpoint(known.approval.given_at or "")
            if len(given_at.approvals) < known.approval.people:
                people = known.approval.people
        has_step = None if known is None else known.step is not None
        return CheckpointRecord(
            id=id_,
            title=None if known is None else known.title,
            path=self._state.path,
            entered_ms=at_ms,
            holding=Holding(people=people, has_step=has_step),
        )

    def _open(self) -> list[CheckpointRecord]:
        return [each for each in self._records.values() if each.ended_ms is None]

    def _known(self) -> dict[str, Checkpoint]:
        """Return the path's checkpoints by id; empty if the runbook's text is not available."""
        if self._loaded is None:
            return {}
        try:
            found = checkpoints(self._loaded.runbook, self._state.path)
        except KeyError:  # only a trail that was tampered with names an unknown path
            return {}
        return {each.id: each for each in found}

    def account(self, now: ExecutionStatus | None, as_of_ms: int) -> WalkAccount:
        self._pass_marks(as_of_ms)
        state, began = self._state, self._walked.began
        until_ms = as_of_ms if state.ended_ms is None else state.ended_ms
        stands = next((each.id for each in self._open()), None)
        return WalkAccount.model_validate(
            {
                "number": self._walked.number,
                "runbook": began.runbook,
                "runbook_sha256": began.sha256,
                "runbook_kept": self._loaded is not None,
                "began_at": state.began_ms,
                "ended_at": state.ended_ms,
                "duration_ms": max(0, until_ms - state.began_ms),
                "outcome": state.outcome,
                "way_back": state.path,
                "turned_at": state.turned_at,
                "stands_at": stands,
                "waiting_for": () if now is None or now.checkpoint != stands else now.holds,
                "checkpoints": [e.account(state, until_ms) for e in self._records.values()],
                "orchestrators": _orchestrators(self._walked),
                "unexpected": [
                    Noticed(at=entry.at_ms, text=body.text, broker=body.broker)
                    for entry, body in self._walked.entries
                    if isinstance(body, entries.UnexpectedChange)
                ],
            }
        )


def _orchestrators(walked: Walked) -> list[Orchestrator]:
    found: list[Orchestrator] = []
    for entry, body in (*filter(None, [walked.taken_up]), *walked.entries):
        if isinstance(body, entries.OrchestratorStarted):
            found.append(
                Orchestrator(
                    owner=body.owner,
                    version=body.version,
                    execute=body.execute,
                    hooks_sha256=body.hooks_sha256,
                    began_at=entry.at_ms,
                    ended_at=None,
                )
            )
        elif isinstance(body, entries.OrchestratorEnded) and found:
            found[-1] = found[-1].model_copy(update={"ended_at": entry.at_ms})
    return found


def _marks(runs: Sequence[RunSpan], as_of_ms: int) -> list[_Mark]:
    """Return when each `kraftgate run` ended and when the next one began, in order of time."""
    marks: list[_Mark] = []
    for number, run in enumerate(runs, start=1):
        ended_ms = run.ended_ms if run.ended_ms is not None else run.last_seen_ms
        if ended_ms is not None and ended_ms < as_of_ms:
            marks.append(_Mark(ended_ms, runs=False))
            marks += [_Mark(each.began_ms, runs=True) for each in runs[number : number + 1]]
    return marks


def _name(id_: str) -> str:
    return id_.partition("[")[0]
