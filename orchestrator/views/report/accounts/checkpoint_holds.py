"""The reasons that held a checkpoint, with durations: from the execution's state after each entry.

Several conditions can hold a checkpoint at the same time, so these durations must not be added.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeAlias

from migration.assessment.conditions import Verdict
from orchestrator.api.report.execution import Hold
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Body, Evaluated
from orchestrator.audit.execution.state import CheckpointState, ExecutionState, Stage

Kind: TypeAlias = Literal[
    "guard", "gate", "look", "step", "decision", "approval", "pause", "lock", "not_running"
]
Key: TypeAlias = tuple[Kind, str]
_GRAVEST: Final = (Verdict.VIOLATED, Verdict.UNKNOWN, Verdict.WAITING)
_PARTS: Final[Mapping[str, Kind]] = {"needs": "guard", "opens_when": "gate"}


class Reason(NamedTuple):
    """Why something holds a checkpoint; `verdict`: of a condition."""

    text: str
    verdict: Verdict | None = None


@dataclass(slots=True, kw_only=True)
class _Held:
    """One reason, over all its occurrences."""

    began_ms: int
    reason: str
    last_reason: str = ""
    verdict: Verdict | None = None
    open_ms: int | None = None
    ended_ms: int | None = None
    spent_ms: int = 0
    times: int = 0

    def begin(self, at_ms: int, reason: Reason) -> None:
        self.last_reason = reason.text
        known = [each for each in (self.verdict, reason.verdict) if each is not None]
        self.verdict = min(known, key=_GRAVEST.index, default=None)
        if self.open_ms is None:
            self.open_ms, self.times = at_ms, self.times + 1

    def end(self, at_ms: int) -> None:
        if self.open_ms is not None:
            self.spent_ms += max(0, at_ms - self.open_ms)
            self.ended_ms, self.open_ms = at_ms, None


@dataclass(slots=True, kw_only=True)
class Holding:
    """Records what holds one checkpoint, entry by entry.

    Attributes:
        people: how many people must approve its step; 0: no approval is required.
        has_step: whether it has a step; None: unknown.
        is_away: whether no orchestrator runs.
        approval: why its step must be approved; None: it need not, or is.
        evaluated: the evaluations since the last change of its stage, the latest last.
    """

    people: int
    has_step: bool | None
    is_away: bool = False
    approval: str | None = field(init=False)
    evaluated: dict[str, Evaluated] = field(default_factory=dict)
    held: dict[Key, _Held] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begin with the approval, if one is required."""
        self.approval = "its step must be approved" if self.people else None

    def take(self, now: CheckpointState, body: Body) -> None:
        """Process an entry of this checkpoint, which has this state after it."""
        match body:
            case Evaluated():
                self.evaluated.pop(body.part, None)
                self.evaluated[body.part] = body
            case entries.Approved():
                if len(now.approvals) >= self.people:
                    self.approval = None
            case entries.ApprovalsExpired():
                if self.people:
                    self.approval = f"the one given has expired: {'; '.join(body.changed)}"
            case entries.StepStarted() | entries.StepShown():
                self.approval = None  # it was approved, perhaps by the rules of an older version
                self.evaluated.clear()
            case _:
                self.evaluated.clear()

    def update(self, at_ms: int, execution: ExecutionState, now: CheckpointState) -> None:
        """Begin and end reasons, as the state is from this time on."""
        reasons = {} if now.is_behind or execution.outcome else self._reasons(execution, now)
        for key, each in self.held.items():
            if key not in reasons:
                each.end(at_ms)
        for key, reason in reasons.items():
            held = self.held.setdefault(key, _Held(began_ms=at_ms, reason=reason.text))
            held.begin(at_ms, reason)

    def holds(self, as_of_ms: int) -> tuple[Hold, ...]:
        """Return the reasons, the longest first; one that ended at once is left out."""
        found = []
        for (kind, what), each in self.held.items():
            lasting = 0 if each.open_ms is None else max(0, as_of_ms - each.open_ms)
            spent_ms = each.spent_ms + lasting
            if spent_ms == 0 and each.open_ms is None:
                continue
            hold = Hold(
                kind=kind,
                what=what,
                verdict=None if each.verdict is None else str(each.verdict),
                reason=each.reason,
                last_reason=each.last_reason,
                began_at=each.began_ms,
                ended_at=None if each.open_ms is not None else each.ended_ms,
                times=each.times,
                duration_ms=spent_ms,
            )
            found.append(hold)
        return tuple(sorted(found, key=lambda each: (-each.duration_ms, each.kind, each.what)))

    def _reasons(self, execution: ExecutionState, now: CheckpointState) -> dict[Key, Reason]:
        pause = None
        if execution.paused is not None and now.stage is Stage.ENTERED:
            pause = f"{execution.paused.by.who}: {execution.paused.reason}"
        whose = "a person" if self.people == 1 else f"{self.people} people"
        texts: dict[Key, str | None] = {
            ("approval", f"approval by {whose}"): self.approval,
            ("step", "its command"): "the command runs" if now.stage is Stage.RUNNING else None,
            ("step", "its step, by hand"): "a person does it" if now.stage is Stage.SHOWN else None,
            ("decision", "a person's decision"): now.asks,
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
        if each.part == "opens_when" and now.stage is Stage.ENTERED and self.has_step:
            already = now.evaluated.get("already")
            return already is not None and already.verdict is Verdict.SATISFIED
        return each.part in _PARTS
