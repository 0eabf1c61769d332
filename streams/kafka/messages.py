"""Requests to controllers and their replies as plain values; versions and classes of every API.

In: the parameters of a request from the cursor. Out: the kio entities to send, and from kio's
replies `FetchReply`, `SnapshotReply` and `ClusterReply`, in which an absent value is None instead
of -1. Rules of the exchange: KafkaRaftClient.handleFetchRequest and handleFetchSnapshotRequest
(3.9).
"""

import datetime
import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple
from uuid import UUID

from streams.kafka.errors import ReplyDamaged
from streams.net.endpoint import Endpoint

METADATA_TOPIC_ID: Final = UUID(int=1)
METADATA_TOPIC: Final = "__cluster_metadata"
FETCH: Final = 1
FETCH_SNAPSHOT: Final = 59
DESCRIBE_CLUSTER: Final = 60
METADATA: Final = 3
LIST_OFFSETS: Final = 2
DESCRIBE_LOG_DIRS: Final = 35
ALTER_REPLICA_LOG_DIRS: Final = 34
_CONTROLLER: Final = "a KRaft controller of Kafka 3.3 or later"
_BROKER: Final = "a broker of Kafka 3.2 or later"


class Api(NamedTuple):
    """An API as Kraftgate uses it.

    Attributes:
        module: kio's.
        first: the lowest version that is used.
        last: the highest one.
        spoken_by: which nodes support these versions, for error messages.
    """

    module: str
    first: int
    last: int
    spoken_by: str


APIS: Final = {
    FETCH: Api("fetch", 13, 17, _CONTROLLER),
    FETCH_SNAPSHOT: Api("fetch_snapshot", 0, 1, _CONTROLLER),
    DESCRIBE_CLUSTER: Api("describe_cluster", 1, 1, "a KRaft controller of Kafka 3.7 or later"),
    METADATA: Api("metadata", 12, 12, _BROKER),
    LIST_OFFSETS: Api("list_offsets", 7, 7, _BROKER),
    # Before v3 it has no error code: without authorization the reply is only empty.
    DESCRIBE_LOG_DIRS: Api("describe_log_dirs", 3, 4, _BROKER),
    ALTER_REPLICA_LOG_DIRS: Api("alter_replica_log_dirs", 2, 2, _BROKER),
}
"""By API key."""
_CONSUMER: Final = -1
_CONTROLLERS: Final = 2
_REPLICA_STATE_SINCE: Final = 15


@dataclass(frozen=True, slots=True)
class OffsetAndEpoch:
    """The name of a snapshot, or the end of an epoch: the offset after its last record."""

    end_offset: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Leader:
    """The leader that a node reports; `node` is None while it knows no leader."""

    node: int | None
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchReply:
    """A FETCH reply for the one metadata partition.

    Attributes:
        error: Kafka's error code; 0 is no error.
        leader: The tagged CurrentLeader, if the reply has it.
        endpoints: Endpoints by node id, as far as the reply has them (v16 and later).
        high_watermark: First offset that is not committed; None while the leader knows none.
        diverging: The tagged DivergingEpoch: the follower's last epoch is not the leader's.
        snapshot: The tagged SnapshotId: fetch this snapshot instead of the log.
        records: Batches as on the leader's disk; the last one may be cut.
    """

    error: int = 0
    leader: Leader | None = None
    endpoints: Mapping[int, Endpoint] = field(default_factory=dict)
    high_watermark: int | None = None
    diverging: OffsetAndEpoch | None = None
    snapshot: OffsetAndEpoch | None = None
    records: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotReply:
    """A FETCH_SNAPSHOT reply: `content` of a file of `size` bytes, from byte `position` on."""

    error: int = 0
    leader: Leader | None = None
    endpoints: Mapping[int, Endpoint] = field(default_factory=dict)
    size: int = 0
    position: int = 0
    content: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterReply:
    """A DESCRIBE_CLUSTER reply, as far as the principal may read it (ALTER on CLUSTER in 3.9)."""

    error: int = 0
    cluster_id: str | None = None
    endpoints: Mapping[int, Endpoint] = field(default_factory=dict)


def entity(api_key: int, version: int, name: str) -> Any:  # noqa: ANN401 generated kio classes
    """Return the kio class `name` from the module of a request or reply.

    `name`: such as `FetchPartition`; `Request` and `Response` name the message itself.
    """
    module = APIS[api_key].module
    kind = "response" if name.startswith("Response") else "request"
    source = importlib.import_module(f"kio.schema.{module}.v{version}.{kind}")
    wanted = module.title().replace("_", "") + name if name in {"Request", "Response"} else name
    return getattr(source, wanted)


