"""One shard's part of a comparison: what ZooKeeper, or the disks, hold against the metadata log.

What is read beside the log is read over seconds, while the log goes on: two views that are both
right differ for a moment. So a difference counts only if the next comparison finds the very same
one; what was found is kept in the shard's state until then.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol, TypeAlias

from migration.directory_ids import DirectoryId
from migration.event import Source
from migration.observations import (
    DiskContentSeen,
    TopicOnDisk,
    ZkConfig,
    ZkContentSeen,
    ZkPartition,
)
from migration.partitions import Numbers, Replicas

TOPIC_RESOURCE: Final = 2
BROKER_RESOURCE: Final = 4
"""ConfigResource.Type."""
_RESOURCES: Final = {"topics": TOPIC_RESOURCE, "brokers": BROKER_RESOURCE}
_KINDS: Final = {TOPIC_RESOURCE: "topic", BROKER_RESOURCE: "broker"}
NAMED_MAX: Final = 20
"""So many differences of a kind are named by each shard; all are counted."""


class Topic(Protocol):
    """What a comparison needs of a shard's topic (`migration.shard.ShardTopic`)."""

    @property
    def name(self) -> str:
        """The topic's name."""

    @property
    def partitions(self) -> dict[int, Replicas]:
        """By partition id."""


class Difference(NamedTuple):
    """What the two sides say of one thing.

    Attributes:
        kind: topic, partition, replicas, leader, isr, config; stray, missing, future.
        subject: a topic, or a partition as Kafka prints it.
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


Configs: TypeAlias = Mapping[tuple[int, str], Mapping[str, bytes]]
"""Settings of resources, by type and name: key -> digest of the value."""
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
    """What one shard found.

    Attributes:
        of: what the log was compared with: `zookeeper` or `log_dirs`.
        comparison: which one (`ZkContentSeen`, `DiskContentSeen`).
        seen_ms: when the other side was read.
        compared: partitions, or replicas, that were there on both sides.
        differing: how many differences there are now.
        lasting: how many of them the comparison before had found too, by kind.
        named: the first of those.
        placed: for the disks: where replicas lie against where they are assigned.
    """

    of: Source
    comparison: int
    seen_ms: int
    compared: int
    differing: int
    lasting: Mapping[str, int]
    named: tuple[Difference, ...]
    placed: tuple[Placed, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Last:
    """What the last comparison of a kind found, and which of that the one before had found too."""

    found: frozenset[Difference] = frozenset()
    lasting: frozenset[Difference] = frozenset()


@dataclass(slots=True)
class Comparisons:
    """What a shard keeps between comparisons."""

    zookeeper: Last = field(default_factory=Last)
    disks: Last = field(default_factory=Last)


def against_zookeeper(
    topics: Mapping[bytes, Topic],
    configs: Configs,
    before: Comparisons,
    seen: ZkContentSeen,
) -> ShardComparison:
    """Compare a shard with its part of ZooKeeper's content; `before` is brought up to date."""
    found: Found = {}
    in_zookeeper = {each.topic_id: each for each in seen.topics}
    compared = 0
    for topic_id in topics.keys() - in_zookeeper.keys():
        found[Difference("topic", topics[topic_id].name, "absent", "present")] = None
    for topic_id, zk_topic in in_zookeeper.items():
        topic = topics.get(topic_id)
        if topic is None:
            found[Difference("topic", zk_topic.name, "present", "absent")] = None
            continue
        logged = topic.partitions
        seen_ids = {each.partition for each in zk_topic.partitions}
        for partition in logged.keys() - seen_ids:
            subject = f"{topic.name}-{partition}"
            found[Difference("partition", subject, "absent", "present")] = None
        for each in zk_topic.partitions:
            subject = f"{topic.name}-{each.partition}"
            replicas = logged.get(each.partition)
            if replicas is None:
                found[Difference("partition", subject, "present", "absent")] = None
                continue
            compared += 1
            found.update(dict.fromkeys(_of_partition(subject, each, replicas)))
    found.update(dict.fromkeys(_of_configs(configs, seen.configs)))
    result, before.zookeeper = _told(seen, compared, found, before.zookeeper)
    return result


def _of_configs(logged: Configs, seen: tuple[ZkConfig, ...]) -> Iterator[Difference]:
    """Compare settings, key by key; passwords are not, ZooKeeper keeps them encoded."""
    in_zookeeper = {
        (_RESOURCES[each.entity], _name(each.entity, each.name)): dict(each.entries)
        for each in seen
        if each.entity in _RESOURCES
    }
    for of in sorted(in_zookeeper.keys() | {each for each in logged if each[0] in _KINDS}):
        there, here = in_zookeeper.get(of, {}), logged.get(of, {})
        for name in sorted(there.keys() | here.keys()):
            if there.get(name) == here.get(name) or _is_secret(name):
                continue
            subject = f"{_KINDS[of[0]]} {of[1] or 'default'}: {name}"
            if name in there and name in here:
                yield Difference("config", subject, "one value", "another")
            else:
                yield Difference("config", subject, _said(name in there), _said(name in here))


