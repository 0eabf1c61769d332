"""What a check finds, and the words it is made of: an outcome, its evidence, and the way out.

`unknown` fails closed: of a check that blocks, it blocks as a failure does. Evidence is bounded,
so that a cluster of ten thousand under-replicated partitions still fits a screen.
"""

import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from migration.observed.probed import Facts, Unknown
from migration.values.evidence import bounded


class Outcome(enum.StrEnum):
    """What a check found; the worst first."""

    FAIL = "fail"
    UNKNOWN = "unknown"
    WARN = "warn"
    PASS = "pass"  # noqa: S105 no password
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check says.

    Attributes:
        summary: one sentence, the finding itself or why there is none.
        evidence: short lines with ids, paths, values; bounded (`migration.values.evidence`).
        mend: what to do; "" where nothing is to be done.
    """

    outcome: Outcome
    summary: str
    evidence: tuple[str, ...] = ()
    mend: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """A check.

    Attributes:
        id: for scripts; stays when the words change.
        title: what should hold, positively.
        blocks: whether a failure, or not knowing, closes the gate.
    """

    id: str
    title: str
    blocks: bool
    judge: Callable[[Facts], Finding]


@dataclass(frozen=True, slots=True)
class Result:
    """A check and what it found."""

    check: Check
    finding: Finding

    @property
    def is_blocking(self) -> bool:
        """Whether the window must not open because of it."""
        closed = self.finding.outcome in {Outcome.FAIL, Outcome.UNKNOWN}
        return closed and self.check.blocks

    @property
    def is_consequence(self) -> bool:
        """Whether it is unknown only because another check is, to which its advice points."""
        return self.finding.outcome is Outcome.UNKNOWN and self.finding.mend.startswith("see ")


def passed(summary: str) -> Finding:
    """All is well."""
    return Finding(Outcome.PASS, summary)


def warned(summary: str, evidence: Iterable[str], mend: str) -> Finding:
    """Worth knowing; the window may open."""
    return Finding(Outcome.WARN, summary, bounded(tuple(evidence)), mend)


def failed(summary: str, evidence: Iterable[str], mend: str) -> Finding:
    """Not as it must be."""
    return Finding(Outcome.FAIL, summary, bounded(tuple(evidence)), mend)


def unknown(missing: Iterable[str], mend: str) -> Finding:
    """The check lacks what it needs; `missing` says what."""
    return Finding(Outcome.UNKNOWN, "it cannot be told", bounded(tuple(missing)), mend)


def skipped(reason: str, mend: str = "") -> Finding:
    """There is nothing to check, or not yet."""
    return Finding(Outcome.SKIPPED, reason, (), mend)


def worse_first(bad: list[str], missing: list[str]) -> list[str]:
    """Put what is wrong before what could not be told, as evidence of one failure."""
    return bad + [f"not known: {line}" for line in missing]


def listed(values: Iterable[object]) -> str:
    """Print values in order, separated by commas."""
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
    """Say that no broker told anything; None when one did."""
    if isinstance(facts.topics, Unknown):
        return unknown([facts.topics.why], SEE_BROKERS)
    return None


def phase_without_quorum(facts: Facts) -> Finding | None:
    """Say that the controllers do not exist yet, which is a phase; None when one answers."""
    if not facts.controllers:
        return skipped("the configuration names no controllers: nothing to ask yet")
    if not facts.answering:
        return skipped("no controller answers: before they are provisioned that is the phase")
    return None
