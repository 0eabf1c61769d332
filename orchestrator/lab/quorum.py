"""Asks who controls: a controller by DescribeQuorum, a broker by DescribeCluster."""

from dataclasses import dataclass

from kio.schema.describe_cluster.v0.request import DescribeClusterRequest
from kio.schema.describe_cluster.v0.response import DescribeClusterResponse
from kio.schema.describe_quorum.v1 import request, response
from kio.schema.errors import ErrorCode
from kio.schema.types import TopicName
from kio.static.primitive import i32

from orchestrator.lab.ports import LOOPBACK
from orchestrator.lab.wire import roundtrip

_TOPIC = "__cluster_metadata"
_SOCKET_S_MAX = 3.0
_TIMES = 20


@dataclass(frozen=True, slots=True)
class Quorum:
    """The quorum as its leader sees it.

    Attributes:
        leader: The active controller's id.
        epoch: The leader epoch.
        high_watermark: The offset below which records are committed.
        voters: The log end offset of each voter, -1 while unknown.
    """

    leader: int
    epoch: int
    high_watermark: int
    voters: dict[int, int]

    @property
    def caught_up(self) -> bool:
        """Whether every voter has all committed records."""
        return all(end >= self.high_watermark for end in self.voters.values())


def describe(port: int) -> Quorum | None:
    """Ask the controller on this loopback port.

    Returns:
        The quorum when this controller leads it; None when it does not, or does not answer:
        an unreachable controller is a normal sight in a lab.
    """
    asked = request.DescribeQuorumRequest(
        topics=(
            request.TopicData(
                topic_name=TopicName(_TOPIC),
                partitions=(request.PartitionData(partition_index=i32(0)),),
            ),
        )
    )
    try:
        answer = roundtrip(
            (LOOPBACK, port), asked, response.DescribeQuorumResponse, timeout_s=_SOCKET_S_MAX
        )
    except OSError:
        return None
    if answer.error_code is not ErrorCode.none or not answer.topics:
        return None
    partition = answer.topics[0].partitions[0]
    if partition.error_code is not ErrorCode.none or partition.high_watermark < 0:
        return None
    return Quorum(
        leader=int(partition.leader_id),
        epoch=int(partition.leader_epoch),
        high_watermark=int(partition.high_watermark),
        voters={int(v.replica_id): int(v.log_end_offset) for v in partition.current_voters},
    )


def names_controller(port: int, broker: int) -> bool:
    """Whether the broker on this loopback port takes `broker` for the controller.

    A broker in migration mode whose controller is KRaft's names some broker or other each time
    (KafkaApis.handleDescribeCluster), so it is asked often enough for chance not to matter. One
    that does not answer takes nobody for it.
    """
    asked = DescribeClusterRequest(include_cluster_authorized_operations=False)
    try:
        return all(
            roundtrip(
                (LOOPBACK, port), asked, DescribeClusterResponse, timeout_s=_SOCKET_S_MAX
            ).controller_id
            == broker
            for _ in range(_TIMES)
        )
    except OSError:
        return False
