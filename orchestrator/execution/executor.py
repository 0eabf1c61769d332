"""Executes a runbook on one cluster: one tick at a time, one checkpoint at a time.

Every tick reads the entries that other processes appended to the audit trail (approvals, pauses),
evaluates the conditions of the current checkpoint, and does at most one thing. It records an action
in the trail before it does it, with the orchestrator's fence, so that of two processes only the one
that took the fence last can act.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from migration.assessment.conditions import Condition, Finding, Verdict, View
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Body, JsonFacts
from orchestrator.audit.execution.state import CheckpointState, ExecutionState, Stage
from orchestrator.audit.execution.trail import ExecutionTrail
from orchestrator.execution.approvals import basis, changed
from orchestrator.execution.checkpoint_conditions import Conditions
from orchestrator.execution.judge import Answer, Judge, Part
from orchestrator.execution.route import (
    Done,
    Stop,
    Stuck,
    asked_at,
    next_stop,
    people_asked,
    was_begun,
)
from orchestrator.execution.steps import Steps
from orchestrator.runbook.loaded import Loaded

_SAY_DONE: Final = (
    "your word that the step is done, since the gate held before it and cannot tell:"
    " kraftgate decide '{}' --done --reason ..."
)
_HAND_OVER: Final = (
    "its step, which is shown to be done by hand; to hand it to its hook:"
    " kraftgate decide '{}' --execute --reason ..."
)
How = Literal["opened", "already"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The state of the execution at one tick, for screens and `--until`.

    Attributes:
        stop: the current checkpoint; None: between two, or the execution has ended.
        holds: why it does not continue, the most severe reason first; empty: it continues.
        findings: the findings behind `holds`.
        people: how many people must approve the step before it begins; 0: none.
    """

    walk: ExecutionState
    stop: str | None = None
    title: str | None = None
    holds: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    people: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """The data of one tick, passed from rule to rule."""

    walk: ExecutionState
    stop: Stop
    view: View
    facts: JsonFacts

    @property
    def place(self) -> CheckpointState:
        return self.walk.checkpoint(self.stop.id)


