"""Runs each check on the gathered facts; the worst result comes first."""

from typing import Final

from migration.assessment.checks import (
    brokers,
    controllers,
    identity,
    log_dirs,
    quorum,
    reach,
    takeover,
    topics,
    zookeeper,
)
from migration.assessment.checks.check import Check, Result
from migration.assessment.checks.phase import not_applicable, phase_of
from migration.assessment.finding import Finding, Verdict, skipped
from migration.image.summary import Phase
from migration.observed.probed import Facts
from migration.values.severity import Severity

CHECKS: Final[tuple[Check, ...]] = tuple(
    each
    for subject in (
        reach,
        log_dirs,
        takeover,
        zookeeper,
        identity,
        topics,
        brokers,
        quorum,
        controllers,
    )
    for each in vars(subject).values()
    if isinstance(each, Check)
)
"""All checks, in order of importance: as these modules are listed, and as each declares them."""

_WORST_FIRST: Final = (
    (Verdict.VIOLATED, Severity.CRITICAL),
    (Verdict.UNKNOWN, Severity.CRITICAL),
    (Verdict.VIOLATED, Severity.WARNING),
)


def judge(facts: Facts) -> tuple[Result, ...]:
    """Run all checks; blocking results come first, then the worst, then in the order of `CHECKS`.

    A check that does not apply in the cluster's phase is skipped, with the reason.
    """
    phase = phase_of(facts)
    results = [Result(check, _result_of(check, facts, phase)) for check in CHECKS]
    return tuple(sorted(results, key=lambda one: (not one.is_blocking, _rank(one.finding))))


def _result_of(check: Check, facts: Facts, phase: Phase | None) -> Finding:
    why = not_applicable(check.id, phase)
    if why is None:
        return check.judge(facts)
    # "Nothing to migrate" is not true of answers of several clusters.
    found = check.judge(facts) if check is identity.cluster_id_agrees else None
    return found if found and found.verdict is Verdict.VIOLATED else skipped(why)


def _rank(finding: Finding) -> int:
    found = (finding.verdict, finding.severity)
    if found in _WORST_FIRST:
        return _WORST_FIRST.index(found)
    return len(_WORST_FIRST) + (finding.verdict is Verdict.SKIPPED)


def overall(results: tuple[Result, ...]) -> Severity | None:
    """Return CRITICAL if any result blocks, WARNING if any needs attention; None: all is well."""
    if any(one.is_blocking for one in results):
        return Severity.CRITICAL
    bad = {Verdict.VIOLATED, Verdict.UNKNOWN}
    return Severity.WARNING if any(e.finding.verdict in bad for e in results) else None
