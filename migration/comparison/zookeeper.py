"""Compares one shard with ZooKeeper: its topics, and the settings that hash to it."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from migration.comparison.differences import (
    LASTS_MS,
    Comparisons,
    Difference,
    Found,
    Last,
    ShardComparison,
    Topic,
    confirm,
)
from migration.comparison.quotas import QUOTA_RESOURCE, entity_of_path
from migration.metadata.partitions import Replicas
from migration.observed.facts import ZkConfig, ZkContentSeen, ZkPartition, ZkTopic
from migration.observed.znodes import CONFIGS, TOPIC_CONFIGS, TOPICS, config_name
from migration.values.secret_settings import is_sensitive

TOPIC_RESOURCE: Final = 2
BROKER_RESOURCE: Final = 4
"""ConfigResource.Type."""
_RESOURCES: Final = {
    "topics": TOPIC_RESOURCE,
    "brokers": BROKER_RESOURCE,
    "quotas": QUOTA_RESOURCE,
}
_KINDS: Final = {TOPIC_RESOURCE: "topic", BROKER_RESOURCE: "broker", QUOTA_RESOURCE: "quotas of"}

Configs: TypeAlias = Mapping[tuple[int, str], Mapping[str, bytes]]
"""Settings of resources, by type and name: key -> digest of the value."""


@dataclass(frozen=True, slots=True)
class _Concealed:
    """What cannot be compared, because its znode cannot be parsed.

    Attributes:
        topics: by name.
        states: partitions as Kafka prints them.
        configs: type and name of the resource.
    """

    topics: set[str] = field(default_factory=set)
    states: set[str] = field(default_factory=set)
    configs: set[tuple[int, str]] = field(default_factory=set)

    def hides(self, each: Difference) -> bool:
        """Whether the state of this difference is unknown now."""
        if each.kind == "config":
            return any(each.subject.startswith(f"{_resource(of)}: ") for of in self.configs)
        if each.kind in ("state", "leader", "isr") and each.subject in self.states:
            return True
        return _topic(each) in self.topics


def _concealed(paths: Iterable[str]) -> _Concealed:
    found = _Concealed()
    for path in paths:
        entity, _, name = path.removeprefix(f"{CONFIGS}/").partition("/")
        topic, _, partition = path.removeprefix(f"{TOPICS}/").partition("/partitions/")
        quotas_of = entity_of_path(path.removeprefix(f"{CONFIGS}/"))
        if path.startswith(f"{CONFIGS}/") and quotas_of is not None:
            found.configs.add((QUOTA_RESOURCE, quotas_of))
        elif path.startswith(f"{CONFIGS}/") and entity in _RESOURCES:
            found.configs.add((_RESOURCES[entity], config_name(entity, name)))
        elif path.startswith(f"{TOPICS}/") and partition:
            found.states.add(f"{topic}-{partition.removesuffix('/state')}")
        elif path.startswith(f"{TOPICS}/"):
            found.topics.add(topic)
    return found


def against_zookeeper(
    topics: Mapping[bytes, Topic],
    configs: Configs,
    before: Comparisons,
    seen: ZkContentSeen,
) -> ShardComparison:
    """Compare a shard with its part of ZooKeeper's content, and update `before`.

    A difference remains if its subject was not read, or its znode cannot be parsed.
    """
    last, unread, scope = before.zookeeper, dict(seen.unreadable), _Scope(seen)
    topics = {of: topic for of, topic in topics.items() if scope.at_topic(topic.name)}
    configs = {of: configs[of] for of in configs if scope.at_configs(of[0], of[1])}
    others = {each: since for each, since in last.found.items() if not scope.at(each)}
    unseen = Last(found=others, lasting=last.lasting & others.keys())
    if seen.names is not None:
        names = frozenset(seen.names)
        elsewhere = {path: why for path, why in last.unread.items() if _named(path) not in names}
        unread = elsewhere | unread
    concealed = _concealed(unread)
    found, compared = _of_topics(topics, seen.topics, concealed.topics)
    found.update(dict.fromkeys(_of_configs(configs, seen.configs, concealed.configs)))
    found.update(dict.fromkeys(each for each in last.lasting if concealed.hides(each)))
    result, before.zookeeper = confirm(
        seen,
        compared,
        found,
        last,
        unseen=unseen,
        whole=seen.names is None,
        unread=unread,
        lasts_ms=LASTS_MS,
    )
    return result


class _Scope:
    """The scope of a reading."""

    def __init__(self, seen: ZkContentSeen) -> None:
        self._names = None if seen.names is None else frozenset(seen.names)
        self._closed = frozenset(_RESOURCES[each] for each in seen.closed)

    def at_topic(self, name: str) -> bool:
        return self._names is None or name in self._names

    def at_configs(self, resource: int, name: str) -> bool:
        if resource in self._closed or resource not in _KINDS:
            return False
        return self._names is None or (resource == TOPIC_RESOURCE and name in self._names)

    def at(self, each: Difference) -> bool:
        """Whether the reading would find this difference again."""
        topic = _topic(each)
        if each.kind == "config":
            of = next(of for of, kind in _KINDS.items() if each.subject.startswith(f"{kind} "))
            return self.at_configs(of, topic or "")
        return topic is not None and self.at_topic(topic)


def _of_topics(
    topics: Mapping[bytes, Topic], seen: tuple[ZkTopic, ...], concealed: Collection[str]
) -> tuple[Found, int]:
    """Compare topics; return the differences, and the number of partitions on both sides."""
    found: Found = {}
    in_zookeeper = {each.topic_id: each for each in seen}
    compared = 0
    for topic_id in topics.keys() - in_zookeeper.keys():
        if topics[topic_id].name not in concealed:
            found[Difference("topic", topics[topic_id].name, "absent", "present")] = None
    for topic_id, zk_topic in in_zookeeper.items():
        topic = topics.get(topic_id)
        if topic is None:
            found[Difference("topic", zk_topic.name, "present", "absent")] = None
            continue
        compared += sum(each.partition in topic.partitions for each in zk_topic.partitions)
        found.update(dict.fromkeys(_of_topic(topic, zk_topic)))
    return found, compared


def _of_topic(logged: Topic, seen: ZkTopic) -> Iterator[Difference]:
    there = {each.partition for each in seen.partitions}
    for partition in logged.partitions.keys() - there:
        yield Difference("partition", f"{logged.name}-{partition}", "absent", "present")
    for each in seen.partitions:
        subject = f"{logged.name}-{each.partition}"
        replicas = logged.partitions.get(each.partition)
        if replicas is None:
            yield Difference("partition", subject, "present", "absent")
        else:
            yield from _of_partition(subject, each, replicas)


def _topic(each: Difference) -> str | None:
    """Return the topic of a difference; None: it is about a broker's settings."""
    if each.kind == "topic":
        return each.subject
    if each.kind == "config":
        of, _, name = each.subject.partition(": ")[0].partition(" ")
        return name if of == _KINDS[TOPIC_RESOURCE] else None
    return each.topic


