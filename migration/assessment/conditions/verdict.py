"""The result of a condition: a verdict, always with its reason and its evidence."""

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from migration.assessment.data_source import DataSource

__all__ = ["DataSource", "Finding", "Verdict", "verdict_of"]


class Verdict(enum.StrEnum):
    """The verdict on a condition; only `satisfied` opens a gate.

    `waiting`: it will be satisfied without an operator, or by the step in progress. `violated`: it
    needs an operator. `unknown`: the data that it needs is stale or missing.
    """

    SATISFIED = "satisfied"
    WAITING = "waiting"
    VIOLATED = "violated"
    UNKNOWN = "unknown"


_WORST_FIRST: Final = (Verdict.VIOLATED, Verdict.UNKNOWN, Verdict.WAITING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one condition.

    Attributes:
        condition: its text in canonical form.
        reason: in plain language, with numbers and ids.
        evidence: the facts behind it, one a line, bounded; may be empty.
        broker: the broker that it concerns, if any.
        evidence_total: number of facts; 0: all of them are in `evidence`.
    """

    condition: str
    verdict: Verdict
    reason: str
    evidence: tuple[str, ...] = ()
    broker: int | None = None
    evidence_total: int = 0


def verdict_of(findings: Iterable[Finding]) -> Verdict:
    """Return the worst verdict: violated, unknown, waiting, satisfied; unknown without findings."""
    found = {each.verdict for each in findings}
    if not found:
        return Verdict.UNKNOWN
    return next((each for each in _WORST_FIRST if each in found), Verdict.SATISFIED)
