"""All requests to one broker or controller, except those of the follower.

    with Node(Endpoint("b1", 9092), Security()) as broker:
        view = broker.metadata()
        log_dirs = broker.log_dirs()
        ends = broker.offsets(view.led_by(1), LATEST)

Requests that only preflight and the probes need use the classes of kafka-python, which support
every version: they must also read a cluster that is too old for a migration.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from kafka.protocol.admin import (
    DescribeConfigsRequest,
    DescribeQuorumRequest,
    ListPartitionReassignmentsRequest,
)
from kafka.protocol.metadata import ApiVersionsRequest
from kio.schema.errors import ErrorCode

from migration.observed.probed import UNCLEAN, Quorum, Voter
from migration.values.foreign import INT32_MAX, Unreadable, whole
from streams.kafka import messages
from streams.kafka.broker_values import (
    ClusterView,
    LogDirAnswer,
    PartitionOffset,
    PartitionView,
    ReplicaPlace,
    TopicPartition,
)
from streams.kafka.connection import Connection
from streams.kafka.error_codes import name
from streams.kafka.errors import ConnectionFailed, NotAuthorized, ReplyDamaged, RequestRefused
from streams.kafka.framing import CLIENT_ID
from streams.kafka.messages import entity
from streams.net.endpoint import Endpoint
from streams.net.security import Security

LATEST: Final = -1
EARLIEST: Final = -2
_CONSUMER: Final = -1
_NO_LEADER: Final = -1
_VOLUMES_SINCE: Final = 4
_REASSIGNMENTS_MS: Final = 8000
_TOPIC: Final = 2
_NODE: Final = 4
_DEFAULT_CONFIG: Final = 5
_MIN_ISR: Final = "min.insync.replicas"
_TOPICS_MAX: Final = 500
"""The most topics in one DESCRIBE_CONFIGS request."""
_PARTITIONS_MAX: Final = 5000
"""The most partitions in one LIST_OFFSETS request."""
_API_VERSIONS_WITH_FEATURES: Final = 3
_DENIED: Final = frozenset(
    {
        ErrorCode.topic_authorization_failed,
        ErrorCode.group_authorization_failed,
        ErrorCode.cluster_authorization_failed,
    }
)
_METADATA_VERSION: Final = "metadata.version"

At = TypeVar("At", bound=TopicPartition)


class Features(NamedTuple):
    """The features in the ApiVersions reply of a node.

    Attributes:
        supported: the highest metadata.version that the node supports; None if it reports none.
        finalized: the finalized metadata.version; None while there is none.
        migration_ready: whether a controller reports that it is configured for the migration.
    """

    supported: int | None
    finalized: int | None
    migration_ready: bool


class TopicSettings(NamedTuple):
    """Settings of topics.

    Attributes:
        min_isr: `min.insync.replicas`, by topic.
        unclean: the topics with `unclean.leader.election.enable`.
    """

    min_isr: dict[str, int]
    unclean: set[str]


class Node(Connection):
    """A connected and authenticated broker or controller. Not thread-safe.

    Every call raises ConnectionFailed if no reply arrives in time, and ReplyDamaged if the reply
    does not decode.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        security: Security,
        *,
        broker: int | None = None,
        connect_timeout_ms: int = 3000,
        reply_timeout_ms: int = 5000,
    ) -> None:
        """Connect as `Connection` does.

        `broker`: whose address it must be; if a wrong route leads to another one, that is a
        ConnectionFailed. `reply_timeout_ms`: the limit for each reply; 3 s of grace are added.
        """
        super().__init__(endpoint, security, connect_timeout_ms=connect_timeout_ms)
        self._reply_timeout_ms = reply_timeout_ms
        if broker is not None:
            try:
                with suppress(NotAuthorized, RequestRefused):  # do not show which broker answered
                    self.settings(broker, ("broker.id",))
            except BaseException:
                self.close()
                raise

    def metadata(self, *, topics: bool = True) -> ClusterView:
        """Return this broker's view of the cluster, with all topics or without topics.

        The request never creates a topic.

        Raises:
            RequestRefused: the broker does not support the version.
        """
        reply = self._metadata(None if topics else ())
        return ClusterView(
            cluster_id=reply.cluster_id,
            brokers={
                int(each.node_id): Endpoint(each.host, int(each.port)) for each in reply.brokers
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
            controller=messages.known(reply.controller_id),
            racks={int(each.node_id): each.rack for each in reply.brokers if each.rack},
        )

    def nonexistent(self, topics: Collection[str]) -> frozenset[str]:
        """Return those of the topics that do not exist, by this broker's view.

        Without DESCRIBE on a topic, the broker does not say whether it exists: then it may.
        """
        reply = self._metadata(sorted(topics))
        return frozenset(
            each.name
            for each in reply.topics
            if each.error_code == ErrorCode.unknown_topic_or_partition
        )

    def _metadata(self, topics: Collection[str] | None) -> Any:  # noqa: ANN401 generated kio classes
        version = self.version(messages.METADATA)
        kind = entity(messages.METADATA, version, "MetadataRequestTopic")
        return self._ask(
            entity(messages.METADATA, version, "Request")(
                topics=None
                if topics is None
                else tuple(kind(topic_id=None, name=each) for each in topics),
                allow_auto_topic_creation=False,
                include_topic_authorized_operations=False,
            )
        )

    def log_dirs(self) -> tuple[LogDirAnswer, ...]:
        """Return the log directories of this broker, with all replicas in them.

        Raises:
            NotAuthorized: DESCRIBE on CLUSTER is missing (KafkaApis.handleDescribeLogDirs).
            RequestRefused: the broker returns another error, or is too old.
        """
        version = self.version(messages.DESCRIBE_LOG_DIRS)
        reply = self._ask(entity(messages.DESCRIBE_LOG_DIRS, version, "Request")(topics=None))
        # Each reader of the error names the broker that does not describe its log directories.
        if reply.error_code in _DENIED:
            raise NotAuthorized(f"{self.endpoint}: DescribeLogDirs needs DESCRIBE on CLUSTER")
        if reply.error_code:
            raise RequestRefused(
                f"{self.endpoint} answers DescribeLogDirs with {name(reply.error_code)}"
            )
        return tuple(_log_dir(each, version) for each in reply.results)

    def alter_log_dirs(self, targets: Mapping[At, str]) -> Mapping[At, str]:
        """Move replicas of this broker to other log directories (AlterReplicaLogDirs, KIP-113).

        The broker answers once it has begun. A replica's own directory as the target ends its move
        (ReplicaManager.alterReplicaLogDirs).

        Returns:
            why a replica is refused: the missing right, or Kafka's name of the error; empty if all
                are accepted.

        Raises:
            RequestRefused: the broker does not support the version.
            ReplyDamaged: the reply is not about these replicas.
        """
        version = self.version(messages.ALTER_REPLICA_LOG_DIRS)
        reply = self._ask(_log_dirs_request(version, targets.items()))
        codes = {
            (topic.topic_name, int(each.partition_index)): int(each.error_code)
            for topic in reply.results
            for each in topic.partitions
        }
        if codes.keys() != targets.keys():
            text = f"{self.endpoint} answered for {len(codes)} of {len(targets)} replicas to move"
            raise ReplyDamaged(text)
        return {
            at: "ALTER on CLUSTER is needed" if codes[at] in _DENIED else name(codes[at])
            for at in targets
            if codes[at]
        }

    def offsets(
        self, partitions: Iterable[TopicPartition], which: int
    ) -> tuple[PartitionOffset, ...]:
        """Return an offset or an error for each partition; one led elsewhere has an error.

        Args:
            partitions: (topic, partition) pairs.
            which: LATEST or EARLIEST.

        Raises:
            RequestRefused: the broker does not support the version.
        """
        wanted = sorted(partitions)
        version = self.version(messages.LIST_OFFSETS) if wanted else 0
        found: list[PartitionOffset] = []
        for start in range(0, len(wanted), _PARTITIONS_MAX):
            some = wanted[start : start + _PARTITIONS_MAX]
            reply = self._ask(_offsets_request(version, some, which))
            found += [
                PartitionOffset(
                    topic=topic.name,
                    partition=int(each.partition_index),
                    error=int(each.error_code),
                    offset=int(each.offset),
                    leader_epoch=messages.known(each.leader_epoch),
                )
                for topic in reply.topics
                for each in topic.partitions
            ]
        return tuple(found)

    @property
    def release(self) -> tuple[int, ...]:
        """The release that the API versions of this node imply, such as (3, 9)."""
        return tuple(self._kafka.broker_version_data.broker_version[:2])

    def features(self) -> Features:
        reply = self._send(
            ApiVersionsRequest(
                version=_API_VERSIONS_WITH_FEATURES,
                client_software_name=CLIENT_ID,
                client_software_version="0",
            )
        )
        supported = {each.name: each.max_version for each in reply.supported_features or ()}
        finalized = {each.name: each.max_version_level for each in reply.finalized_features or ()}
        return Features(
            supported=supported.get(_METADATA_VERSION),
            finalized=finalized.get(_METADATA_VERSION),
            migration_ready=bool(reply.zk_migration_ready),
        )

    def settings(self, node_id: int, names: Sequence[str]) -> Mapping[str, str]:
        """Return the server properties with these names; of a secret, only whether it is set.

        Raises:
            ConnectionFailed: the endpoint leads to another node (ConfigHelper.describeConfigs).
            NotAuthorized: DESCRIBE_CONFIGS on CLUSTER is missing.
            RequestRefused: the node returns another error.
        """
        (result,) = self._configs([(_NODE, str(node_id))], names)
        if result.error_code == ErrorCode.invalid_request:
            raise ConnectionFailed(f"{self.endpoint} leads to another node than {node_id}")
        self._refuse(result.error_code, "its settings", "DESCRIBE_CONFIGS on CLUSTER")
        found = {}
        for each in result.configs:
            if each.is_sensitive:
                found[each.name] = "" if each.config_source == _DEFAULT_CONFIG else "(set)"
            else:
                found[each.name] = each.value or ""
        return found

    def topic_settings(self, topics: Iterable[str]) -> TopicSettings:
        """Return settings of every topic: its own, or the default of the broker or the cluster.

        Raises:
            NotAuthorized: DESCRIBE_CONFIGS on one of the topics is missing.
            ReplyDamaged: a value is not a number.
        """
        wanted = sorted(topics)
        found = TopicSettings({}, set())
        for start in range(0, len(wanted), _TOPICS_MAX):
            resources = [(_TOPIC, name) for name in wanted[start : start + _TOPICS_MAX]]
            for result in self._configs(resources, [_MIN_ISR, UNCLEAN]):
                if result.error_code in _DENIED:
                    self._refuse(
                        result.error_code,
                        f"the configuration of topic {result.resource_name}",
                        "DESCRIBE_CONFIGS on all topics",
                    )
                for each in result.configs:
                    if each.name == _MIN_ISR:
                        number = self._number(result.resource_name, each.value)
                        found.min_isr[result.resource_name] = number
                    elif (each.value or "").strip().lower() == "true":
                        found.unclean.add(result.resource_name)
        return found

    def reassignments(self) -> tuple[str, ...] | None:
        """Return the ongoing reassignments as text; None if this node is not the controller.

        Raises:
            NotAuthorized: DESCRIBE on CLUSTER is missing.
        """
        reply = self._send(
            ListPartitionReassignmentsRequest(timeout_ms=_REASSIGNMENTS_MS, topics=None)
        )
        if reply.error_code == ErrorCode.not_controller:
            return None
        self._refuse(reply.error_code, "the open reassignments", "DESCRIBE on CLUSTER")
        return tuple(
            f"{topic.name}-{part.partition_index}: replicas {list(part.replicas)},"
            f" adding {list(part.adding_replicas)}, removing {list(part.removing_replicas)}"
            for topic in reply.topics
            for part in topic.partitions
        )

    def quorum(self) -> Quorum | None:
        """Return the state of the quorum; None if this controller is not its leader.

        Raises:
            NotAuthorized: DESCRIBE on CLUSTER is missing.
        """
        reply = self._send(DescribeQuorumRequest(topics=[(messages.METADATA_TOPIC, [(0,)])]))
        elsewhere = ErrorCode.not_leader_or_follower
        self._refuse(reply.error_code, "its quorum", "DESCRIBE on CLUSTER", but=elsewhere)
        for topic in reply.topics:
            for part in topic.partitions:
                if part.error_code == 0 and part.leader_id >= 0:
                    return Quorum(
                        leader=part.leader_id,
                        epoch=part.leader_epoch,
                        high_watermark=messages.known(part.high_watermark),
                        voters=tuple(sorted(each.replica_id for each in part.current_voters)),
                        progress=tuple(sorted(map(_voter, part.current_voters), key=_id)),
                    )
        return None

    def _configs(self, resources: Sequence[tuple[int, str]], names: Sequence[str]) -> Any:  # noqa: ANN401
        kind = DescribeConfigsRequest.DescribeConfigsResource
        reply = self._send(
            DescribeConfigsRequest(
                resources=[
                    kind(resource_type=type_, resource_name=name, configuration_keys=list(names))
                    for type_, name in resources
                ],
                include_synonyms=False,
            )
        )
        if len(reply.results) != len(resources):
            raise RequestRefused(
                f"{self.endpoint} described {len(reply.results)} of {len(resources)} resources"
            )
        return reply.results

    def _number(self, topic: str, value: str | None) -> int:
        try:
            return whole(value, _MIN_ISR, 0, INT32_MAX)
        except Unreadable as error:
            raise ReplyDamaged(f"{self.endpoint} describes topic {topic}: {error}") from error

    def _refuse(self, code: int, what: str, needed: str, *, but: int = 0) -> None:
        if code in {0, but}:
            return
        if code in _DENIED:
            raise NotAuthorized(f"{self.endpoint} does not describe {what}: {needed} is needed")
        raise RequestRefused(f"{self.endpoint} does not describe {what}: {name(code)}")

    def _ask(self, request: Any) -> Any:  # noqa: ANN401 kio entities
        return self.ask(request, wait_ms=self._reply_timeout_ms)

    def _send(self, request: Any) -> Any:  # noqa: ANN401 kafka-python's messages
        return self.send(request, wait_ms=self._reply_timeout_ms)


def _voter(state: Any) -> Voter:  # noqa: ANN401
    """Convert a ReplicaState; before version 1 it has no timestamps."""
    caught_up = getattr(state, "last_caught_up_timestamp", None)
    return Voter(
        id=state.replica_id,
        log_end_offset=state.log_end_offset,
        last_caught_up_ms=None if caught_up is None or caught_up < 0 else caught_up,
    )


def _id(voter: Voter) -> int:
    return voter.id


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
        total_bytes=messages.known(result.total_bytes) if has_volume else None,
        usable_bytes=messages.known(result.usable_bytes) if has_volume else None,
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


def _log_dirs_request(version: int, targets: Iterable[tuple[TopicPartition, str]]) -> Any:  # noqa: ANN401
    kind = partial(entity, messages.ALTER_REPLICA_LOG_DIRS, version)
    by_path: defaultdict[str, defaultdict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for (topic, partition), path in sorted(targets):
        by_path[path][topic].append(partition)
    return kind("Request")(
        dirs=tuple(
            kind("AlterReplicaLogDir")(
                path=path,
                topics=tuple(
                    kind("AlterReplicaLogDirTopic")(name=topic, partitions=tuple(partitions))
                    for topic, partitions in topics.items()
                ),
            )
            for path, topics in by_path.items()
        )
    )


def _offsets_request(version: int, wanted: Sequence[TopicPartition], which: int) -> Any:  # noqa: ANN401
    """Build a LIST_OFFSETS request of a consumer: LATEST or EARLIEST of each partition."""
    topic_kind = entity(messages.LIST_OFFSETS, version, "ListOffsetsTopic")
    partition_kind = entity(messages.LIST_OFFSETS, version, "ListOffsetsPartition")
    by_topic: defaultdict[str, list[int]] = defaultdict(list)
    for topic, partition in wanted:
        by_topic[topic].append(partition)
    return entity(messages.LIST_OFFSETS, version, "Request")(
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
