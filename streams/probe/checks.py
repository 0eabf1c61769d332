"""The checks before the window, as a condition uses them."""

from collections.abc import Callable

from migration.assessment.checks.check import Result
from migration.assessment.checks.run import judge
from migration.assessment.conditions import BlockingCheck, PreflightSeen
from migration.observed.probed import Maybe, Unknown
from streams.probe.gather import Target, gather


def ask_checks(target: Target, clock_ms: Callable[[], int]) -> Maybe[PreflightSeen]:
    """Gather all facts and run every check; takes seconds, at most about a minute."""
    at_ms = clock_ms()
    facts = gather(target)
    if facts.nothing_reached:
        return Unknown("neither ZooKeeper nor a broker or controller answers")
    results = judge(facts)
    blocking = [each for each in results if each.is_blocking]
    return PreflightSeen(at_ms=at_ms, checks=len(results), blocking=tuple(map(_told, blocking)))


def _told(result: Result) -> BlockingCheck:
    return BlockingCheck(id=result.check.id, text=result.finding.reason)
