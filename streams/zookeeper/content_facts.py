"""All content of ZooKeeper as facts: each shard's part, and a last one that all was read. Pure."""

import zlib
from dataclasses import dataclass

from migration.observations import ZkConfig, ZkContentRead, ZkContentSeen, ZkTopic
from streams.source.shards import SHARDS, shard_numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What was read, in any order.

    Attributes:
        zxid: what the server had applied when the reading began.
        brokers: ids below /brokers/ids.
        unreadable: path and reason, of what says nothing; at most 20.
        unreadable_count: how many there are.
    """

    zxid: int
    topics: tuple[ZkTopic, ...]
    configs: tuple[ZkConfig, ...]
    brokers: tuple[int, ...]
    unreadable: tuple[tuple[str, str], ...] = ()
    unreadable_count: int = 0

    @property
    def partitions(self) -> int:
        """How many there are in all topics."""
        return sum(len(topic.partitions) for topic in self.topics)


def topic_place(topic_id: bytes) -> int:
    """Which of a cluster's shards has the topic: its place in `shard_numbers`."""
    return topic_id[-1] % SHARDS


def config_place(name: str) -> int:
    """Which of a cluster's shards has a configuration, by the name of what is configured."""
    return zlib.crc32(name.encode()) % SHARDS


def facts_of(
    content: Content, cluster: str, comparison: int, seen_ms: int
) -> tuple[ZkContentSeen | ZkContentRead, ...]:
    """Deal the content out to the cluster's shards, each in a stable order.

    Args:
        content: What was read.
        cluster: The cluster's name.
        comparison: When the reading began, ms.
        seen_ms: When it ended, Kraftgate's clock.
    """
    topics: list[list[ZkTopic]] = [[] for _ in range(SHARDS)]
    configs: list[list[ZkConfig]] = [[] for _ in range(SHARDS)]
    for topic in sorted(content.topics, key=lambda each: each.name):
        topics[topic_place(topic.topic_id)].append(topic)
    for config in sorted(content.configs, key=lambda each: (each.entity, each.name)):
        configs[config_place(config.name)].append(config)
    seen = (
        ZkContentSeen(
            seen_ms=seen_ms,
            comparison=comparison,
            shard=shard,
            topics=tuple(topics[place]),
            configs=tuple(configs[place]),
        )
        for place, shard in enumerate(shard_numbers(cluster))
    )
    read = ZkContentRead(
        seen_ms=seen_ms,
        comparison=comparison,
        zxid=content.zxid,
        topics=len(content.topics),
        partitions=content.partitions,
        brokers=tuple(sorted(content.brokers)),
        unreadable=tuple(sorted(content.unreadable)),
    )
    return (*seen, read)
