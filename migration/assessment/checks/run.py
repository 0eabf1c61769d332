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
from migration.assessment.checks.phase import not_applicable, phase_told
from migration.assessment.checks.result import Check, Finding, Outcome, Result, skipped
from migration.image.summary import Phase
from migration.observed.probed import Facts

CHECKS: Final[tuple[Check, ...]] = (
    *reach.CHECKS,
    *log_dirs.CHECKS,
    *takeover.CHECKS,
    *zookeeper.CHECKS,
    *identity.CHECKS,
    *topics.CHECKS,
    *brokers.CHECKS,
    *quorum.CHECKS,
    *controllers.CHECKS,
)
"""All checks, in order of importance."""

_RANK: Final = {outcome: rank for rank, outcome in enumerate(Outcome)}


def judge(facts: Facts) -> tuple[Result, ...]:
    """Run all checks; blocking results come first, then by outcome, then in the order of `CHECKS`.

    A check that does not apply in the cluster's phase is skipped, with the reason.
    """
    phase = phase_told(facts)
    results = [Result(check, _judged(check, facts, phase)) for check in CHECKS]
    return tuple(sorted(results, key=lambda one: (not one.is_blocking, _RANK[one.finding.outcome])))


def _judged(check: Check, facts: Facts, phase: Phase | None) -> Finding:
    why = not_applicable(check.id, phase)
    return check.judge(facts) if why is None else skipped(why)


def overall(results: tuple[Result, ...]) -> Outcome:
    """Return FAIL if any result blocks, WARN if any needs attention, else PASS."""
    if any(one.is_blocking for one in results):
        return Outcome.FAIL
    to_look_at = {Outcome.FAIL, Outcome.UNKNOWN, Outcome.WARN}
    if any(one.finding.outcome in to_look_at for one in results):
        return Outcome.WARN
    return Outcome.PASS
