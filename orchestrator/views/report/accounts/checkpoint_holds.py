"""The reasons that held a checkpoint, with durations: from verdicts and decisions in the trail.

Several conditions can hold a checkpoint at the same time, so these durations must not be added.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from migration.assessment.conditions import Verdict
from orchestrator.api.report.execution import Hold
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Body

Kind: TypeAlias = Literal[
    "guard", "gate", "look", "step", "decision", "approval", "pause", "lock", "not_running"
]
Key: TypeAlias = tuple[Kind, str]
_GRAVEST: Final = (Verdict.VIOLATED, Verdict.UNKNOWN, Verdict.WAITING)
_PARTS: Final[dict[str, Kind]] = {"needs": "guard", "opens_when": "gate"}


@dataclass(slots=True, kw_only=True)
class _Held:
    """One reason, over all its occurrences."""

    began_ms: int
    reason: str
    last_reason: str
    verdict: Verdict | None = None
    open_ms: int | None = None
    ended_ms: int | None = None
    spent_ms: int = 0
    times: int = 0

    def begin(self, at_ms: int, reason: str, verdict: Verdict | None) -> None:
        self.last_reason = reason
        if verdict is not None:
            known = [each for each in (self.verdict, verdict) if each is not None]
            self.verdict = min(known, key=_GRAVEST.index)
        if self.open_ms is None:
            self.open_ms, self.times = at_ms, self.times + 1

    def end(self, at_ms: int) -> None:
        if self.open_ms is not None:
            self.spent_ms += max(0, at_ms - self.open_ms)
            self.ended_ms, self.open_ms = at_ms, None


@dataclass(slots=True, kw_only=True)
class Holding:
    """Collects what holds one checkpoint, entry by entry.

    Attributes:
        people: how many people must approve its step; 0: no approval is required.
        has_step: whether it has a step; None: unknown.
        doing: its stage: before its step, in it, waiting for a decision, or at its gate.
        confirming: the part that holds by the last data, guard or gate; its sources are polled once
            more, which holds the checkpoint only while no other reason does.
    """

    people: int
    has_step: bool | None
    doing: Literal["before", "step", "asks", "gate"] = "before"
    already: bool = False
    approved: list[entries.Person] = field(default_factory=list)
    held: dict[Key, _Held] = field(default_factory=dict)
    confirming: Kind | None = None

    @classmethod
    def entered(cls, at_ms: int, *, people: int, has_step: bool | None) -> "Holding":
        """Return the state of a checkpoint that the execution has just entered."""
        made = cls(people=people, has_step=has_step)
        if people:
            made._begin("approval", made._wanted(), at_ms, "its step must be approved")
        return made

    def take(self, at_ms: int, body: Body) -> None:
        """Process an entry of this checkpoint."""
        self._take(at_ms, body)
        self._confirm(at_ms)

    def _take(self, at_ms: int, body: Body) -> None:  # noqa: C901  # a case an entry
        match body:
            case entries.Evaluated():
                self._judged(at_ms, body)
            case entries.Approved():
                self.approved = [e for e in self.approved if not e.same_login(body.by)]
                self.approved.append(body.by)
                if len(self.approved) >= self.people:
                    self._end("approval", at_ms)
            case entries.ApprovalsExpired():
                self.approved.clear()
                if self.people:
                    why = f"the one given has expired: {'; '.join(body.changed)}"
                    self._begin("approval", self._wanted(), at_ms, why)
            case entries.StepStarted():
                self._turn("step", at_ms)
                self._begin("step", "its command", at_ms, "the command runs")
            case entries.StepShown():
                self._turn("step", at_ms)
                self._begin("step", "its step, by hand", at_ms, "a person does it")
            case entries.StepEnded() if body.succeeded:
                self._turn("gate", at_ms)
            case entries.StepEnded():
                self._asks(at_ms, f"its command {body.how}")
            case entries.StepUnknown():
                self._asks(at_ms, body.why)
            case entries.StepNotStarted():
                self._turn("before", at_ms)
            case entries.StepDecided():
                self._turn("gate" if body.decision == "done" else "before", at_ms)

    def pause(self, at_ms: int, reason: str) -> None:
        """Record that from now on no step starts."""
        if self.doing == "before":
            self._begin("pause", "a pause", at_ms, reason)
            self._confirm(at_ms)

    def resume(self, at_ms: int) -> None:
        """Record that steps start again."""
        self._end("pause", at_ms)
        self._confirm(at_ms)

    def lock(self, at_ms: int, lost: str | None) -> None:
        """Record that the lock was lost, or (None) is held again."""
        if lost is None:
            self._end("lock", at_ms)
        else:
            self._begin("lock", "the orchestrator's lock", at_ms, lost)
        self._confirm(at_ms)

    def away(self, at_ms: int) -> None:
        """Record that from now on no orchestrator runs."""
        self._begin("not_running", "kraftgate run", at_ms, "no orchestrator ran")
        self._confirm(at_ms)

    def back(self, at_ms: int) -> None:
        """Record that an orchestrator runs again."""
        self._end("not_running", at_ms)
        self._confirm(at_ms)

    def close(self, at_ms: int) -> None:
        """Record that the execution has left the checkpoint."""
        for each in self.held.values():
            each.end(at_ms)

    def told(self, as_of_ms: int) -> tuple[Hold, ...]:
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

    def _judged(self, at_ms: int, body: entries.Evaluated) -> None:
        if body.part == "already":
            self.already = body.verdict is Verdict.SATISFIED
            return
        kind = _PARTS[body.part]
        # Before the step, the gate decides only whether the step can be omitted: it holds nothing.
        if kind == "gate" and self.doing == "before" and self.has_step and not self.already:
            return
        unmet = [each for each in body.findings if each.verdict is not Verdict.SATISFIED]
        for key in [each for each in self.held if each[0] == kind]:
            if key[1] not in {each.condition for each in unmet}:
                self.held[key].end(at_ms)
        self.confirming = None if unmet else kind
        for each in unmet:
            self._begin(kind, each.condition, at_ms, each.reason, each.verdict)

    def _asks(self, at_ms: int, why: str) -> None:
        self._turn("asks", at_ms)
        self._begin("decision", "a person's decision", at_ms, why)

    def _turn(self, doing: Literal["before", "step", "asks", "gate"], at_ms: int) -> None:
        self.doing, self.confirming = doing, None
        for kind in ("guard", "gate", "step", "decision", "pause"):
            self._end(kind, at_ms)
        if doing == "step":  # it was approved, perhaps by the rules of an older version
            self._end("approval", at_ms)

    def _confirm(self, at_ms: int) -> None:
        """Begin or end the confirmation, which any other reason replaces."""
        open_ = {kind for (kind, _), each in self.held.items() if each.open_ms is not None}
        if self.confirming is None or open_ - {"look"}:
            self._end("look", at_ms)
        else:
            why = "it holds by the last data, and its sources are polled once more"
            self._begin("look", f"confirmation of its {self.confirming}", at_ms, why)

    def _wanted(self) -> str:
        return "approval by a person" if self.people == 1 else f"approval by {self.people} people"

    def _begin(
        self, kind: Kind, what: str, at_ms: int, reason: str, verdict: Verdict | None = None
    ) -> None:
        key = (kind, what)
        if key not in self.held:
            self.held[key] = _Held(began_ms=at_ms, reason=reason, last_reason=reason)
        self.held[key].begin(at_ms, reason, verdict)

    def _end(self, kind: str, at_ms: int) -> None:
        ending: Iterable[_Held] = (each for (of, _), each in self.held.items() if of == kind)
        for each in ending:
            each.end(at_ms)
