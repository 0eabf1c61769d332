"""Replies of brokers as plain values: an absent value is None instead of -1 or a zero UUID."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from streams.net.endpoint import Endpoint

_NO_RACKS: Final[Mapping[int, str]] = MappingProxyType({})

TopicPartition: TypeAlias = tuple[str, int]


class PartitionView(NamedTuple):
    """A partition in the metadata cache of a broker.

    Attributes:
        topic_id: 32 hexadecimal digits; None if the cluster has no topic ids.
        leader: None while the partition has no leader.
        leader_epoch: the epoch of that leader.
    """

    topic: str
    partition: int
    topic_id: str | None
    leader: int | None
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


class ClusterView(NamedTuple):
    """A METADATA reply of one broker: the broker's view, which can lag behind the controller's.

    Attributes:
        cluster_id: None if the broker does not know it yet.
        brokers: the live brokers by id, on the listener that received the request; a broker that
            has just started may list none.
        partitions: the partitions of all topics that the principal may describe.
        errors: Kafka's error code by topic, for topics that the reply lists with an error.
        controller: the active controller in ZooKeeper mode; with a KRaft controller, any live
            broker; None while there is none.
        racks: the rack by broker id, for brokers that have a rack.
        deleted: those of the topics that were asked for that do not exist.
    """

    cluster_id: str | None
    brokers: Mapping[int, Endpoint]
    partitions: Mapping[TopicPartition, PartitionView]
    errors: Mapping[str, int]
    controller: int | None = None
    racks: Mapping[int, str] = _NO_RACKS
    deleted: frozenset[str] = frozenset()

    def hosted_by(self, broker: int) -> tuple[PartitionView, ...]:
        return tuple(each for each in self.partitions.values() if broker in each.replicas)

    def led_by(self, broker: int) -> tuple[TopicPartition, ...]:
        return tuple(key for key, each in self.partitions.items() if each.leader == broker)


class ReplicaPlace(NamedTuple):
    """A replica in a log directory.

    Attributes:
        bytes: the total size of its segments.
        lag: of a current replica, its lag behind its high watermark; of a future replica, its lag
            behind the current replica; in messages; -1 if the broker does not know it.
        future: whether it is a future replica, the target of a move between directories.
    """

    topic: str
    partition: int
    bytes: int
    lag: int
    future: bool


class LogDirAnswer(NamedTuple):
    """A log directory as its broker describes it.

    Attributes:
        error: 0, or Kafka's error code; 56 for an offline directory.
        total_bytes: the size of the volume; None if the reply has none (before v4).
        usable_bytes: the free space of the volume; None if the reply has none (before v4).
    """

    path: str
    error: int
    total_bytes: int | None
    usable_bytes: int | None
    replicas: tuple[ReplicaPlace, ...]


class PartitionOffset(NamedTuple):
    """The offset of one partition, from its leader.

    Attributes:
        error: 0, or Kafka's error code; the offset is invalid if there is an error.
        offset: for LATEST the high watermark, because a consumer may read up to it.
        leader_epoch: for LATEST the leader's current epoch; None if the reply has none.
    """

    topic: str
    partition: int
    error: int
    offset: int
    leader_epoch: int | None


class PartitionEnd(NamedTuple):
    """The end of a partition's log, from its leader, with the topic's id from METADATA.

    LIST_OFFSETS addresses a topic by name, so the offsets belong to the id only if the id was the
    same before and after the request (`streams.log_dirs.log_ends.confirmed`).

    Attributes:
        start: the log start offset; None if it was not requested.
        broker: the leader that returned the offsets.
    """

    topic: str
    partition: int
    topic_id: str
    start: int | None
    end: int
    leader_epoch: int
    broker: int
