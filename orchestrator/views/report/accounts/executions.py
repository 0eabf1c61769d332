"""The executions of runbooks, from their entries in the audit trail."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from orchestrator.api.report.execution import CheckpointAccount, Noticed, Orchestrator, WalkAccount
from orchestrator.audit import Entry
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import KINDS, Body, body_of
from orchestrator.audit.run_spans import Run
from orchestrator.execution.route import checkpoints
from orchestrator.run.execution_status import WalkTold
from orchestrator.runbook.loaded import Loaded
from orchestrator.runbook.model import Approval, Checkpoint
from orchestrator.views.report.accounts.checkpoints import Passing


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
    for each in found:
        if each.kind not in KINDS:
            continue
        body = body_of(each.kind, each.body)
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
    runs: Sequence[Run],
    now: WalkTold | None,
    as_of_ms: int,
) -> WalkAccount:
    """Return the account of one execution; `now`: the last one's reported state, else None."""
    fold = _Fold(walked, runbooks.get(walked.began.sha256), _marks(runs, as_of_ms))
    if walked.taken_up is not None:
        fold.take(*walked.taken_up)
    for entry, body in walked.entries:
        fold.take(entry, body)
    return fold.account(now, as_of_ms)


class _Mark(NamedTuple):
    """A time from which an orchestrator runs, or none does."""

    at_ms: int
    runs: bool


class _Fold:
    """The state of the fold over one execution's entries."""

    def __init__(self, walked: Walked, loaded: Loaded | None, marks: list[_Mark]) -> None:
        self._walked = walked
        self._marks = marks
        self._loaded = loaded
        self._known = self._on_way(None)
        self._path: str | None = None
        self._turned_at: str | None = None
        self._passing: dict[str, Passing] = {}
        self._begun: set[str] = set()
        self._orchestrators: list[Orchestrator] = []
        self._unexpected: list[Noticed] = []
        self._paused: str | None = None
        self._ended_ms: int | None = None
        self._outcome: str | None = None

    def take(self, entry: Entry, body: Body) -> None:
        self._pass_marks(entry.at_ms)
        self._take(entry.at_ms, body)

    def _pass_marks(self, until_ms: int) -> None:
        """Process the times without a running `kraftgate run`: they hold the open checkpoint."""
        while self._marks and self._marks[0].at_ms <= until_ms:
            mark = self._marks.pop(0)
            for each in self._open():
                if mark.runs:
                    each.holding.back(mark.at_ms)
                elif each.entered_ms < mark.at_ms:
                    each.holding.away(mark.at_ms)

    def _take(self, at_ms: int, body: Body) -> None:  # noqa: C901  # a case an entry
        match body:
            case entries.ExecutionBegan():
                pass
            case entries.OrchestratorStarted():
                self._orchestrators.append(
                    Orchestrator(
                        owner=body.owner,
                        version=body.version,
                        execute=body.execute,
                        hooks_sha256=body.hooks_sha256,
                        began_at=at_ms,
                        ended_at=None,
                    )
                )
                self._locks(at_ms, None)
            case entries.OrchestratorEnded():
                last = [o.model_copy(update={"ended_at": at_ms}) for o in self._orchestrators[-1:]]
                self._orchestrators[-1:] = last
            case entries.LockLost():
                self._locks(at_ms, body.reason)
            case entries.LockAcquired():
                self._locks(at_ms, None)
            case entries.Paused():
                self._paused = f"{body.by.who}: {body.reason}"
                for each in self._open():
                    each.holding.pause(at_ms, self._paused)
            case entries.Resumed():
                self._paused = None
                for each in self._open():
                    each.holding.resume(at_ms)
            case entries.RollbackBegan():
                self._turn(at_ms, body)
            case entries.Aborted():
                self._end(at_ms, "aborted")
            case entries.ExecutionEnded():
                self._end(at_ms, body.outcome)
            case entries.UnexpectedChange():
                self._unexpected.append(Noticed(at=at_ms, text=body.text, broker=body.broker))
            case entries.CheckpointEntered():
                self._enter(at_ms, body.checkpoint)
            case _:
                self._at(at_ms, body)

    def _at(self, at_ms: int, body: Body) -> None:
        passing = self._passing.get(getattr(body, "checkpoint", ""))
        if isinstance(body, entries.ApprovalsExpired) and passing is not None and passing.ended_ms:
            return  # of a checkpoint that is passed: the approval only stops covering a later one
        if passing is None:
            return  # all instances of a checkpoint passed: each has its own entry
        if isinstance(body, entries.StepStarted | entries.StepShown):
            self._begun.add(_name(passing.id))
        passing.take(at_ms, body)
        if self._paused is not None and passing.ended_ms is None:
            passing.holding.pause(at_ms, self._paused)

    def _enter(self, at_ms: int, id_: str) -> None:
        known = self._known.get(_name(id_))
        people = 0
        if known is not None and known.approval is not None and known.id not in self._begun:
            people = 0 if self._covers(known.approval) else known.approval.people
        passing = Passing.entered(id_, known, self._path, at_ms, people)
        if self._paused is not None:
            passing.holding.pause(at_ms, self._paused)
        self._passing[id_] = passing

    def _covers(self, approval: Approval) -> bool:
        """Return whether the approvals of an earlier checkpoint are enough for this one, too."""
        given_at = self._passing.get(approval.given_at or "")
        return given_at is not None and len(given_at.holding.approved) >= approval.people

    def _open(self) -> Iterable[Passing]:
        return (each for each in self._passing.values() if each.ended_ms is None)

    def _locks(self, at_ms: int, lost: str | None) -> None:
        for each in self._open():
            each.holding.lock(at_ms, lost)

    def _turn(self, at_ms: int, body: entries.RollbackBegan) -> None:
        for each in self._open():
            each.end(at_ms, "turned back")
        self._path, self._turned_at, self._paused = body.path, body.at, None
        self._known = self._on_way(body.path)

    def _end(self, at_ms: int, outcome: str) -> None:
        for each in self._open():
            each.end(at_ms, "aborted")
        self._ended_ms, self._outcome = at_ms, outcome

    def _on_way(self, path: str | None) -> dict[str, Checkpoint]:
        """Return the checkpoints of a path by id; empty if the runbook's text is not available."""
        if self._loaded is None:
            return {}
        try:
            found = checkpoints(self._loaded.runbook, path)
        except KeyError:  # only a trail that was tampered with names an unknown path
            return {}
        return {each.id: each for each in found}

    def account(self, now: WalkTold | None, as_of_ms: int) -> WalkAccount:
        self._pass_marks(as_of_ms)
        began, began_ms = self._walked.began, self._walked.entries[0][0].at_ms
        until_ms = as_of_ms if self._ended_ms is None else self._ended_ms
        told: list[CheckpointAccount] = [e.account(until_ms) for e in self._passing.values()]
        stands = next((each.id for each in self._open()), None)
        return WalkAccount.model_validate(
            {
                "number": self._walked.number,
                "runbook": began.runbook,
                "runbook_sha256": began.sha256,
                "runbook_kept": self._loaded is not None,
                "began_at": began_ms,
                "ended_at": self._ended_ms,
                "duration_ms": max(0, until_ms - began_ms),
                "outcome": self._outcome,
                "way_back": self._path,
                "turned_at": self._turned_at,
                "stands_at": stands,
                "waiting_for": () if now is None or now.checkpoint != stands else now.holds,
                "checkpoints": told,
                "orchestrators": self._orchestrators,
                "unexpected": self._unexpected,
            }
        )


def _marks(runs: Sequence[Run], as_of_ms: int) -> list[_Mark]:
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