class Walker:
    """Executes a runbook on one cluster; not thread-safe.

    Args:
        steps: makes the steps, given the function that appends to the trail.
        fence: the value that `ExecutionTrail.take_fence` returned.
    """

    def __init__(
        self,
        *,
        loaded: Loaded,
        trail: ExecutionTrail,
        fence: int,
        judge: Judge,
        steps: Callable[[Callable[[Body], None]], Steps],
    ) -> None:
        self._loaded = loaded
        self._trail = trail
        self._fence = fence
        self._judge = judge
        self._conditions = Conditions(loaded.runbook)
        self._steps = steps(self._tell)
        self._epochs: dict[int, int | None] = {}
        self._now_ms = 0
        self._judging: tuple[str, Stage] | None = None

    def tick(self, view: View, facts: JsonFacts) -> Standing | None:
        """Evaluate one tick, and do what is due; None: no execution has begun.

        Raises:
            FencedOff: another orchestrator took over.
            AuditError: the trail cannot be written; nothing is done without it.
            HookError: the state of a hook cannot be read.
        """
        self._now_ms = view.now_ms
        walk = self._trail.state()
        if walk is not None:
            self._steps.settle(walk, view)
        if walk is None or walk.outcome is not None:
            return None if walk is None else Standing(walk=walk)
        if walk.sha256 != self._loaded.sha256:
            changed_text = (
                f"{self._loaded.path} was changed since this walk began with it: put it back, or"
                " end the walk (kraftgate abort) and begin anew (kraftgate begin)"
            )
            return Standing(walk=walk, holds=(changed_text,))
        if walk.left_running is not None:
            waits = self._steps.look_left(walk.left_running)
            if waits is not None:
                return Standing(walk=walk, holds=(f"{waits}: an earlier walk started it",))
            return self._standing(None)
        stop = next_stop(walk, self._loaded.runbook, view)
        match stop:
            case Stuck():
                self._judging = None
                return Standing(walk=walk, stop=stop.id, holds=(stop.why,))
            case Done():
                return self._pass(stop.id, "opened", facts)
            case None:
                outcome = "completed" if walk.path is None else "rolled-back"
                self._tell(entries.ExecutionEnded.model_validate({"outcome": outcome}))
                return self._standing(None)
        self._notice(stop, view)
        look = _Look(walk=walk, stop=stop, view=view, facts=facts)
        if (stop.id, look.place.stage) != self._judging:
            self._judge.forget()  # what held before a step, or while not evaluated, does not count
            self._judging = (stop.id, look.place.stage)
        return self._at(look)

    def _at(self, at: _Look) -> Standing:
        match at.place.stage:
            case Stage.AHEAD:
                self._tell(entries.CheckpointEntered(checkpoint=at.stop.id))
                return self._standing(at.stop)
            case Stage.ENTERED:
                return self._before_step(at)
            case Stage.RUNNING:
                waits = self._steps.look(at.stop.id, str(at.place.run))
                return self._standing(at.stop, () if waits is None else (waits,))
            case Stage.ASKS:
                return self._asking(at)
            case Stage.SHOWN:
                return self._shown(at)
            case _:
                return self._gate(at, "opened")

    def _shown(self, at: _Look) -> Standing:
        """Wait for an operator who does the step, or hands it to its hook."""
        if at.place.open_before:
            standing = self._standing(at.stop, (_SAY_DONE.format(at.stop.id),))
        else:
            standing = self._gate(at, "opened")
        step = at.stop.checkpoint.step
        if standing.stop is None or step is None:
            return standing
        if not self._steps.has_hook(at.stop, step, at.view):
            return standing
        return replace(standing, holds=(*standing.holds, _HAND_OVER.format(at.stop.id)))

    def _before_step(self, at: _Look) -> Standing:
        if at.stop.checkpoint.already and self._judged(at, "already").holds:
            return self._gate(at, "already")
        needs = self._judged(at, "needs")
        holds = [_words(each) for each in needs.holding_back]
        elsewhere = self._steps.waits(at.walk, at.view)
        if elsewhere is not None:
            holds.insert(0, elsewhere)
        if at.walk.paused is not None:
            holds.insert(0, f"paused by {at.walk.paused.by.who}: {at.walk.paused.reason}")
        waits = self._approval(at)
        if waits is not None:
            holds.append(waits)
        if not needs.holds and not holds:
            holds.append("the guards hold by the last data; polling once more to confirm")
        if holds:
            return self._standing(at.stop, tuple(holds), needs.findings)
        step = at.stop.checkpoint.step
        if step is None:
            return self._gate(at, "opened")
        cannot = self._steps.take(
            at.walk,
            at.stop,
            step,
            at.view,
            at.facts,
            lambda: self._judged(at, "opens_when").verdict is Verdict.SATISFIED,
        )
        return self._standing(at.stop, () if cannot is None else (cannot,))

    def _approval(self, at: _Look) -> str | None:
        """Return what the approvals lack; None: nothing. Expires those whose state has changed."""
        wanted = at.stop.checkpoint.approval
        if wanted is None or at.stop.begun:
            return None
        expired = None
        for place in asked_at(at.walk, at.place, wanted):
            enough = len(place.approvals) >= wanted.people
            if enough and place.id != at.stop.id and was_begun(place):
                return None
            lines = self._differs(at, place)
            if lines:
                self._tell(entries.ApprovalsExpired(checkpoint=place.id, changed=lines))
                expired = f"approval: the one given has expired, {lines[0]}"
            elif enough:
                return None
        if expired is not None:
            return expired
        names = sorted(each.by.words() for each in at.place.approvals)
        so_far = f" ({', '.join(names)} did)" if names else ""
        people = "a person" if wanted.people == 1 else f"{wanted.people} people"
        return f"approval by {people}{so_far}: kraftgate approve '{at.stop.id}' --reason ..."

    def _differs(self, at: _Look, place: CheckpointState) -> tuple[str, ...]:
        """Return what has changed since the approvals of a place, a line each."""
        now = basis(at.view.summary, at.view.hazards, self._loaded.sha256)
        lines = (line for each in place.approvals for line in changed(each.basis, now))
        return tuple(dict.fromkeys(lines))

    def _asking(self, at: _Look) -> Standing:
        """Wait for a decision, unless the cluster shows that a step of unknown outcome was done."""
        place = at.place
        if place.outcome_unknown and not place.open_before and self._judged(at, "opens_when").holds:
            return self._pass(at.stop.id, "opened", at.facts)
        asks = (
            f"a decision, since {place.asks}: look at the host, then"
            f" kraftgate decide '{at.stop.id}' --done or --repeat, with --reason"
        )
        return self._standing(at.stop, (asks,))

    def _gate(self, at: _Look, how: How) -> Standing:
        answer = self._judged(at, "opens_when")
        if answer.holds:
            return self._pass(at.stop.id, how, at.facts)
        holds = [_words(each) for each in answer.holding_back]
        if not holds:
            holds.append("the gate holds by the last data; polling once more to confirm")
        return self._standing(at.stop, tuple(holds), answer.findings)

    def _pass(self, id_: str, how: How, facts: JsonFacts) -> Standing:
        self._tell(entries.CheckpointPassed(checkpoint=id_, how=how, facts=facts))
        return self._standing(None)

    def _judged(self, at: _Look, part: Part) -> Answer:
        conditions: Sequence[Condition] = self._conditions.of(at.stop, part)
        answer = self._judge.judge(at.place, part, conditions, at.view, at.facts)
        if answer.told is not None:
            self._tell(answer.told)
        return answer

    def _notice(self, stop: Stop, view: View) -> None:
        """Record brokers that registered again while the checkpoint is not about them."""
        for broker in view.summary.brokers:
            before = self._epochs.get(broker.id, broker.epoch)
            self._epochs[broker.id] = broker.epoch
            if before == broker.epoch or stop.broker == broker.id:
                continue
            offset = broker.registered_offset  # of a registration with the controllers
            where = "" if offset is None else f" at offset {offset}"
            text = (
                f"broker {broker.id} registered anew in {broker.mode} mode{where},"
                f" while the walk stands at {stop.id}"
            )
            self._tell(entries.UnexpectedChange(text=text, broker=broker.id))

    def _tell(self, body: Body) -> None:
        self._trail.append(body, self._now_ms, self._fence)

    def _standing(
        self, stop: Stop | None, holds: tuple[str, ...] = (), findings: tuple[Finding, ...] = ()
    ) -> Standing:
        walk = self._trail.state()
        if walk is None:
            raise AssertionError("a walk that stands somewhere has begun")
        if stop is None:
            return Standing(walk=walk, holds=holds, findings=findings)
        return Standing(
            walk=walk,
            stop=stop.id,
            title=stop.checkpoint.title,
            holds=holds,
            findings=findings,
            people=people_asked(walk, stop),
        )


def _words(finding: Finding) -> str:
    mark = "" if finding.verdict is Verdict.WAITING else f" ({finding.verdict})"
    return f"{finding.condition}{mark}: {finding.reason}"
