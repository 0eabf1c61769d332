"""All requests to one broker or controller, except those of the follower.

    with Node(Endpoint("b1", 9092), Security()) as broker:
        view = broker.metadata()
        log_dirs = broker.log_dirs()
        ends = broker.offsets(view.led_by(1), LATEST)

Requests that only preflight and the probes need use the classes of kafka-python, which support
every version: they must also read a cluster that is too old for a migration.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kafka.protocol.admin import (
    DescribeConfigsRequest,
    DescribeQuorumRequest,
    ListPartitionReassignmentsRequest,
)
from kafka.protocol.metadata import ApiVersionsRequest
from kio.schema.errors import ErrorCode

from migration.observed.probed import Quorum, Voter
from migration.values.foreign import INT32_MAX, Unreadable, whole
from streams.kafka import broker_messages, messages
from streams.kafka.broker_values import (
    ClusterView,
    LogDirAnswer,
    PartitionOffset,
    TopicPartition,
)
from streams.kafka.connection import Connection
from streams.kafka.errors import NotAuthorized, ReplyDamaged, RequestRefused
from streams.kafka.framing import CLIENT_ID
from streams.net.endpoint import Endpoint
from streams.net.security import Security

_REASSIGNMENTS_MS: Final = 8000
_TOPIC: Final = 2
_NODE: Final = 4
_DEFAULT_CONFIG: Final = 5
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
        connect_timeout_ms: int = 3000,
        reply_timeout_ms: int = 5000,
    ) -> None:
        """Connect, negotiate versions and authenticate.

        Args:
            endpoint: The listener of the node.
            security: The security settings of that listener.
            connect_timeout_ms: The limit for connecting, TLS and SASL together.
            reply_timeout_ms: The limit for each reply; 3 s of grace are added.

        Raises:
            ConnectionFailed: refused, timed out, TLS failed, or no version in common.
            ReplyDamaged: the endpoint does not speak the Kafka protocol.
            AuthenticationFailed: the SASL exchange was rejected, or a secret cannot be read.
        """
        super().__init__(endpoint, security, connect_timeout_ms=connect_timeout_ms)
        self._reply_timeout_ms = reply_timeout_ms

    def metadata(self, *, topics: bool = True) -> ClusterView:
        """Return this broker's view of the cluster, with all topics or without topics.

        Raises:
            RequestRefused: the broker does not support the version.
        """
        version = self.version(messages.METADATA)
        return broker_messages.read_metadata(
            self._ask(broker_messages.metadata_request(version, topics=topics))
        )

    def log_dirs(self) -> tuple[LogDirAnswer, ...]:
        """Return the log directories of this broker, with all replicas in them.

        Raises:
            NotAuthorized: DESCRIBE on CLUSTER is missing (KafkaApis.handleDescribeLogDirs).
            RequestRefused: the broker returns another error, or is too old.
        """
        version = self.version(messages.DESCRIBE_LOG_DIRS)
        reply = self._ask(broker_messages.log_dirs_request(version))
        self._refuse(reply.error_code, "its log directories", "DESCRIBE on CLUSTER")
        return broker_messages.read_log_dirs(reply)

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
            reply = self._ask(broker_messages.offsets_request(version, some, which))
            found += broker_messages.read_offsets(reply)
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
            NotAuthorized: DESCRIBE_CONFIGS on CLUSTER is missing.
            RequestRefused: the node returns another error.
        """
        (result,) = self._configs([(_NODE, str(node_id))], names)
        self._refuse(result.error_code, "its settings", "DESCRIBE_CONFIGS on CLUSTER")
        found = {}
        for each in result.configs:
            if each.is_sensitive:
                found[each.name] = "" if each.config_source == _DEFAULT_CONFIG else "(set)"
            else:
                found[each.name] = each.value or ""
        return found

    def min_isr(self, topics: Iterable[str]) -> Mapping[str, int]:
        """Return `min.insync.replicas` of every topic.

        Raises:
            NotAuthorized: DESCRIBE_CONFIGS on one of the topics is missing.
            ReplyDamaged: a value is not a number.
        """
        wanted = sorted(topics)
        found = {}
        for start in range(0, len(wanted), _TOPICS_MAX):
            resources = [(_TOPIC, name) for name in wanted[start : start + _TOPICS_MAX]]
            for result in self._configs(resources, ["min.insync.replicas"]):
                if result.error_code in _DENIED:
                    self._refuse(
                        result.error_code,
                        f"the configuration of topic {result.resource_name}",
                        "DESCRIBE_CONFIGS on all topics",
                    )
                for each in result.configs:
                    found[result.resource_name] = self._number(result.resource_name, each.value)
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
                        high_watermark=part.high_watermark,
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
            return whole(value, "min.insync.replicas", 0, INT32_MAX)
        except Unreadable as error:
            raise ReplyDamaged(f"{self.endpoint} describes topic {topic}: {error}") from error

    def _refuse(self, code: int, what: str, needed: str, *, but: int = 0) -> None:
        if code in {0, but}:
            return
        if code in _DENIED:
            raise NotAuthorized(f"{self.endpoint} does not describe {what}: {needed} is needed")
        raise RequestRefused(f"{self.endpoint} does not describe {what}: {_named(code)}")

    def _ask(self, request: Any) -> Any:  # noqa: ANN401 kio entities
        return self.ask(request, wait_ms=self._reply_timeout_ms)

    def _send(self, request: Any) -> Any:  # noqa: ANN401 kafka-python's messages
        return self.send(request, wait_ms=self._reply_timeout_ms)


def _named(code: int) -> str:
    try:
        return f"{ErrorCode(code).name.upper()} ({int(code)})"
    except ValueError:
        return f"error code {code}"


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
