"""The one judgement type: the result of a condition or of a preflight check.

A finding always has its reason, and all known facts behind it for JSON. A screen and the audit
trail take `shown`, so that ten thousand under-replicated partitions still fit. The words that users
read (pass, fail, warn) are made where they are printed.
"""

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from migration.values.evidence import bounded, total_of
from migration.values.severity import Severity


class Verdict(enum.StrEnum):
    """What a rule concludes; only `satisfied` opens a gate, and `unknown` closes it.

    `waiting`: it will be satisfied without an operator, or by the step in progress. `violated`: it
    needs an operator. `unknown`: the data that it needs is stale or missing. `skipped`: there is
    nothing to check, or not yet.
    """

    SATISFIED = "satisfied"
    WAITING = "waiting"
    VIOLATED = "violated"
    UNKNOWN = "unknown"
    SKIPPED = "skipped"


WORST_FIRST: Final = (Verdict.VIOLATED, Verdict.UNKNOWN, Verdict.WAITING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one rule.

    Attributes:
        reason: one sentence, with numbers and ids.
        evidence: the known facts behind it, one a line; may be empty.
        evidence_total: number of facts; 0: all of them are in `evidence`.
        severity: of a violation; a warning does not block.
        fix: an instruction; "": none is needed.
        condition: the condition's text in canonical form; "": it is not a condition's.
        broker: the broker that it concerns, if any.
    """

    verdict: Verdict
    reason: str
    evidence: tuple[str, ...] = ()
    evidence_total: int = 0
    severity: Severity = Severity.CRITICAL
    fix: str = ""
    condition: str = ""
    broker: int | None = None

    @property
    def shown(self) -> tuple[str, ...]:
        """The facts to show, and the number of further ones."""
        return bounded(self.evidence, self.evidence_total)


def finding(
    verdict: Verdict,
    reason: str,
    evidence: tuple[str, ...] = (),
    counted: int = 0,
    *,
    fix: str = "",
    severity: Severity = Severity.CRITICAL,
) -> Finding:
    """Return a finding; `counted`: number of facts, if `evidence` has only some of them."""
    return Finding(
        verdict=verdict,
        reason=reason,
        evidence=evidence,
        evidence_total=total_of(evidence, counted),
        severity=severity,
        fix=fix,
    )


def satisfied(reason: str, *evidence: str, counted: int = 0) -> Finding:
    """Return a finding: the requirement is met."""
    return finding(Verdict.SATISFIED, reason, evidence, counted)


def waiting(reason: str, *evidence: str, counted: int = 0) -> Finding:
    """Return a finding: the requirement will be met without an operator, or by the step."""
    return finding(Verdict.WAITING, reason, evidence, counted)


def violated(reason: str, *evidence: str, counted: int = 0, fix: str = "") -> Finding:
    """Return a finding: an operator must act."""
    return finding(Verdict.VIOLATED, reason, evidence, counted, fix=fix)


def warned(reason: str, *evidence: str, fix: str) -> Finding:
    """Return a finding: an operator should act, and nothing is blocked."""
    return finding(Verdict.VIOLATED, reason, evidence, fix=fix, severity=Severity.WARNING)


def unknown(reason: str, *evidence: str, counted: int = 0, fix: str = "") -> Finding:
    """Return a finding: the data that the rule needs is stale or missing."""
    return finding(Verdict.UNKNOWN, reason, evidence, counted, fix=fix)


def skipped(reason: str, *, fix: str = "") -> Finding:
    """Return a finding: there is nothing to check, or not yet."""
    return finding(Verdict.SKIPPED, reason, fix=fix)


def verdict_of(findings: Iterable[Finding]) -> Verdict:
    """Return the worst verdict: violated, unknown, waiting, satisfied; unknown without findings."""
    found = {each.verdict for each in findings}
    if not found:
        return Verdict.UNKNOWN
    return next((each for each in WORST_FIRST if each in found), Verdict.SATISFIED)