def _said(present: bool) -> str:  # it is the whole of it
    return "present" if present else "absent"


def _name(entity: str, name: str) -> str:
    """A resource's name in the metadata log, where the default of all brokers has none."""
    return "" if entity == "brokers" and name == "<default>" else name


def _is_secret(name: str) -> bool:
    return any(part in name for part in ("password", "secret", "jaas", "keystore.key"))


def _of_partition(subject: str, seen: ZkPartition, logged: Replicas) -> Iterator[Difference]:
    if seen.replicas != logged.brokers:
        yield Difference("replicas", subject, _ids(seen.replicas), _ids(logged.brokers))
    if seen.leader is not None and seen.leader != logged.leader:
        yield Difference("leader", subject, str(seen.leader), str(logged.leader))
    if seen.leader is not None and set(seen.isr) != set(logged.isr):
        yield Difference("isr", subject, _ids(sorted(seen.isr)), _ids(sorted(logged.isr)))


def against_disks(
    topics: Mapping[bytes, Topic],
    numbers: Numbers,
    before: Comparisons,
    seen: DiskContentSeen,
) -> ShardComparison:
    """Compare a shard with what lies on the disks of its topics; `before` is brought up to date.

    A replica that is assigned to another directory than it lies in shows in `placed`: which path is
    which directory is for the whole cluster to say.
    """
    ids = numbers.ids()
    found: Found = {}
    groups: dict[tuple[int, str, int], list[str]] = {}
    on_disk: dict[bytes, set[tuple[int, int]]] = {}
    compared = 0
    for topic in seen.topics:
        logged = topics.get(topic.topic_id)
        there = on_disk.setdefault(topic.topic_id, set())
        for partition, broker, path, future, lag in _replicas(topic, seen):
            subject = f"{topic.name}-{partition}"
            replicas = None if logged is None else logged.partitions.get(partition)
            if replicas is None or broker not in replicas.brokers:
                found[Difference("stray", subject, "present", "absent", broker, path)] = None
            elif future:
                if lag == 0:
                    found[Difference("future", subject, "caught up", "", broker, path)] = None
            else:
                compared += 1
                there.add((partition, broker))
                directory = replicas.directories[replicas.brokers.index(broker)]
                groups.setdefault((broker, path, directory), []).append(subject)
    whole = frozenset(seen.whole)
    for topic_id, known in topics.items():
        there = on_disk.get(topic_id, set())
        for partition, replicas in known.partitions.items():
            for broker in replicas.brokers:
                if broker in whole and (partition, broker) not in there:
                    subject = f"{known.name}-{partition}"
                    found[Difference("missing", subject, "absent", "present", broker)] = None
    found.update(dict.fromkeys(_not_looked_at(before.disks.lasting, seen)))
    placed = tuple(
        Placed(broker, path, ids[directory], len(subjects), tuple(sorted(subjects)[:NAMED_MAX]))
        for (broker, path, directory), subjects in sorted(groups.items())
    )
    result, before.disks = _told(seen, compared, found, before.disks, placed)
    return result


def _not_looked_at(lasting: frozenset[Difference], seen: DiskContentSeen) -> Iterator[Difference]:
    """What stands until its broker, or its directory, can be looked at again."""
    readable, whole = frozenset(seen.paths), frozenset(seen.whole)
    for each in lasting:
        looked_at = (
            each.broker in whole if each.kind == "missing" else (each.broker, each.path) in readable
        )
        if not looked_at:
            yield each


def _replicas(
    topic: TopicOnDisk, seen: DiskContentSeen
) -> Iterator[tuple[int, int, str, bool, int]]:
    for partition, path, future, lag in topic.replicas:
        broker, name = seen.paths[path]
        yield partition, broker, name, future, lag


def _told(
    seen: ZkContentSeen | DiskContentSeen,
    compared: int,
    found: Found,
    before: Last,
    placed: tuple[Placed, ...] = (),
) -> tuple[ShardComparison, Last]:
    lasting = sorted(each for each in found if each in before.found)
    kinds: dict[str, int] = {}
    named = []
    for each in lasting:
        kinds[each.kind] = kinds.get(each.kind, 0) + 1
        if kinds[each.kind] <= NAMED_MAX:
            named.append(each)
    result = ShardComparison(
        of=Source.ZOOKEEPER if isinstance(seen, ZkContentSeen) else Source.LOG_DIRS,
        comparison=seen.comparison,
        seen_ms=seen.seen_ms,
        compared=compared,
        differing=len(found),
        lasting=kinds,
        named=tuple(named),
        placed=placed,
    )
    return result, Last(found=frozenset(found), lasting=frozenset(lasting))


def _ids(ids: tuple[int, ...] | list[int]) -> str:
    return f"[{', '.join(map(str, ids))}]"
