"""One broker or controller, asked what only preflight wants to know of it.

The connection is the follower's, with its TLS, SASL and time-outs. The requests are kafka-python's,
which speak every version: preflight must also read a cluster that is too old to be migrated.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kafka.protocol.admin import (
    DescribeConfigsRequest,
    DescribeQuorumRequest,
    ListPartitionReassignmentsRequest,
)
from kafka.protocol.metadata import ApiVersionsRequest

from migration.observed.probed import Quorum, Voter
from migration.values.foreign import INT32_MAX, Unreadable, whole
from streams.kafka.connection import ControllerConnection
from streams.kafka.errors import ConnectionFailed, NotAuthorized, ReplyDamaged
from streams.kafka.framing import CLIENT_ID
from streams.kafka.messages import METADATA_TOPIC

REPLY_MS_MAX: Final = 8000
_TOPIC: Final = 2
_NODE: Final = 4
_DEFAULT_CONFIG: Final = 5
_TOPICS_MAX: Final = 500
"""In one DESCRIBE_CONFIGS request."""
_API_VERSIONS_WITH_FEATURES: Final = 3
_DENIED: Final = frozenset({29, 31})
_NOT_LEADER: Final = 6
_NOT_CONTROLLER: Final = 41
_METADATA_VERSION: Final = "metadata.version"


class Features(NamedTuple):
    """What a node says of itself in ApiVersions.

    Attributes:
        supported: the highest metadata.version that it supports; None when it does not tell.
        finalized: the one in force; None while there is none.
        migration_ready: a controller's word that it is configured for the migration.
    """

    supported: int | None
    finalized: int | None
    migration_ready: bool


class Node(ControllerConnection):
    """A connected and authenticated broker or controller. Not thread-safe.

    Every call raises ConnectionFailed when no legible reply comes in time.
    """

    @property
    def release(self) -> tuple[int, ...]:
        """The release that offers the APIs that this node offers, such as (3, 9)."""
        return tuple(self._kafka.broker_version_data.broker_version[:2])

    def features(self) -> Features:
        """Ask for its features (ApiVersions)."""
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
        """Ask for its server properties of these names; of a secret, only whether there is one.

        Raises:
            NotAuthorized: DESCRIBE_CONFIGS on CLUSTER is missing.
            ConnectionFailed: it answers with another error.
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
        """Ask for `min.insync.replicas` of every topic.

        Raises:
            NotAuthorized: DESCRIBE_CONFIGS on one of them is missing.
            ReplyDamaged: a value is no number.
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
        """Ask for the open reassignments, in words; None when this is not the controller.

        Raises:
            NotAuthorized: DESCRIBE on CLUSTER is missing.
        """
        reply = self._send(ListPartitionReassignmentsRequest(timeout_ms=REPLY_MS_MAX, topics=None))
        if reply.error_code == _NOT_CONTROLLER:
            return None
        self._refuse(reply.error_code, "the open reassignments", "DESCRIBE on CLUSTER")
        return tuple(
            f"{topic.name}-{part.partition_index}: replicas {list(part.replicas)},"
            f" adding {list(part.adding_replicas)}, removing {list(part.removing_replicas)}"
            for topic in reply.topics
            for part in topic.partitions
        )

    def quorum(self) -> Quorum | None:
        """Ask for the quorum; None when this controller does not lead it.

        Raises:
            NotAuthorized: DESCRIBE on CLUSTER is missing.
        """
        reply = self._send(DescribeQuorumRequest(topics=[(METADATA_TOPIC, [(0,)])]))
        self._refuse(reply.error_code, "its quorum", "DESCRIBE on CLUSTER", but=_NOT_LEADER)
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
            raise ConnectionFailed(
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
            raise NotAuthorized(f"{self.endpoint} does not tell {what}: {needed} is needed")
        raise ConnectionFailed(f"{self.endpoint} does not tell {what}: error code {code}")

    def _send(self, request: Any) -> Any:  # noqa: ANN401 kafka-python's messages
        deadline = time.monotonic() + REPLY_MS_MAX / 1000
        return self._drive(self._answer(request), deadline)

    async def _answer(self, request: Any) -> Any:  # noqa: ANN401
        return await self._kafka.send_request(request, request_timeout_ms=REPLY_MS_MAX)


def _voter(state: Any) -> Voter:  # noqa: ANN401
    """A ReplicaState; before version 1 it tells no times."""
    caught_up = getattr(state, "last_caught_up_timestamp", None)
    return Voter(
        id=state.replica_id,
        log_end_offset=state.log_end_offset,
        last_caught_up_ms=None if caught_up is None or caught_up < 0 else caught_up,
    )


def _id(voter: Voter) -> int:
    return voter.id
