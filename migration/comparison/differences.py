"""Differences between the metadata log and ZooKeeper or the disks, and their confirmation.

A reading of the other source takes seconds, while the log continues: two correct views may differ
for a moment. So a difference counts only if a later comparison, and each comparison in between,
finds the same one; the shard's state keeps it until then. For ZooKeeper, whose topics are compared
as soon as they change, the two comparisons must be `LASTS_MS` apart: KRaft may take that long to
write the content of its log to ZooKeeper.
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
"""The number of differences of a kind that each shard names; all are counted."""


class Topic(Protocol):
    """A topic of a shard, as a comparison uses it (`migration.shard.apply.ShardTopic`)."""

    @property
    def name(self) -> str:
        """The topic's name."""

    @property
    def partitions(self) -> dict[int, Replicas]:
        """The partitions by id."""


class Difference(NamedTuple):
    """A difference between the two sides.

    Attributes:
        kind: topic, partition, replicas, state, leader, isr, config, registration; stray,
            missing, future.
        subject: a topic, a partition as Kafka prints it, a setting, a broker.
        seen: the value in ZooKeeper or on the disks.
        logged: the value in the metadata log.
        broker: only for the disks.
        path: only for the disks.
    """

    kind: str
    subject: str
    seen: str
    logged: str
    broker: int = -1
    path: str = ""

    @property
    def topic(self) -> str:
        """The topic of a partition."""
        return self.subject.rpartition("-")[0]


Found: TypeAlias = dict[Difference, None]
"""Differences in the order in which they were found."""


class Placed(NamedTuple):
    """The number of a broker's replicas that are in one path and assigned to one directory id."""

    broker: int
    path: str
    directory: DirectoryId
    replicas: int
    named: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """The differences of one shard, or of all.

    Attributes:
        compared: number of partitions or replicas that existed on both sides when all was read.
        differing: number of differences now, including temporary ones.
        lasting: number of those that an earlier comparison found, too, by kind.
        named: the first of those.
        unreadable: number of ZooKeeper's znodes that cannot be parsed; their subjects were left
            out. Every shard counts all of them.
        unread: the first of those: path and reason.
        closed: those of `topics`, `brokers` and `quotas` that Kraftgate may not read in ZooKeeper.
        brokers: for the disks: the brokers that it includes; the disks of others were not read.
    """

    compared: int = 0
    differing: int = 0
    lasting: Mapping[str, int] = field(default_factory=dict)
    named: tuple[Difference, ...] = ()
    unreadable: int = 0
    unread: tuple[tuple[str, str], ...] = ()
    closed: tuple[str, ...] = ()
    brokers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardComparison(Counts):
    """The result of one shard; for brokers, of the cluster's image.

    Attributes:
        of: the other side: `zookeeper` or `log_dirs`.
        comparison: its number (`ZkContentSeen`, `ZkContentRead`, `DiskContentSeen`).
        seen_ms: when the other side was read.
        whole_ms: when all of it was last read; None: never.
        placed: for the disks: the paths of replicas and their assigned directories.
        unlisted: for the disks: the shard's topics for which METADATA has no id.
        without_id: for the disks: the number of lasting `stray` logs of each topic for which
            METADATA has no id. Those that another shard has are not stray.
    """

    of: Source
    comparison: int
    seen_ms: int
    whole_ms: int | None
    placed: tuple[Placed, ...] = ()
    unlisted: tuple[str, ...] = ()
    without_id: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Last:
    """The result of the last comparison of a kind.

    Attributes:
        found: difference -> the `seen_ms` since which each comparison has found it; begins again
            after the clock was set back.
        lasting: the confirmed differences.
        whole_ms: the `seen_ms` of the last full comparison.
        compared: number of partitions or replicas that it found on both sides.
        unread: path and reason of ZooKeeper's znodes, of all shards, that cannot be parsed.
        closed: the resources whose settings it could not read.
    """

    found: Mapping[Difference, int] = field(default_factory=dict)
    lasting: frozenset[Difference] = frozenset()
    whole_ms: int | None = None
    compared: int = 0
    unread: Mapping[str, str] = field(default_factory=dict)
    closed: tuple[str, ...] = ()


@dataclass(slots=True)
class Comparisons:
    """The state of a shard between comparisons."""

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
    """Confirm differences that an earlier comparison found; return the result and the new state.

    Args:
        seen: The other side.
        compared: Number of partitions or replicas on both sides.
        found: The differences.
        before: The state after the last comparison.
        placed: For the disks.
        unseen: Differences that remain because their subject was not read.
        whole: Whether the comparison is a full one.
        unread: Path and reason of znodes that cannot be parsed.
        lasts_ms: The minimum time between two readings that confirm a difference; 0: none.
    """
    # After the clock was set back the number is ahead of it, and so are earlier times: the time of
    # a difference begins again, and the end of a reading counts as its beginning.
    began_ms = min(seen.comparison, seen.seen_ms)
    since = {each: min(before.found.get(each, seen.seen_ms), seen.seen_ms) for each in found}
    lasting = frozenset(
        each
        for each in since.keys() & before.found.keys()
        if each in before.lasting or lasts_ms == 0 or began_ms - since[each] >= lasts_ms
    )
    if unseen is not None:
        since, lasting = {**unseen.found, **since}, lasting | unseen.lasting
    after = replace(before, found=since, lasting=lasting, unread=unread or {})
    if whole:
        closed = seen.closed if isinstance(seen, ZkContentSeen) else ()
        after = replace(after, whole_ms=seen.seen_ms, compared=compared, closed=closed)
    paths = seen.paths if isinstance(seen, DiskContentSeen) else ()
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
        brokers=tuple(sorted({broker for broker, _ in paths})),
    )
    return result, after
