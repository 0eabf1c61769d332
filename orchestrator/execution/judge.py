"""Judges the conditions of one checkpoint: told when the answer changes, believed when it is fresh.

A part (guards, gate) that holds by what is known is looked at once more: everything that it rests
on is asked for anew, and only if it still holds with what came back after that is it believed.
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
from orchestrator.audit.execution.entries import Found, JsonFacts, Judged
from orchestrator.audit.execution.state import Place
from orchestrator.run.soak import Together

Part = Literal["already", "needs", "opens_when"]

_REASONS_EVERY_MS: Final = 10_000
"""Reasons change with every count in them; verdicts are told at once, these not more often."""


class Freshness(Protocol):
    """Whoever asks the cluster for what the conditions rest on."""

    def keep(self, conditions: Sequence[Condition]) -> None:
        """Have what these rest on asked for every few seconds."""

    def want(self, conditions: Sequence[Condition], since_ms: int) -> None:
        """Have what these rest on asked for, unless that was begun at `since_ms` or later."""

    def is_fresh(
        self, conditions: Sequence[Condition], since_ms: int, without: Collection[DataSource]
    ) -> bool:
        """Whether all that these rest on was asked for at `since_ms` or later, and is here.

        `without`: sources that are not current; what holds in spite of that does not rest on them.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of judging a part now.

    Attributes:
        holds: all its conditions hold, by facts that were asked for after they first did.
        findings: of every condition, in the runbook's order.
        told: the entry to write; None: nothing new.
    """

    holds: bool
    verdict: Verdict
    findings: tuple[Finding, ...]
    told: Judged | None

    @property
    def holding_back(self) -> tuple[Finding, ...]:
        """Those that do not hold, the gravest first."""
        return tuple(
            sorted(
                (each for each in self.findings if each.verdict is not Verdict.SATISFIED),
                key=lambda each: _GRAVEST.index(each.verdict),
            )
        )


_GRAVEST: Final = (Verdict.VIOLATED, Verdict.UNKNOWN, Verdict.WAITING)


class Judge:
    """Judges parts of the checkpoint at which the walk stands, again and again."""

    def __init__(self, fresh: Freshness) -> None:
        self._fresh = fresh
        self._held_since: dict[tuple[str, Part], int] = {}
        self._together: dict[tuple[str, Part], Together] = {}
        self._told_ms: dict[tuple[str, Part], int] = {}

    def judge(
        self,
        place: Place,
        part: Part,
        conditions: Sequence[Condition],
        view: View,
        facts: JsonFacts,
    ) -> Answer:
        """Judge one part; no conditions hold at once."""
        if not conditions:
            return Answer(holds=True, verdict=Verdict.SATISFIED, findings=(), told=None)
        self._fresh.keep(conditions)
        key = (place.id, part)
        together = self._together.setdefault(key, Together(conditions))
        findings = together.judge(view)
        verdict = verdict_of(findings)
        holds = self._confirmed(key, conditions, verdict, view)
        told = self._news(place, part, findings, verdict, view.now_ms, facts)
        return Answer(holds=holds, verdict=verdict, findings=findings, told=told)

    def forget(self) -> None:
        """Begin anew: what held is not known to have held without a break."""
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
        place: Place,
        part: Part,
        findings: tuple[Finding, ...],
        verdict: Verdict,
        now_ms: int,
        facts: JsonFacts,
    ) -> Judged | None:
        before = place.judged.get(part)
        key = (place.id, part)
        if before is not None:
            same = [(each.condition, each.verdict) for each in before.findings] == [
                (each.condition, each.verdict) for each in findings
            ]
            if same and [each.reason for each in before.findings] == [
                each.reason for each in findings
            ]:
                return None
            if same and now_ms - self._told_ms.get(key, 0) < _REASONS_EVERY_MS:
                return None
        self._told_ms[key] = now_ms
        return _judged(place, part, findings, verdict, facts)


def _judged(
    place: Place,
    part: Part,
    findings: tuple[Finding, ...],
    verdict: Verdict,
    facts: JsonFacts,
) -> Judged:
    return Judged(
        checkpoint=place.id,
        part=part,
        verdict=verdict,
        findings=tuple(Found.of(each) for each in findings),
        facts=facts,
    )
