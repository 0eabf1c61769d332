"""Facts of ZooKeeper's content: one for each shard, and a last one for a full reading. Pure."""

from dataclasses import dataclass

from migration.observed.facts import ZkConfig, ZkContentRead, ZkContentSeen, ZkTopic
from migration.shard.placement import SHARDS, place_of_name, place_of_topic, shard_numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The result of one reading, in any order.

    Attributes:
        zxid: the last transaction that the server had applied when the reading began.
        brokers: ids below /brokers/ids.
        unreadable: path and reason of each znode that cannot be parsed.
        names: of the topics that were read; None: everything was read.
        closed: of `topics`, `brokers` and `quotas`, those that ZooKeeper does not show.
    """

    zxid: int
    topics: tuple[ZkTopic, ...]
    configs: tuple[ZkConfig, ...]
    brokers: tuple[int, ...]
    unreadable: tuple[tuple[str, str], ...] = ()
    names: tuple[str, ...] | None = None
    closed: tuple[str, ...] = ()


def facts_of(
    content: Content, cluster: str, comparison: int, seen_ms: int
) -> tuple[ZkContentSeen | ZkContentRead, ...]:
    """Return the content as facts of the cluster's shards, each in a stable order.

    `comparison` is when the reading began, `seen_ms` when it ended; ms, Kraftgate's clock.
    """
    topics: list[list[ZkTopic]] = [[] for _ in range(SHARDS)]
    configs: list[list[ZkConfig]] = [[] for _ in range(SHARDS)]
    for topic in sorted(content.topics, key=lambda each: each.name):
        topics[place_of_topic(topic.topic_id)].append(topic)
    for config in sorted(content.configs, key=lambda each: (each.entity, each.name)):
        configs[place_of_name(config.name)].append(config)
    unreadable = tuple(sorted(content.unreadable))
    seen = (
        ZkContentSeen(
            seen_ms=seen_ms,
            comparison=comparison,
            shard=shard,
            topics=tuple(topics[place]),
            configs=tuple(configs[place]),
            names=content.names,
            unreadable=unreadable,
            closed=content.closed,
        )
        for place, shard in enumerate(shard_numbers(cluster))
    )
    if content.names is not None:
        return tuple(seen)
    read = ZkContentRead(
        seen_ms=seen_ms,
        comparison=comparison,
        zxid=content.zxid,
        topics=len(content.topics),
        partitions=sum(len(topic.partitions) for topic in content.topics),
        brokers=tuple(sorted(content.brokers)),
    )
    return (*seen, read)