def _named(path: str) -> str | None:
    """Return the topic of a znode; None: it has none."""
    for branch in (TOPICS, TOPIC_CONFIGS):
        if path.startswith(f"{branch}/"):
            return path.removeprefix(f"{branch}/").partition("/")[0]
    return None


def _of_configs(
    logged: Configs, seen: tuple[ZkConfig, ...], concealed: Collection[tuple[int, str]]
) -> Iterator[Difference]:
    """Compare settings by key, except passwords, which ZooKeeper stores encoded."""
    in_zookeeper = {
        (_RESOURCES[each.entity], each.name): dict(each.entries)
        for each in seen
        if each.entity in _RESOURCES
    }
    for of in sorted((in_zookeeper.keys() | logged.keys()) - set(concealed)):
        there, here = in_zookeeper.get(of, {}), logged.get(of, {})
        for name in sorted(there.keys() | here.keys()):
            if there.get(name) == here.get(name) or is_sensitive(name):
                continue
            subject = f"{_resource(of)}: {name}"
            if name in there and name in here:
                yield Difference("config", subject, "one value", "another")
            else:
                yield Difference("config", subject, _said(name in there), _said(name in here))


def _resource(of: tuple[int, str]) -> str:
    return f"{_KINDS[of[0]]} {of[1] or 'default'}"


def _said(present: bool) -> str:  # a resource as a whole
    return "present" if present else "absent"


def _of_partition(subject: str, seen: ZkPartition, logged: Replicas) -> Iterator[Difference]:
    if seen.replicas != logged.brokers:
        yield Difference("replicas", subject, _ids(seen.replicas), _ids(logged.brokers))
    if seen.leader is None:
        yield Difference("state", subject, "absent", "present")
        return
    if seen.leader != logged.leader:
        yield Difference("leader", subject, str(seen.leader), str(logged.leader))
    if set(seen.isr) != set(logged.isr):
        yield Difference("isr", subject, _ids(sorted(seen.isr)), _ids(sorted(logged.isr)))


def _ids(ids: tuple[int, ...] | list[int]) -> str:
    return f"[{', '.join(map(str, ids))}]"
