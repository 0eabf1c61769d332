"""Requests to brokers, and their replies as plain values.

The APIs are METADATA, DESCRIBE_LOG_DIRS and LIST_OFFSETS.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

from streams.kafka.broker_values import (
    BrokerAddress,
    ClusterView,
    LogDirAnswer,
    PartitionOffset,
    PartitionView,
    ReplicaPlace,
    TopicPartition,
)
from streams.kafka.messages import DESCRIBE_LOG_DIRS, LIST_OFFSETS, METADATA, entity

LATEST: Final = -1
EARLIEST: Final = -2
_CONSUMER: Final = -1
_NO_LEADER: Final = -1
_VOLUMES_SINCE: Final = 4


def metadata_request(version: int, *, topics: bool) -> Any:  # noqa: ANN401
    """Build a METADATA request for all topics, or for none; it never creates a topic."""
    return entity(METADATA, version, "Request")(
        topics=None if topics else (),
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=False,
    )


def read_metadata(reply: Any) -> ClusterView:  # noqa: ANN401
    return ClusterView(
        cluster_id=reply.cluster_id,
        brokers={
            int(each.node_id): BrokerAddress(int(each.node_id), each.host, int(each.port))
            for each in reply.brokers
        },
        partitions={
            (topic.name, int(each.partition_index)): _partition(topic, each)
            for topic in reply.topics
            for each in topic.partitions
            if topic.name is not None
        },
        errors={
            topic.name: int(topic.error_code)
            for topic in reply.topics
            if topic.error_code and topic.name is not None
        },
        controller=_known(reply.controller_id),
        racks={int(each.node_id): each.rack for each in reply.brokers if each.rack},
    )


def log_dirs_request(version: int) -> Any:  # noqa: ANN401
    """Build a DESCRIBE_LOG_DIRS request for all replicas."""
    return entity(DESCRIBE_LOG_DIRS, version, "Request")(topics=None)


def read_log_dirs(reply: Any) -> tuple[LogDirAnswer, ...]:  # noqa: ANN401
    """Convert kio's DescribeLogDirsResponse, which must have no error, to values."""
    return tuple(_log_dir(each, reply.__version__) for each in reply.results)


def _partition(topic: Any, partition: Any) -> PartitionView:  # noqa: ANN401
    leader = int(partition.leader_id)
    return PartitionView(
        topic=topic.name,
        partition=int(partition.partition_index),
        topic_id=None if topic.topic_id is None else topic.topic_id.hex,
        leader=None if leader <= _NO_LEADER else leader,
        leader_epoch=int(partition.leader_epoch),
        replicas=tuple(map(int, partition.replica_nodes)),
        isr=tuple(map(int, partition.isr_nodes)),
    )


def _log_dir(result: Any, version: int) -> LogDirAnswer:  # noqa: ANN401
    has_volume = version >= _VOLUMES_SINCE
    return LogDirAnswer(
        path=result.log_dir,
        error=int(result.error_code),
        total_bytes=_known(result.total_bytes) if has_volume else None,
        usable_bytes=_known(result.usable_bytes) if has_volume else None,
        replicas=tuple(
            ReplicaPlace(
                topic=topic.name,
                partition=int(each.partition_index),
                bytes=int(each.partition_size),
                lag=int(each.offset_lag),
                future=bool(each.is_future_key),
            )
            for topic in result.topics
            for each in topic.partitions
        ),
    )


def _known(number: int) -> int | None:
    return None if number < 0 else int(number)


def offsets_request(version: int, wanted: Sequence[TopicPartition], which: int) -> Any:  # noqa: ANN401
    """Build a LIST_OFFSETS request of a consumer: LATEST or EARLIEST of each partition."""
    topic_kind = entity(LIST_OFFSETS, version, "ListOffsetsTopic")
    partition_kind = entity(LIST_OFFSETS, version, "ListOffsetsPartition")
    by_topic: defaultdict[str, list[int]] = defaultdict(list)
    for topic, partition in wanted:
        by_topic[topic].append(partition)
    return entity(LIST_OFFSETS, version, "Request")(
        replica_id=_CONSUMER,
        isolation_level=0,
        topics=tuple(
            topic_kind(
                name=topic,
                partitions=tuple(
                    partition_kind(partition_index=each, timestamp=which) for each in partitions
                ),
            )
            for topic, partitions in by_topic.items()
        ),
    )


def read_offsets(reply: Any) -> Iterator[PartitionOffset]:  # noqa: ANN401
    for topic in reply.topics:
        for each in topic.partitions:
            yield PartitionOffset(
                topic=topic.name,
                partition=int(each.partition_index),
                error=int(each.error_code),
                offset=int(each.offset),
                leader_epoch=_known(each.leader_epoch),
            )
