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
from orchestrator.execution.judge import Judge, Part, PartResult
from orchestrator.execution.route import (
    AllPassed,
    CheckpointInstance,
    UnknownInstance,
    approvals_needed,
    approved_at,
    next_checkpoint,
    was_begun,
)
from orchestrator.execution.steps import Steps
from orchestrator.runbook.loaded import Loaded

_SAY_DONE: Final = (
    "an operator's decision that the step is done, since the gate held before it already:"
    " kraftgate decide '{}' --done --reason ..."
)
_HAND_OVER: Final = (
    "its step, which is shown to be done by hand; to hand it to its hook:"
    " kraftgate decide '{}' --execute --reason ..."
)
How = Literal["opened", "already"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TickResult:
    """The state of the execution at one tick, for screens and `--until`.

    Attributes:
        checkpoint: the current checkpoint; None: between two, or the execution has ended.
        holds: why it does not continue, the most severe reason first; empty: it continues.
        findings: the findings behind `holds`.
        people: how many people must approve the step before it begins; 0: none.
    """

    execution: ExecutionState
    checkpoint: str | None = None
    title: str | None = None
    holds: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    people: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tick:
    """The data of one tick, passed from rule to rule."""

    execution: ExecutionState
    instance: CheckpointInstance
    view: View
    facts: JsonFacts

    @property
    def state(self) -> CheckpointState:
        return self.execution.checkpoint(self.instance.id)


class Executor:
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
        self._steps = steps(self._record)
        self._epochs: dict[int, int | None] = {}
        self._now_ms = 0
        self._judging: tuple[str, Stage] | None = None

    def tick(self, view: View, facts: JsonFacts) -> TickResult | None:
        """Evaluate one tick, and do what is due; None: no execution has begun.

        Raises:
            FencedOff: another orchestrator took over.
            AuditError: the trail cannot be written; nothing is done without it.
            HookError: the state of a hook cannot be read.
        """
        self._now_ms = view.now_ms
        execution = self._trail.state()
        if execution is not None:
            self._steps.settle(execution, view)
        if execution is None or execution.outcome is not None:
            return None if execution is None else TickResult(execution=execution)
        if execution.sha256 != self._loaded.sha256:
            changed_text = (
                f"{self._loaded.path} was changed since this execution began: restore it, or"
                " abort (kraftgate abort) and begin a new execution (kraftgate begin)"
            )
            return TickResult(execution=execution, holds=(changed_text,))
        if execution.left_running is not None:
            waits = self._steps.poll_leftover(execution.left_running)
            if waits is not None:
                return TickResult(
                    execution=execution, holds=(f"{waits}: an earlier execution started it",)
                )
            return self._result(None)
        instance = next_checkpoint(execution, self._loaded.runbook, view)
        match instance:
            case UnknownInstance():
                self._judging = None
                return TickResult(
                    execution=execution, checkpoint=instance.id, holds=(instance.why,)
                )
            case AllPassed():
                return self._pass(instance.id, "opened", facts)
            case None:
                outcome = "completed" if execution.path is None else "rolled-back"
                self._record(entries.ExecutionEnded.model_validate({"outcome": outcome}))
                return self._result(None)
        self._record_restarts(instance, view)
        look = _Tick(execution=execution, instance=instance, view=view, facts=facts)
        if (instance.id, look.state.stage) != self._judging:
            self._judge.forget()  # what held before a step, or while not evaluated, does not count
            self._judging = (instance.id, look.state.stage)
        return self._at(look)

    def _at(self, at: _Tick) -> TickResult:
        match at.state.stage:
            case Stage.AHEAD:
                self._record(entries.CheckpointEntered(checkpoint=at.instance.id))
                return self._result(at.instance)
            case Stage.ENTERED:
                return self._before_step(at)
            case Stage.RUNNING:
                waits = self._steps.look(at.instance.id, str(at.state.run))
                return self._result(at.instance, () if waits is None else (waits,))
            case Stage.ASKS:
                return self._asking(at)
            case Stage.SHOWN:
                return self._shown(at)
            case _:
                return self._gate(at, "opened")

    def _shown(self, at: _Tick) -> TickResult:
        """Wait for an operator who does the step, or hands it to its hook."""
        if at.state.open_before:
            result = self._result(at.instance, (_SAY_DONE.format(at.instance.id),))
        else:
            result = self._gate(at, "opened")
        step = at.instance.checkpoint.step
        if result.checkpoint is None or step is None:
            return result
        if not self._steps.has_hook(at.instance, step, at.view):
            return result
        return replace(result, holds=(*result.holds, _HAND_OVER.format(at.instance.id)))

    def _before_step(self, at: _Tick) -> TickResult:
        if at.instance.checkpoint.already and self._judged(at, "already").holds:
            return self._gate(at, "already")
        needs = self._judged(at, "needs")
        holds = [_words(each) for each in needs.holding_back]
        elsewhere = self._steps.waits(at.execution, at.view)
        if elsewhere is not None:
            holds.insert(0, elsewhere)
        if at.execution.paused is not None:
            holds.insert(0, f"paused by {at.execution.paused.by.who}: {at.execution.paused.reason}")
        waits = self._approval(at)
        if waits is not None:
            holds.append(waits)
        if not needs.holds and not holds:
            holds.append("the guards hold by the last data; polling once more to confirm")
        if holds:
            return self._result(at.instance, tuple(holds), needs.findings)
        step = at.instance.checkpoint.step
        if step is None:
            return self._gate(at, "opened")
        cannot = self._steps.take(
            at.execution,
            at.instance,
            step,
            at.view,
            at.facts,
            lambda: self._judged(at, "opens_when").verdict is Verdict.SATISFIED,
        )
        return self._result(at.instance, () if cannot is None else (cannot,))

    def _approval(self, at: _Tick) -> str | None:
        """Return what the approvals lack; None: nothing. Expires those whose state has changed."""
        wanted = at.instance.checkpoint.approval
        if wanted is None or at.instance.begun:
            return None
        expired = None
        for state in approved_at(at.execution, at.state, wanted):
            enough = len(state.approvals) >= wanted.people
            if enough and state.id != at.instance.id and was_begun(state):
                return None
            lines = self._differs(at, state)
            if lines:
                self._record(entries.ApprovalsExpired(checkpoint=state.id, changed=lines))
                expired = f"approval: the one given has expired, {lines[0]}"
            elif enough:
                return None
        if expired is not None:
            return expired
        names = sorted(each.by.words() for each in at.state.approvals)
        so_far = f" ({', '.join(names)} did)" if names else ""
        people = "a person" if wanted.people == 1 else f"{wanted.people} people"
        return f"approval by {people}{so_far}: kraftgate approve '{at.instance.id}' --reason ..."

    def _differs(self, at: _Tick, state: CheckpointState) -> tuple[str, ...]:
        """Return what has changed since the approvals of a place, a line each."""
        now = basis(at.view.summary, at.view.hazards, self._loaded.sha256)
        lines = (line for each in state.approvals for line in changed(each.basis, now))
        return tuple(dict.fromkeys(lines))

    def _asking(self, at: _Tick) -> TickResult:
        """Wait for a decision, unless the cluster shows that a step of unknown outcome was done."""
        state = at.state
        if state.outcome_unknown and not state.open_before and self._judged(at, "opens_when").holds:
            return self._pass(at.instance.id, "opened", at.facts)
        asks = (
            f"a decision, since {state.asks}: look at the host, then"
            f" kraftgate decide '{at.instance.id}' --done or --repeat, with --reason"
        )
        return self._result(at.instance, (asks,))

    def _gate(self, at: _Tick, how: How) -> TickResult:
        answer = self._judged(at, "opens_when")
        if answer.holds:
            return self._pass(at.instance.id, how, at.facts)
        holds = [_words(each) for each in answer.holding_back]
        if not holds:
            holds.append("the gate holds by the last data; polling once more to confirm")
        return self._result(at.instance, tuple(holds), answer.findings)

    def _pass(self, id_: str, how: How, facts: JsonFacts) -> TickResult:
        self._record(entries.CheckpointPassed(checkpoint=id_, how=how, facts=facts))
        return self._result(None)

    def _judged(self, at: _Tick, part: Part) -> PartResult:
        conditions: Sequence[Condition] = self._conditions.of(at.instance, part)
        answer = self._judge.judge(at.state, part, conditions, at.view, at.facts)
        if answer.entry is not None:
            self._record(answer.entry)
        return answer

    def _record_restarts(self, instance: CheckpointInstance, view: View) -> None:
        """Record brokers that registered again while the checkpoint is not about them."""
        for broker in view.summary.brokers:
            before = self._epochs.get(broker.id, broker.epoch)
            self._epochs[broker.id] = broker.epoch
            if before == broker.epoch or instance.broker == broker.id:
                continue
            offset = broker.registered_offset  # of a registration with the controllers
            where = "" if offset is None else f" at offset {offset}"
            text = (
                f"broker {broker.id} registered again in {broker.mode} mode{where},"
                f" while the current checkpoint is {instance.id}"
            )
            self._record(entries.UnexpectedChange(text=text, broker=broker.id))

    def _record(self, body: Body) -> None:
        self._trail.append(body, self._now_ms, self._fence)

    def _result(
        self,
        instance: CheckpointInstance | None,
        holds: tuple[str, ...] = (),
        findings: tuple[Finding, ...] = (),
    ) -> TickResult:
        execution = self._trail.state()
        if execution is None:
            raise AssertionError("the execution with a current checkpoint has not begun")
        if instance is None:
            return TickResult(execution=execution, holds=holds, findings=findings)
        return TickResult(
            execution=execution,
            checkpoint=instance.id,
            title=instance.checkpoint.title,
            holds=holds,
            findings=findings,
            people=approvals_needed(execution, instance),
        )


def _words(finding: Finding) -> str:
    mark = "" if finding.verdict is Verdict.WAITING else f" ({finding.verdict})"
    return f"{finding.condition}{mark}: {finding.reason}"
