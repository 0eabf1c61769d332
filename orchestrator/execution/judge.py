"""Evaluates the conditions of one checkpoint, and confirms on fresh data that they hold.

A part (guards, gate) that holds on the available data is checked once more: everything that it
needs is polled again, and it counts as holding only if it still holds with the data that was polled
after that. A change of the result makes an entry in the audit trail.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from migration.assessment.conditions import (
    Condition,
    DataSource,
    Finding,
    Verdict,
    View,
    verdict_of,
)
from orchestrator.audit.execution.entries import Evaluated, JsonFacts, RecordedFinding
from orchestrator.audit.execution.state import CheckpointState
from orchestrator.run.soak import JointConditions

Part = Literal["already", "needs", "opens_when"]

_REASONS_EVERY_MS: Final = 10_000
"""Reasons change with every count in them. A changed verdict is recorded at once, a changed
reason at most this often."""


class Freshness(Protocol):
    """Polls the cluster for the data that the conditions need."""

    def keep(self, conditions: Sequence[Condition]) -> None:
        """Poll what these conditions need every few seconds."""

    def want(self, conditions: Sequence[Condition], since_ms: int) -> None:
        """Poll what these conditions need, unless that poll began at `since_ms` or later."""

    def is_fresh(
        self, conditions: Sequence[Condition], since_ms: int, without: Collection[DataSource]
    ) -> bool:
        """Return whether all that these conditions need was polled since `since_ms`.

        The poll must have begun at `since_ms` or later, and its answer must be here. `without` are
        sources that are not current: conditions that hold nevertheless do not depend on them.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class PartResult:
    """The result of evaluating a part now.

    Attributes:
        holds: all conditions hold, on data that was polled after they first did.
        findings: those of every condition, in the runbook's order.
        entry: the entry to write; None: nothing has changed.
    """

    holds: bool
    verdict: Verdict
    findings: tuple[Finding, ...]
    entry: Evaluated | None

    @property
    def holding_back(self) -> tuple[Finding, ...]:
        """Return the findings that do not hold, the most severe first."""
        return tuple(
            sorted(
                (each for each in self.findings if each.verdict is not Verdict.SATISFIED),
                key=lambda each: _GRAVEST.index(each.verdict),
            )
        )


_GRAVEST: Final = (Verdict.VIOLATED, Verdict.UNKNOWN, Verdict.WAITING)


class Judge:
    """Evaluates the parts of the current checkpoint, tick by tick."""

    def __init__(self, fresh: Freshness) -> None:
        self._fresh = fresh
        self._held_since: dict[tuple[str, Part], int] = {}
        self._together: dict[tuple[str, Part], JointConditions] = {}
        self._recorded_ms: dict[tuple[str, Part], int] = {}

    def judge(
        self,
        state: CheckpointState,
        part: Part,
        conditions: Sequence[Condition],
        view: View,
        facts: JsonFacts,
    ) -> PartResult:
        """Evaluate one part; a part without conditions holds at once."""
        if not conditions:
            return PartResult(holds=True, verdict=Verdict.SATISFIED, findings=(), entry=None)
        self._fresh.keep(conditions)
        key = (state.id, part)
        joint = self._together.setdefault(key, JointConditions(conditions))
        findings = joint.judge(view)
        verdict = verdict_of(findings)
        holds = self._confirmed(key, conditions, verdict, view)
        entry = self._news(state, part, findings, verdict, view.now_ms, facts)
        return PartResult(holds=holds, verdict=verdict, findings=findings, entry=entry)

    def forget(self) -> None:
        """Start over: what held is not known to have held without interruption."""
        self._held_since.clear()
        self._together.clear()

    def _confirmed(
        self,
        key: tuple[str, Part],
        conditions: Sequence[Condition],
        verdict: Verdict,
        view: View,
    ) -> bool:
        if verdict is not Verdict.SATISFIED:
            self._held_since.pop(key, None)
            return False
        since = self._held_since.setdefault(key, view.now_ms)
        self._fresh.want(conditions, since)
        return self._fresh.is_fresh(conditions, since, view.not_current.keys())

    def _news(
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
            same = [(each.condition, each.verdict) for each in before.findings] == [
                (each.condition, each.verdict) for each in findings
            ]
            if same and [each.reason for each in before.findings] == [
                each.reason for each in findings
            ]:
                return None
            if same and now_ms - self._recorded_ms.get(key, 0) < _REASONS_EVERY_MS:
                return None
        self._recorded_ms[key] = now_ms
        return _judged(state, part, findings, verdict, facts)


def _judged(
    state: CheckpointState,
    part: Part,
    findings: tuple[Finding, ...],
    verdict: Verdict,
    facts: JsonFacts,
) -> Evaluated:
    return Evaluated(
        checkpoint=state.id,
        part=part,
        verdict=verdict,
        findings=tuple(RecordedFinding.of(each) for each in findings),
        facts=facts,
    )
