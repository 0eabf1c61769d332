"""The result of a check, and the functions that make it: an outcome, its evidence, its remedy.

`unknown` fails closed: if a check blocks, `unknown` blocks like a failure. Evidence is bounded, so
that a cluster of ten thousand under-replicated partitions still fits a screen.
"""

import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from migration.observed.probed import Facts, Unknown
from migration.values.evidence import bounded


class Outcome(enum.StrEnum):
    """The outcome of a check; the worst first."""

    FAIL = "fail"
    UNKNOWN = "unknown"
    WARN = "warn"
    PASS = "pass"  # noqa: S105 no password
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check.

    Attributes:
        summary: one sentence: the result, or why there is none.
        evidence: short lines with ids, paths, values; bounded (`migration.values.evidence`).
        fix: the remedy; "": none is needed.
    """

    outcome: Outcome
    summary: str
    evidence: tuple[str, ...] = ()
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """A check.

    Attributes:
        id: for scripts; stays when the text changes.
        title: the required state, as a positive statement.
        blocks: whether a failure, or an unknown result, closes the gate.
    """

    id: str
    title: str
    blocks: bool
    judge: Callable[[Facts], Finding]


@dataclass(frozen=True, slots=True)
class Result:
    """A check and its result."""

    check: Check
    finding: Finding

    @property
    def is_blocking(self) -> bool:
        """Whether the window must not open because of it."""
        closed = self.finding.outcome in {Outcome.FAIL, Outcome.UNKNOWN}
        return closed and self.check.blocks

    @property
    def is_consequence(self) -> bool:
        """Whether it is unknown only because another check is, to which its advice refers."""
        return self.finding.outcome is Outcome.UNKNOWN and self.finding.fix.startswith("see ")


def passed(summary: str) -> Finding:
    """Return a result: the requirement is met."""
    return Finding(Outcome.PASS, summary)


def warned(summary: str, evidence: Iterable[str], fix: str) -> Finding:
    """Return a result: a problem that does not block the window."""
    return Finding(Outcome.WARN, summary, bounded(tuple(evidence)), fix)


def failed(summary: str, evidence: Iterable[str], fix: str) -> Finding:
    """Return a result: the requirement is not met."""
    return Finding(Outcome.FAIL, summary, bounded(tuple(evidence)), fix)


def unknown(missing: Iterable[str], fix: str) -> Finding:
    """Return a result: the check lacks data; `missing` describes the data."""
    return Finding(Outcome.UNKNOWN, "it cannot be told", bounded(tuple(missing)), fix)


def skipped(reason: str, fix: str = "") -> Finding:
    """Return a result: there is nothing to check, or not yet."""
    return Finding(Outcome.SKIPPED, reason, (), fix)


def worse_first(bad: list[str], missing: list[str]) -> list[str]:
    """Return the failures, then the unknown data, as evidence of one failure."""
    return bad + [f"not known: {line}" for line in missing]


def listed(values: Iterable[object]) -> str:
    """Return the values in order, separated by commas."""
    return ", ".join(str(value) for value in values)


REACH_BROKERS: Final = (
    "give `brokers.bootstrap` in the configuration, bring every broker up, and see that its"
    " listener can be reached from here with DESCRIBE and DESCRIBE_CONFIGS on CLUSTER"
)
SEE_BROKERS: Final = "see brokers-reachable and broker-rights: what they lack is missing here"
REACH_ZOOKEEPER: Final = (
    "give `zookeeper.connect` with Kafka's chroot, and see that the ensemble can be reached and"
    " read from here"
)
SEE_ZOOKEEPER: Final = "see zookeeper-reachable: what it lacks is missing here"


def no_brokers(facts: Facts) -> Finding | None:
    """Return that no broker returned data; None: one did."""
    if isinstance(facts.topics, Unknown):
        return unknown([facts.topics.why], SEE_BROKERS)
    return None


def phase_without_quorum(facts: Facts) -> Finding | None:
    """Return that the controllers do not exist yet, which is a phase; None: one answers."""
    if not facts.controllers:
        return skipped("the configuration names no controllers: nothing to ask yet")
    if not facts.answering:
        return skipped("no controller answers: before they are provisioned that is the phase")
    return None
