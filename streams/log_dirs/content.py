"""The content of all disks as facts of the cluster's shards. Pure.

Input: each reachable broker's latest answer. Output: a `DiskContentSeen` for every shard. Kafka
answers with its current and future logs only: folders named `-delete` or `-stray` are excluded as
soon as they are renamed (3.9 `LogManager.allLogs`). The metadata log is not a topic's replica.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias
from zlib import crc32

from migration.observed.facts import DiskContentSeen, ReplicaOnDisk, TopicOnDisk
from migration.shard.placement import SHARDS, shard_numbers
from streams.kafka.broker_values import ReplicaPlace, TopicPartition

METADATA_LOG: Final = "__cluster_metadata"
NO_ID: Final = bytes(16)
"""The id of a topic for which METADATA has no id."""

TopicIds: TypeAlias = Mapping[str, bytes]
"""By topic name; 16 bytes each."""


class BrokerContent(NamedTuple):
    """The content of one reachable broker's disks.

    Attributes:
        log_dirs: path -> replicas, of the directories that answered without error.
        whole: whether those are all directories of the broker.
    """

    broker: int
    log_dirs: Mapping[str, tuple[ReplicaPlace, ...]]
    whole: bool


def contents(
    cluster: str, brokers: Iterable[BrokerContent], topic_ids: TopicIds, now_ms: int
) -> tuple[DiskContentSeen, ...]:
    """Return a snapshot of all disks, in the order of the shards' indexes.

    Equal disks result in equal facts: everything in them is sorted. `brokers` are those that are
    reachable; `now_ms`, when their answers were combined, identifies the comparison.
    """
    known = sorted(brokers, key=lambda each: each.broker)
    paths = tuple((each.broker, path) for each in known for path in sorted(each.log_dirs))
    topics = _by_topic(each.log_dirs[path] for each in known for path in sorted(each.log_dirs))
    places: list[list[TopicOnDisk]] = [[] for _ in range(SHARDS)]
    for name in sorted(topics):
        topic_id = topic_ids.get(name, NO_ID)
        replicas = tuple(sorted(topics[name]))
        places[place_of(topic_id, name)].append(TopicOnDisk(topic_id, name, replicas))
    whole = tuple(each.broker for each in known if each.whole)
    return tuple(
        DiskContentSeen(
            seen_ms=now_ms,
            comparison=now_ms,
            shard=number,
            paths=paths,
            whole=whole,
            topics=tuple(places[place]),
        )
        for place, number in enumerate(shard_numbers(cluster))
    )


def place_of(topic_id: bytes, name: str) -> int:
    """Return the index of a topic's shard; for a topic without an id it depends on the name."""
    return (crc32(name.encode()) if topic_id == NO_ID else topic_id[-1]) % SHARDS


def topic_ids_of(ids: Iterable[tuple[TopicPartition, str | None]]) -> TopicIds:
    """Return the topics' ids; `ids` has 32 hexadecimal digits per partition, None: no id."""
    found = {topic: id_ for (topic, _), id_ in ids if id_ is not None}
    return {topic: bytes.fromhex(id_) for topic, id_ in found.items()}


def _by_topic(log_dirs: Iterable[tuple[ReplicaPlace, ...]]) -> dict[str, list[ReplicaOnDisk]]:
    """Return all replicas by topic name; directories are numbered in the order of `paths`."""
    found: defaultdict[str, list[ReplicaOnDisk]] = defaultdict(list)
    for path, replicas in enumerate(log_dirs):
        for topic, partition, _, lag, future in replicas:
            # The lag of a current replica is not content, and would make every snapshot differ.
            found[topic].append(ReplicaOnDisk(partition, path, future, lag if future else 0))
    found.pop(METADATA_LOG, None)
    return found
