"""Asking one broker: METADATA, DESCRIBE_LOG_DIRS, LIST_OFFSETS. Brokers of either mode answer.

with BrokerClient(Endpoint("b1", 9092), Security()) as broker:
    view = broker.metadata()
    log_dirs = broker.log_dirs()
    ends = broker.offsets(view.led_by(1), LATEST)
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any, Final

from kio.schema.errors import ErrorCode

from streams.kafka.broker_connection import (
    DESCRIBE_LOG_DIRS,
    LIST_OFFSETS,
    METADATA,
    BrokerConnection,
)
from streams.kafka.broker_values import (
    BrokerAddress,
    ClusterView,
    LogDirAnswer,
    PartitionOffset,
    PartitionView,
    ReplicaPlace,
    TopicPartition,
)
from streams.kafka.errors import NotAuthorized, RequestRefused
from streams.net.endpoint import Endpoint
from streams.net.errors import LiveError
from streams.net.security import Security

LATEST: Final = -1
EARLIEST: Final = -2
_PARTITIONS_MAX: Final = 5000
"""In one LIST_OFFSETS request."""
_CONSUMER: Final = -1
_NO_LEADER: Final = -1
_USABLE_SINCE: Final = 4
_DENIED: Final = (
    ErrorCode.cluster_authorization_failed,
    ErrorCode.topic_authorization_failed,
    ErrorCode.group_authorization_failed,
)


class BrokerClient:
    """One broker, connected. Every call raises ConnectionFailed when no reply comes in time."""

    def __init__(
        self,
        endpoint: Endpoint,
        security: Security,
        *,
        connect_timeout_ms: int = 3000,
        reply_timeout_ms: int = 2000,
    ) -> None:
        """Connect; the arguments are BrokerConnection's.

        Raises:
            ConnectionFailed: refused, timed out, TLS failed, or no version in common.
            AuthenticationFailed: the SASL exchange was refused, or a secret cannot be read.
        """
        self.endpoint = endpoint
        self._connection = BrokerConnection(
            endpoint,
            security,
            connect_timeout_ms=connect_timeout_ms,
            reply_timeout_ms=reply_timeout_ms,
        )

    def metadata(self, *, topics: bool = True) -> ClusterView:
        """Return the cluster with all topics, or without any, as this broker sees it.

        Raises:
            ConnectionFailed: no reply in time.
            ReplyDamaged: the reply does not decode.
            RequestRefused: the broker does not speak the version.
        """
        kinds = _entities("metadata", self._connection.version(METADATA), "request")
        reply = self._connection.ask(
            kinds.MetadataRequest(
                topics=None if topics else (),
                allow_auto_topic_creation=False,
                include_topic_authorized_operations=False,
            )
        )
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

    def log_dirs(self) -> tuple[LogDirAnswer, ...]:
        """Return this broker's own log directories, with all replicas in them.

        Raises:
            ConnectionFailed: no reply in time.
            ReplyDamaged: the reply does not decode.
            NotAuthorized: the principal may not DESCRIBE the CLUSTER.
            RequestRefused: the broker answers with another error, or is too old.
        """
        version = self._connection.version(DESCRIBE_LOG_DIRS)
        kinds = _entities("describe_log_dirs", version, "request")
        reply = self._connection.ask(kinds.DescribeLogDirsRequest(topics=None))
        if reply.error_code:
            raise _refusal(self.endpoint, "its log directories", reply.error_code)
        return tuple(_log_dir(each, version) for each in reply.results)

    def offsets(
        self, partitions: Iterable[TopicPartition], which: int
    ) -> tuple[PartitionOffset, ...]:
        """Return an offset of each partition; this broker must lead it, or it has an error.

        Args:
            partitions: (topic, partition) of each.
            which: LATEST or EARLIEST.

        Raises:
            ConnectionFailed: no reply in time.
            ReplyDamaged: the reply does not decode.
            RequestRefused: the broker does not speak the version.
        """
        wanted = sorted(partitions)
        version = self._connection.version(LIST_OFFSETS) if wanted else 0
        found: list[PartitionOffset] = []
        for start in range(0, len(wanted), _PARTITIONS_MAX):
            request = _offsets_request(version, wanted[start : start + _PARTITIONS_MAX], which)
            found += _offsets(self._connection.ask(request))
        return tuple(found)

    def close(self) -> None:
        """Close; a second time does nothing."""
        self._connection.close()

    def __enter__(self) -> "BrokerClient":
        """Use as a context manager; closes at the end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()


def _entities(api: str, version: int, kind: str) -> Any:  # noqa: ANN401 a generated kio module
    return import_module(f"kio.schema.{api}.v{version}.{kind}")


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
    told = version >= _USABLE_SINCE
    return LogDirAnswer(
        path=result.log_dir,
        error=int(result.error_code),
        total_bytes=_known(result.total_bytes) if told else None,
        usable_bytes=_known(result.usable_bytes) if told else None,
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


def _offsets_request(version: int, wanted: Sequence[TopicPartition], which: int) -> Any:  # noqa: ANN401
    kinds = _entities("list_offsets", version, "request")
    by_topic: defaultdict[str, list[int]] = defaultdict(list)
    for topic, partition in wanted:
        by_topic[topic].append(partition)
    return kinds.ListOffsetsRequest(
        replica_id=_CONSUMER,
        isolation_level=0,
        topics=tuple(
            kinds.ListOffsetsTopic(
                name=topic,
                partitions=tuple(
                    kinds.ListOffsetsPartition(partition_index=each, timestamp=which)
                    for each in partitions
                ),
            )
            for topic, partitions in by_topic.items()
        ),
    )


def _offsets(reply: Any) -> Iterator[PartitionOffset]:  # noqa: ANN401
    for topic in reply.topics:
        for each in topic.partitions:
            yield PartitionOffset(
                topic=topic.name,
                partition=int(each.partition_index),
                error=int(each.error_code),
                offset=int(each.offset),
                leader_epoch=_known(each.leader_epoch),
            )


def _refusal(endpoint: Endpoint, what: str, code: ErrorCode) -> LiveError:
    if code in _DENIED:
        return NotAuthorized(f"{endpoint} does not tell {what}: DESCRIBE on CLUSTER is needed")
    return RequestRefused(f"{endpoint} does not tell {what}: {code.name.upper()} ({int(code)})")
