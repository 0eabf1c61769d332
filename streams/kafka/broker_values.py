"""What brokers answer, as plain values: "absent" is None instead of -1 or a zero UUID."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

_NO_RACKS: Final[Mapping[int, str]] = MappingProxyType({})
KAFKA_STORAGE_ERROR: Final = 56
"""A log directory is offline."""

TopicPartition: TypeAlias = tuple[str, int]


class BrokerAddress(NamedTuple):
    """A broker as METADATA lists it, by the listener that was asked."""

    id: int
    host: str
    port: int


class PartitionView(NamedTuple):
    """A partition as a broker's metadata cache has it.

    Attributes:
        topic_id: 32 hexadecimal digits; None where the cluster knows no topic ids.
        leader: None while there is none.
        leader_epoch: of that leader.
    """

    topic: str
    partition: int
    topic_id: str | None
    leader: int | None
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


class ClusterView(NamedTuple):
    """A METADATA reply of one broker: its own view, which may lag behind the controller's.

    Attributes:
        cluster_id: None when the broker does not know it yet.
        brokers: those that are up, by id; a broker that has just started may know none.
        partitions: of all topics that the principal may describe.
        errors: Kafka's error code by topic, of topics that are listed with one.
        controller: the broker that controls, or, under a KRaft controller, any that is alive; None
            while there is none.
        racks: of the brokers that have one.
    """

    cluster_id: str | None
    brokers: Mapping[int, BrokerAddress]
    partitions: Mapping[TopicPartition, PartitionView]
    errors: Mapping[str, int]
    controller: int | None = None
    racks: Mapping[int, str] = _NO_RACKS

    def hosted_by(self, broker: int) -> tuple[PartitionView, ...]:
        """The partitions with a replica on the broker."""
        return tuple(each for each in self.partitions.values() if broker in each.replicas)

    def led_by(self, broker: int) -> tuple[TopicPartition, ...]:
        """The partitions whose leader the broker is."""
        return tuple(key for key, each in self.partitions.items() if each.leader == broker)


class ReplicaPlace(NamedTuple):
    """A replica in a log directory.

    Attributes:
        bytes: the size of its segments.
        lag: of a current replica behind its high watermark, of a future one behind the current
            one; in messages, -1 when the broker does not know.
        future: whether it is a future replica, which a move between directories fills.
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
        total_bytes: of the volume; None when the broker does not tell (before v4).
        usable_bytes: the same of what is free.
    """

    path: str
    error: int
    total_bytes: int | None
    usable_bytes: int | None
    replicas: tuple[ReplicaPlace, ...]


class PartitionOffset(NamedTuple):
    """One partition's offset, as its leader tells it.

    Attributes:
        error: 0, or Kafka's error code; the offset means nothing then.
        offset: for LATEST the high watermark, since that is what a consumer may read.
        leader_epoch: for LATEST the leader's current one; None when the broker does not tell.
    """

    topic: str
    partition: int
    error: int
    offset: int
    leader_epoch: int | None


class PartitionEnd(NamedTuple):
    """Where a partition's log ends, from its leader, with the topic's id before and after.

    Attributes:
        start: the log start offset; None when it was not asked for.
        broker: the leader that tells so.
    """

    topic: str
    partition: int
    topic_id: str
    start: int | None
    end: int
    leader_epoch: int
    broker: int