def fetch_request(
    version: int,
    *,
    cluster_id: str | None,
    leader_epoch: int,
    offset: int,
    last_fetched_epoch: int,
    max_wait_ms: int,
    max_bytes: int,
) -> Any:  # noqa: ANN401
    """Build a FETCH request for the metadata partition by topic id, as replica -1."""
    partition = entity(FETCH, version, "FetchPartition")(
        partition=0,
        current_leader_epoch=leader_epoch,
        fetch_offset=offset,
        last_fetched_epoch=last_fetched_epoch,
        partition_max_bytes=max_bytes,
    )
    topic = entity(FETCH, version, "FetchTopic")(
        topic_id=METADATA_TOPIC_ID, partitions=(partition,)
    )
    # In v15 and later the replica id is in the tagged ReplicaState, whose default is -1.
    replica = {} if version >= _REPLICA_STATE_SINCE else {"replica_id": _CONSUMER}
    return entity(FETCH, version, "Request")(
        **replica,
        cluster_id=cluster_id,
        max_wait=datetime.timedelta(milliseconds=max_wait_ms),
        min_bytes=1,
        max_bytes=max_bytes,
        topics=(topic,),
        forgotten_topics_data=(),
    )


def snapshot_request(
    version: int,
    *,
    cluster_id: str | None,
    leader_epoch: int,
    snapshot: OffsetAndEpoch,
    position: int,
    max_bytes: int,
) -> Any:  # noqa: ANN401
    """Build a FETCH_SNAPSHOT request from byte `position`, as replica -1."""
    partition = entity(FETCH_SNAPSHOT, version, "PartitionSnapshot")(
        partition=0,
        current_leader_epoch=leader_epoch,
        snapshot_id=entity(FETCH_SNAPSHOT, version, "SnapshotId")(
            end_offset=snapshot.end_offset, epoch=snapshot.epoch
        ),
        position=position,
    )
    topic = entity(FETCH_SNAPSHOT, version, "TopicSnapshot")(
        name=METADATA_TOPIC, partitions=(partition,)
    )
    return entity(FETCH_SNAPSHOT, version, "Request")(
        cluster_id=cluster_id, replica_id=_CONSUMER, max_bytes=max_bytes, topics=(topic,)
    )


def cluster_request(version: int) -> Any:  # noqa: ANN401
    """Build a DESCRIBE_CLUSTER request for the controllers (KIP-919)."""
    return entity(DESCRIBE_CLUSTER, version, "Request")(
        include_cluster_authorized_operations=False, endpoint_type=_CONTROLLERS
    )


def read_fetch(reply: Any) -> FetchReply:  # noqa: ANN401
    """Convert kio's FetchResponse to a value.

    Raises:
        ReplyDamaged: the reply does not have exactly one partition.
    """
    endpoints = _endpoints(reply)
    if reply.error_code.value != 0:
        return FetchReply(error=reply.error_code.value, endpoints=endpoints)
    data = _only([part for topic in reply.responses for part in topic.partitions])
    return FetchReply(
        error=data.error_code.value,
        leader=_leader(data.current_leader),
        endpoints=endpoints,
        high_watermark=known(data.high_watermark),
        diverging=_offset_and_epoch(data.diverging_epoch),
        snapshot=_offset_and_epoch(data.snapshot_id),
        records=bytes(data.records or b""),
    )


def read_snapshot(reply: Any) -> SnapshotReply:  # noqa: ANN401
    """Convert kio's FetchSnapshotResponse to a value.

    Raises:
        ReplyDamaged: the reply does not have exactly one partition.
    """
    endpoints = _endpoints(reply)
    if reply.error_code.value != 0:
        return SnapshotReply(error=reply.error_code.value, endpoints=endpoints)
    data = _only([part for topic in reply.topics for part in topic.partitions])
    return SnapshotReply(
        error=data.error_code.value,
        leader=_leader(data.current_leader),
        endpoints=endpoints,
        size=data.size,
        position=data.position,
        content=bytes(data.unaligned_records or b""),
    )


def read_cluster(reply: Any) -> ClusterReply:  # noqa: ANN401
    """Convert kio's DescribeClusterResponse to a value; an error reply has no cluster id."""
    if reply.error_code.value != 0:
        return ClusterReply(error=reply.error_code.value)
    nodes = {node.broker_id: Endpoint(node.host, node.port) for node in reply.brokers}
    return ClusterReply(cluster_id=reply.cluster_id or None, endpoints=nodes)


def _only(parts: list[Any]) -> Any:  # noqa: ANN401
    if len(parts) != 1:
        raise ReplyDamaged(f"a reply for {len(parts)} partitions, but 1 was requested")
    return parts[0]


def _endpoints(reply: Any) -> dict[int, Endpoint]:  # noqa: ANN401
    nodes = getattr(reply, "node_endpoints", ())
    return {node.node_id: Endpoint(node.host, node.port) for node in nodes}


def _leader(tagged: Any) -> Leader | None:  # noqa: ANN401
    epoch = known(tagged.leader_epoch)
    return None if epoch is None else Leader(known(tagged.leader_id), epoch)


def _offset_and_epoch(tagged: Any) -> OffsetAndEpoch | None:  # noqa: ANN401
    absent = tagged.end_offset < 0 or tagged.epoch < 0
    return None if absent else OffsetAndEpoch(tagged.end_offset, tagged.epoch)


def known(value: int) -> int | None:
    """Return a number of a reply; None: it is negative, which means unknown in Kafka."""
    return None if value < 0 else int(value)
