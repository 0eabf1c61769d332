"""Evaluates the conditions of one checkpoint, and confirms on fresh data that they hold.

A part (guards, gate) that holds on the available data is checked once more: everything that it
needs is polled again, and it counts as holding only if it still holds with the data that was polled
after that. A change of the result makes an entry in the audit trail.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from migration.assessment.conditions import (
    Condition,
    Finding,
    Verdict,
    View,
    verdict_of,
)
from migration.assessment.finding import WORST_FIRST
from orchestrator.audit.execution.entries import Evaluated, JsonFacts, RecordedFinding
from orchestrator.audit.execution.state import CheckpointState
from orchestrator.execution.facts import FactFinder
from orchestrator.run.conditions import JointConditions
from orchestrator.runbook.model import Part

_REASONS_EVERY_MS: Final = 10_000
"""Reasons change with every count in them. A changed verdict is recorded at once, a changed
reason at most this often."""

_Key: TypeAlias = tuple[str, Part, tuple[str, ...]]
"""A checkpoint, its part, and the conditions of it that count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartResult:
    """The result of evaluating a part now.

    Attributes:
        holds: all conditions hold, on data that was polled after they first did.
        findings: those of every condition, in the runbook's order.
        entry: the entry to write; None: nothing has changed.
    """

    holds: bool
    findings: tuple[Finding, ...]
    entry: Evaluated | None

    @property
    def holding_back(self) -> tuple[Finding, ...]:
        """Return the findings that do not hold, the most severe first."""
        return tuple(
            sorted(
                (each for each in self.findings if each.verdict is not Verdict.SATISFIED),
                key=lambda each: WORST_FIRST.index(each.verdict),
            )
        )


class PartEvaluator:
    """Evaluates the parts of the current checkpoint, tick by tick."""

    def __init__(self, facts: FactFinder) -> None:
        self._facts = facts
        self._held_since: dict[_Key, int] = {}
        self._joint: dict[_Key, JointConditions] = {}
        self._evaluated: set[_Key] = set()
        self._recorded_ms: dict[tuple[str, Part], int] = {}

    def evaluate(
        self,
        state: CheckpointState,
        part: Part,
        conditions: Sequence[Condition],
        view: View,
        facts: JsonFacts,
        awaited: Collection[str] = (),
    ) -> PartResult:
        """Evaluate one part; a part without conditions holds at once.

        `awaited`: conditions that only wait for the current step, even if they are violated.
        """
        if not conditions:
            return PartResult(holds=True, findings=(), entry=None)
        self._facts.keep(conditions)
        key = (state.id, part, tuple(each.text for each in conditions))
        self._evaluated.add(key)
        joint = self._joint.setdefault(key, JointConditions(conditions))
        findings = tuple(
            replace(each, verdict=Verdict.WAITING)
            if each.verdict is Verdict.VIOLATED and each.condition in awaited
            else each
            for each in joint.evaluate(view)
        )
        verdict = verdict_of(findings)
        holds = self._confirmed(key, conditions, verdict, view)
        entry = self._changed(state, part, findings, verdict, view.now_ms, facts)
        return PartResult(holds=holds, findings=findings, entry=entry)

    def begin_tick(self) -> None:
        """Start over with each part that was not evaluated in the tick before."""
        for key in self._joint.keys() - self._evaluated:
            del self._joint[key]
            self._held_since.pop(key, None)
        self._evaluated.clear()

    def forget(self) -> None:
        """Start over: what held before may have been interrupted."""
        self._held_since.clear()
        self._joint.clear()

    def _confirmed(
        self,
        key: _Key,
        conditions: Sequence[Condition],
        verdict: Verdict,
        view: View,
    ) -> bool:
        if verdict is not Verdict.SATISFIED:
            self._held_since.pop(key, None)
            return False
        since = min(self._held_since.get(key, view.now_ms), view.now_ms)
        self._held_since[key] = since
        self._facts.want(conditions, since)
        return self._facts.is_fresh(conditions, since, view.not_current.keys())

    def _changed(
        self,
        state: CheckpointState,
        part: Part,
        findings: tuple[Finding, ...],
        verdict: Verdict,
        now_ms: int,
        facts: JsonFacts,
    ) -> Evaluated | None:
        before = state.evaluated.get(part)
        key = (state.id, part)
        if before is not None:
            old = [(each.condition, each.verdict) for each in before.findings]
            if old == [(each.condition, each.verdict) for each in findings]:
                reasons = [each.reason for each in before.findings]
                if reasons == [each.reason for each in findings]:
                    return None
                if now_ms - self._recorded_ms.get(key, 0) < _REASONS_EVERY_MS:
                    return None
        self._recorded_ms[key] = now_ms
        return Evaluated(
            checkpoint=state.id,
            part=part,
            verdict=verdict,
            findings=tuple(RecordedFinding.of(each) for each in findings),
            facts=facts,
        )
