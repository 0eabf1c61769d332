"""What is found where ZooKeeper, or the disks, are held against the metadata log.

What is read beside the log is read over seconds, while the log goes on: two views that are both
right differ for a moment. So a difference counts only if a later comparison finds the very same
one, and none in between did not; what was found is kept in the shard's state until then. Of
ZooKeeper, where single topics are compared as soon as they change, the two must be `LASTS_MS`
apart: so long KRaft may take to write what it has in its log.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, Protocol, TypeAlias

from migration.metadata.directory_ids import DirectoryId
from migration.metadata.events import Source
from migration.metadata.partitions import Replicas
from migration.observed.facts import DiskContentSeen, ZkContentRead, ZkContentSeen

LASTS_MS: Final = 10_000
"""From the end of the first reading to the beginning of the one that confirms it."""
NAMED_MAX: Final = 20
"""So many differences of a kind are named by each shard; all are counted."""


class Topic(Protocol):
    """What a comparison needs of a shard's topic (`migration.shard.apply.ShardTopic`)."""

    @property
    def name(self) -> str:
        """The topic's name."""

    @property
    def partitions(self) -> dict[int, Replicas]:
        """By partition id."""


class Difference(NamedTuple):
    """What the two sides say of one thing.

    Attributes:
        kind: topic, partition, replicas, leader, isr, config, registration; stray, missing, future.
        subject: a topic, a partition as Kafka prints it, a setting, a broker.
        seen: what ZooKeeper, or the disks, say.
        logged: what the metadata log says.
        broker: for what lies on disks.
        path: the same.
    """

    kind: str
    subject: str
    seen: str
    logged: str
    broker: int = -1
    path: str = ""


Found: TypeAlias = dict[Difference, None]
"""Differences in the order they were found."""


class Placed(NamedTuple):
    """How many replicas of one broker lie in one path and are assigned to one directory id."""

    broker: int
    path: str
    directory: DirectoryId
    replicas: int
    named: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardComparison:
    """What one shard found, or of the brokers the cluster's image.

    Attributes:
        of: what the log was compared with: `zookeeper` or `log_dirs`.
        comparison: which one (`ZkContentSeen`, `ZkContentRead`, `DiskContentSeen`).
        seen_ms: when the other side was read.
        whole_ms: when all of it was read last; None: it never was.
        compared: partitions, or replicas, that were there on both sides then.
        differing: how many differences there are now.
        lasting: how many of them an earlier comparison had found too, by kind.
        named: the first of those.
        placed: for the disks: where replicas lie against where they are assigned.
        unreadable: how many of ZooKeeper's znodes say nothing, of all shards' together; what they
            are about was left out.
        unread: the first of those: path and reason.
        closed: whose settings the last whole comparison could not look at (`ZkContentSeen`).
    """

    of: Source
    comparison: int
    seen_ms: int
    whole_ms: int | None
    compared: int
    differing: int
    lasting: Mapping[str, int]
    named: tuple[Difference, ...]
    placed: tuple[Placed, ...] = ()
    unreadable: int = 0
    unread: tuple[tuple[str, str], ...] = ()
    closed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Last:
    """What the last comparison of a kind found.

    Attributes:
        found: since when without a break: the `seen_ms` of the first that found it.
        lasting: what counts of it.
        whole_ms: the `seen_ms` of the last one in which everything was looked at.
        compared: partitions, or replicas, that this one found on both sides.
        unread: path and reason of ZooKeeper's znodes that say nothing, of all shards' together.
        closed: whose settings that last whole one could not look at.
    """

    found: Mapping[Difference, int] = field(default_factory=dict)
    lasting: frozenset[Difference] = frozenset()
    whole_ms: int | None = None
    compared: int = 0
    unread: Mapping[str, str] = field(default_factory=dict)
    closed: tuple[str, ...] = ()


@dataclass(slots=True)
class Comparisons:
    """What a shard keeps between comparisons."""

    zookeeper: Last = field(default_factory=Last)
    disks: Last = field(default_factory=Last)


def confirm(
    seen: ZkContentSeen | ZkContentRead | DiskContentSeen,
    compared: int,
    found: Found,
    before: Last,
    *,
    placed: tuple[Placed, ...] = (),
    unseen: Last | None = None,
    whole: bool = True,
    unread: Mapping[str, str] | None = None,
    lasts_ms: int = 0,
) -> tuple[ShardComparison, Last]:
    """Tell what was found.

    Args:
        seen: The other side.
        compared: Partitions, or replicas, that were there on both.
        found: The differences.
        before: What the comparison before left.
        placed: For the disks.
        unseen: What stands because it was not looked at.
        whole: Whether everything was looked at that can be.
        unread: Path and reason of znodes that say nothing.
        lasts_ms: How far apart two readings must be that find the same; 0: any two will do.
    """
    since = {each: before.found.get(each, seen.seen_ms) for each in found}
    lasting = frozenset(
        each
        for each in since.keys() & before.found.keys()
        if each in before.lasting or lasts_ms == 0 or seen.comparison - since[each] >= lasts_ms
    )
    if unseen is not None:
        since, lasting = {**unseen.found, **since}, lasting | unseen.lasting
    after = replace(before, found=since, lasting=lasting, unread=unread or {})
    if whole:
        closed = seen.closed if isinstance(seen, ZkContentSeen) else ()
        after = replace(after, whole_ms=seen.seen_ms, compared=compared, closed=closed)
    kinds: dict[str, int] = {}
    named = []
    for each in sorted(after.lasting):
        kinds[each.kind] = kinds.get(each.kind, 0) + 1
        if kinds[each.kind] <= NAMED_MAX:
            named.append(each)
    result = ShardComparison(
        of=Source.LOG_DIRS if isinstance(seen, DiskContentSeen) else Source.ZOOKEEPER,
        comparison=seen.comparison,
        seen_ms=seen.seen_ms,
        whole_ms=after.whole_ms,
        compared=after.compared,
        differing=len(after.found),
        lasting=kinds,
        named=tuple(named),
        placed=placed,
        unreadable=len(after.unread),
        unread=tuple(sorted(after.unread.items())[:NAMED_MAX]),
        closed=after.closed,
    )
    return result, after
