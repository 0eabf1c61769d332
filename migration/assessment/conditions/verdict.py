"""What a condition answers: a verdict, always with its reason and its evidence."""

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from migration.assessment.data_source import DataSource

__all__ = ["DataSource", "Finding", "Verdict", "verdict_of"]


class Verdict(enum.StrEnum):
    """What can be said of a condition; only `satisfied` opens a gate.

    `waiting`: it will come by itself, or by the step that is being taken. `violated`: it will not
    without a person. `unknown`: what it must be judged by is stale or missing.
    """

    SATISFIED = "satisfied"
    WAITING = "waiting"
    VIOLATED = "violated"
    UNKNOWN = "unknown"


_WORST_FIRST: Final = (Verdict.VIOLATED, Verdict.UNKNOWN, Verdict.WAITING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One condition, judged.

    Attributes:
        condition: its text in one spelling.
        reason: in plain words, with numbers and ids.
        evidence: the facts behind it, one a line, bounded; may be none.
        broker: the broker that it is about, if it is about one.
        evidence_total: how many facts there are; 0: all of them are in `evidence`.
    """

    condition: str
    verdict: Verdict
    reason: str
    evidence: tuple[str, ...] = ()
    broker: int | None = None
    evidence_total: int = 0


def verdict_of(findings: Iterable[Finding]) -> Verdict:
    """The worst of all: violated, unknown, waiting, satisfied; unknown where there is none."""
    found = {each.verdict for each in findings}
    if not found:
        return Verdict.UNKNOWN
    return next((each for each in _WORST_FIRST if each in found), Verdict.SATISFIED)
