"""A preflight check and its result. If a check blocks, an unknown result blocks like a failure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from migration.assessment.finding import Finding, Verdict, skipped, unknown
from migration.observed.facts import ZnodeSeen
from migration.observed.probed import Facts, Unknown, ZooKeeper
from migration.observed.znodes import CONTROLLER, CONTROLLER_EPOCH, MIGRATION
from migration.observed.zookeeper import ZooKeeperImage, observe
from migration.values.severity import Severity


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
        """Whether it keeps the window closed."""
        if self.finding.verdict is Verdict.VIOLATED:
            return self.check.blocks and self.finding.severity is Severity.CRITICAL
        return self.check.blocks and self.finding.verdict is Verdict.UNKNOWN

    @property
    def is_warning(self) -> bool:
        """Whether it found something that does not block."""
        return self.finding.verdict is Verdict.VIOLATED and not self.is_blocking


def consequences(results: Sequence[Result]) -> list[Result]:
    """Return the unknown results whose fix names another check that is reported instead."""
    reported = [
        one.check.id
        for one in results
        if one.finding.verdict in (Verdict.VIOLATED, Verdict.UNKNOWN)
    ]
    return [
        one
        for one in results
        if one.finding.verdict is Verdict.UNKNOWN
        and one.finding.fix.startswith("see ")
        and any(id_ in one.finding.fix for id_ in reported)
    ]


def missing_data(*missing: str, fix: str) -> Finding:
    """Return a result: the check lacks data; `missing` describes the data."""
    return unknown("data is missing", *missing, fix=fix)


def unknowns(of: Iterable[tuple[str, object]]) -> list[str]:
    """Return a line with the reason for each of these values that is `Unknown`."""
    return [f"{what}: {value.why}" for what, value in of if isinstance(value, Unknown)]


def at_endpoint(endpoint: str, why: str) -> str:
    """Return the reason with its endpoint in front, unless it begins with the endpoint already."""
    is_named = why.startswith((f"{endpoint} ", f"{endpoint}:"))
    return why if is_named else f"{endpoint}: {why}"


def image_of(found: ZooKeeper) -> ZooKeeperImage:
    """Return the controller's znodes and `/migration` as `kraftgate run` reads them."""
    image = ZooKeeperImage()
    for path, data in (
        (CONTROLLER, found.controller),
        (CONTROLLER_EPOCH, found.controller_epoch),
        (MIGRATION, found.migration),
    ):
        if data is not None:
            image, _ = observe(image, ZnodeSeen(0, path, data, 0, 0, 0, 0))
    return image


def kraft_holder(facts: Facts) -> int | None:
    """Return the KRaft controller that holds /controller; None: none does, or it is unknown.

    Where one does, its quorum exists, even if no controller answers.
    """
    if isinstance(facts.zookeeper, Unknown):
        return None
    holder = image_of(facts.zookeeper).controller
    return holder.id if holder is not None and holder.is_kraft else None


def silent_controllers(facts: Facts) -> list[str]:
    """Return a line for each controller that does not answer or is not polled."""
    silent = [
        at_endpoint(one.endpoint, one.unreachable) for one in facts.controllers if one.unreachable
    ]
    return silent + [
        f"voter {id_}: not polled, because `controllers.bootstrap` does not name it"
        for id_ in _not_named(facts)
    ]


def _not_named(facts: Facts) -> list[int]:
    """Return the voters that no configured controller can be."""
    quorum = facts.quorum
    known = [one.node_id for one in facts.answering if not isinstance(one.node_id, Unknown)]
    missing = [] if quorum is None else [each for each in quorum.voters if each not in known]
    return missing if len(missing) > len(facts.controllers) - len(known) else []


def worse_first(bad: list[str], missing: list[str]) -> list[str]:
    """Return the failures, then the unknown data, as evidence of one failure."""
    return bad + [f"unknown: {line}" for line in missing]


def listed(values: Iterable[object]) -> str:
    """Return the values in order, separated by commas."""
    return ", ".join(str(value) for value in values)


def dotted(release: tuple[int, ...]) -> str:
    """Return a release as Kafka prints it: `3.9`."""
    return ".".join(map(str, release))


REACH_BROKERS: Final = (
    "give `brokers.bootstrap` in the configuration, bring every broker up, and check that its"
    " listener can be reached from here with DESCRIBE and DESCRIBE_CONFIGS on CLUSTER"
)
SEE_BROKERS: Final = "see brokers-reachable and broker-rights: this check needs the same data"
REACH_ZOOKEEPER: Final = (
    "give `zookeeper.connect` with Kafka's chroot, and check that the ensemble can be reached"
    " and read from here"
)
SEE_ZOOKEEPER: Final = "see zookeeper-reachable: this check needs the same data"
SEE_QUORUM: Final = "see quorum-reachable: this check needs the same data"
SEE_TOPICS: Final = "see topics-visible: this check needs the same data"
GRANT: Final = "grant DESCRIBE and DESCRIBE_CONFIGS on CLUSTER"


def no_brokers(facts: Facts, fix: str = SEE_BROKERS) -> Finding | None:
    """Return a finding if no broker returned data; None: one did."""
    if isinstance(facts.topics, Unknown):
        return missing_data(facts.topics.why, fix=fix)
    if not facts.brokers:  # one that has just started knows no broker yet
        return missing_data("the brokers' metadata names no broker", fix=fix)
    return None


def phase_without_quorum(facts: Facts) -> Finding | None:
    """Return a finding if no controller exists yet, which is a phase; None: one answers.

    The finding is `unknown` if one exists but cannot be queried.
    """
    if facts.answering:
        return None
    if facts.has_controllers or kraft_holder(facts) is not None:
        return missing_data("no controller can be queried", fix=SEE_QUORUM)
    if facts.controllers:
        return skipped("no controller answers: that is normal before they are provisioned")
    return skipped("the configuration names no controllers: nothing to check yet")


Judge: TypeAlias = Callable[[Facts], Finding]


def check(
    id_: str,
    title: str,
    *,
    blocks: bool = True,
    needs: Callable[[Facts], Finding | None] = lambda _: None,
) -> Callable[[Judge], Check]:
    """Return a decorator that makes a check of its rule; the arguments are attributes of `Check`.

    `needs`: its result, unless it is None, replaces the rule's.
    """
    return lambda judge: Check(id_, title, blocks, lambda facts: needs(facts) or judge(facts))
