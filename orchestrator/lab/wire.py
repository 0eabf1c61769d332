"""One Kafka request over a plain socket, by kio's schemas.

For what no client library here can say: DescribeQuorum to a controller, whose listener has no
METADATA request, and the reassignment of partitions.
"""

import io
import socket
import struct
from typing import Any, Final, TypeVar

from kio.schema.request_header.v2.header import RequestHeader
from kio.serial import entity_reader, entity_writer
from kio.serial.errors import SerialError
from kio.static.primitive import i32

from streams.wire.errors import DamagedValue
from streams.wire.replies import body_of

_FRAME_BYTES_MAX: Final = 1 << 24
_CORRELATION_ID: Final = 1

T = TypeVar("T")


def roundtrip(address: tuple[str, int], asked: Any, answer: type[T], *, timeout_s: float) -> T:  # noqa: ANN401
    """Send one request of a flexible version and return its reply.

    Args:
        address: Host and port.
        asked: A kio request entity.
        answer: The kio response type of the same version.
        timeout_s: The bound of the connection and of each read, seconds.

    Raises:
        OSError: No connection, no reply in time, or one that is cut short, oversized or does not
            decode.
    """
    with socket.create_connection(address, timeout=timeout_s) as connection:
        connection.sendall(_frame(asked))
        size = struct.unpack(">i", _exactly(connection, 4))[0]
        if not 0 <= size <= _FRAME_BYTES_MAX:
            raise ConnectionAbortedError(f"a reply of {size} bytes")
        reply = _exactly(connection, size)
    try:
        body = body_of(reply, answer, _CORRELATION_ID)
        value: T = entity_reader(answer)(body, 0)[0]  # type: ignore[type-var]
    except (DamagedValue, SerialError, ValueError) as error:
        raise ConnectionAbortedError(f"a reply that does not decode: {error!r}") from error
    return value


def _frame(asked: Any) -> bytes:  # noqa: ANN401
    header = RequestHeader(
        request_api_key=asked.__api_key__,
        request_api_version=asked.__version__,
        correlation_id=i32(_CORRELATION_ID),
        client_id="kraftgate-lab",
    )
    buffer = io.BytesIO()
    entity_writer(RequestHeader)(buffer, header)
    entity_writer(type(asked))(buffer, asked)
    body = buffer.getvalue()
    return struct.pack(">i", len(body)) + body


def _exactly(connection: socket.socket, size: int) -> bytes:
    received = bytearray()
    while len(received) < size:
        chunk = connection.recv(size - len(received))
        if not chunk:
            raise ConnectionResetError(f"closed after {len(received)} of {size} bytes")
        received += chunk
    return bytes(received)
