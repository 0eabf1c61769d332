"""Asks a controller who leads: DescribeQuorum over a plain socket, by kio's schemas.

No client library of ours speaks to a controller's listener, because that listener has no
METADATA request.
"""

import io
import socket
import struct
from dataclasses import dataclass

from kio.schema.describe_quorum.v1 import request, response
from kio.schema.errors import ErrorCode
from kio.schema.request_header.v2.header import RequestHeader
from kio.schema.response_header.v1.header import ResponseHeader
from kio.schema.types import TopicName
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i16, i32

from orchestrator.lab.ports import LOOPBACK

_TOPIC = "__cluster_metadata"
_SOCKET_S_MAX = 3.0
_FRAME_BYTES_MAX = 1 << 20
_CORRELATION = 1


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
    try:
        with socket.create_connection((LOOPBACK, port), timeout=_SOCKET_S_MAX) as connection:
            connection.sendall(_request())
            size = struct.unpack(">i", _exactly(connection, 4))[0]
            frame = _exactly(connection, min(size, _FRAME_BYTES_MAX))
    except OSError:
        return None
    return _quorum(frame)


def _request() -> bytes:
    asked = request.DescribeQuorumRequest(
        topics=(
            request.TopicData(
                topic_name=TopicName(_TOPIC),
                partitions=(request.PartitionData(partition_index=i32(0)),),
            ),
        )
    )
    header = RequestHeader(
        request_api_key=asked.__api_key__,
        request_api_version=i16(1),
        correlation_id=i32(_CORRELATION),
        client_id="kraftgate-lab",
    )
    buffer = io.BytesIO()
    entity_writer(RequestHeader)(buffer, header)
    entity_writer(request.DescribeQuorumRequest)(buffer, asked)
    body = buffer.getvalue()
    return struct.pack(">i", len(body)) + body


def _quorum(frame: bytes) -> Quorum | None:
    _, header_size = entity_reader(ResponseHeader)(frame, 0)
    answer, _ = entity_reader(response.DescribeQuorumResponse)(frame, header_size)
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


def _exactly(connection: socket.socket, size: int) -> bytes:
    received = bytearray()
    while len(received) < size:
        chunk = connection.recv(size - len(received))
        if not chunk:
            raise ConnectionResetError(f"closed after {len(received)} of {size} bytes")
        received += chunk
    return bytes(received)
