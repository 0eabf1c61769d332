"""Requests the controller: from a controller its quorum, from a broker its cluster's controller."""

from dataclasses import dataclass

from orchestrator.lab.machine.ports import LOOPBACK
from streams.kafka.node import Node
from streams.net.endpoint import Endpoint
from streams.net.errors import LiveError
from streams.net.security import Security

_CONNECT_MS_MAX = 3000
_REPLY_MS_MAX = 0
"""The client adds 3 s to it."""
_TIMES = 20


@dataclass(frozen=True, slots=True)
class Quorum:
    """The quorum as its leader describes it.

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
    """Query the controller on this loopback port.

    Returns:
        The quorum when this controller leads it; None when it does not, or does not answer: an
        unreachable controller is normal in a lab.
    """
    try:
        with _node(port) as node:
            found = node.quorum()
    except LiveError:
        return None
    if found is None or found.high_watermark < 0:
        return None
    return Quorum(
        leader=found.leader,
        epoch=found.epoch,
        high_watermark=found.high_watermark,
        voters={voter.id: voter.log_end_offset for voter in found.progress},
    )


def names_controller(port: int, broker: int) -> bool:
    """Return whether the broker on this loopback port reports `broker` as the controller.

    A broker in migration mode with a KRaft controller reports a random live broker each time
    (KafkaApis.handleTopicMetadataRequest), so the request is repeated until a match by chance is
    unlikely. A broker that does not answer reports none.
    """
    try:
        with _node(port) as node:
            return all(node.metadata(topics=False).controller == broker for _ in range(_TIMES))
    except LiveError:
        return False


def _node(port: int) -> Node:
    return Node(
        Endpoint(LOOPBACK, port),
        Security(),
        connect_timeout_ms=_CONNECT_MS_MAX,
        reply_timeout_ms=_REPLY_MS_MAX,
    )
