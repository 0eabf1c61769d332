"""Adapts requests and replies of kio to the object interface of kafka-python; reads all frames.

KafkaConnection uses exactly the members that are defined here: `API_KEY`, `API_VERSION`,
`expect_response`, `with_header`, `header` and `encode` of a request; and a KafkaProtocol, which
`Frames` replaces. kafka-python documents none of them as stable, so a test checks them against a
real controller.
"""

import io
import struct
import threading
from typing import Any, Final

from kafka.errors import KafkaProtocolError
from kafka.protocol.parser import KafkaProtocol
from kafka.protocol.sasl import SaslBytesResponse
from kio.index import UnknownAPIKey, UnknownEntity, load_response_schema
from kio.schema.request_header.v2.header import RequestHeader
from kio.serial import entity_writer
from kio.static.primitive import i16, i32

from streams.wire.errors import DamagedValue
from streams.wire.structure import measure, normalize

CLIENT_ID: Final = "kraftgate"
HANDSHAKE_BYTES_MAX: Final = 1024 * 1024
"""An ApiVersions reply has about 1 kB, the largest SASL token 64 kB."""
_API_VERSIONS: Final = 18
_LENGTH_BYTES: Final = 4
_CORRELATION_BYTES: Final = 4
_SHOWN_BYTES: Final = 16
_TLS_ALERT: Final = b"\x15\x03"
SPEAKS_TLS: Final = "speaks TLS"
_ERROR_CODE: Final = slice(4, 6)
_MAKING: Final = threading.Lock()


class BadFrame(KafkaProtocolError):  # type: ignore[misc] # kafka-python has no types
    """The bytes are not a reply to the pending request; kafka-python then closes the connection.

    Attributes:
        reason: The flaw, as a clause.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class RequestFrame:
    """A kio request with the interface of kafka-python's ApiMessage, which KafkaProtocol uses."""

    def __init__(self, entity: Any) -> None:  # noqa: ANN401
        self.API_KEY = int(entity.__api_key__)
        self.API_VERSION = int(entity.__version__)
        self.header: RequestHeader | None = None
        self._entity = entity

    def expect_response(self) -> bool:
        """Return True: every request has a reply."""
        return True

    def with_header(self, correlation_id: int = 0, client_id: str = CLIENT_ID) -> None:
        """Make the header, which KafkaProtocol stores until the reply arrives."""
        self.header = RequestHeader(
            request_api_key=i16(self.API_KEY),
            request_api_version=i16(self.API_VERSION),
            correlation_id=i32(correlation_id),
            client_id=client_id,
        )

    def encode(self, *, framed: bool, header: bool) -> bytes:
        """Return the bytes to send: length, header, request.

        Raises:
            ValueError: `with_header` was not called, or only a part is wanted.
        """
        if self.header is None or not (framed and header):
            raise ValueError("a request is sent framed and with its header")
        with io.BytesIO() as buffer:
            entity_writer(RequestHeader)(buffer, self.header)
            entity_writer(type(self._entity))(buffer, self._entity)
            payload = buffer.getvalue()
        return len(payload).to_bytes(4, "big") + payload

    def __str__(self) -> str:
        """Return API key and version without the content, for kafka-python's log."""
        return f"API {self.API_KEY} v{self.API_VERSION}"


class Frames(KafkaProtocol):  # type: ignore[misc] # kafka-python has no types
    """kafka-python's protocol with a replaced reader.

    The size of a frame is checked before the frame is buffered. Memory grows with the bytes that
    arrive, not with the announced size. Every reply is checked against kio's schema before kio or
    kafka-python decodes it.

    Attributes:
        reply_bytes_max: The largest reply that is accepted.
    """

    def __init__(self) -> None:
        super().__init__(client_id=CLIENT_ID)
        self.reply_bytes_max = HANDSHAKE_BYTES_MAX
        self._received = bytearray()

    def receive_bytes(self, data: bytes) -> list[tuple[int, Any]]:
        """Buffer the received bytes; return the correlation id and body of each complete reply.

        Raises:
            BadFrame: the bytes are not a reply, the reply is too large, or it is not the pending
                one.
        """
        self._received += data
        replies = []
        while (frame := self._next_frame()) is not None:
            replies.append(self._reply(frame))
        return replies

    def _next_frame(self) -> bytes | None:
        if len(self._received) < _LENGTH_BYTES:
            return None
        size = int.from_bytes(self._received[:_LENGTH_BYTES], signed=True)
        if not 0 <= size <= self.reply_bytes_max:
            begin = bytes(self._received[:_SHOWN_BYTES])
            if begin.startswith(_TLS_ALERT):
                raise BadFrame(SPEAKS_TLS)
            raise BadFrame(
                f"sent no Kafka reply of at most {self.reply_bytes_max} bytes; it begins with"
                f" {begin!r}. Check that the port is a Kafka listener, and its security protocol"
            )
        end = _LENGTH_BYTES + size
        if len(self._received) < end:
            return None
        frame = bytes(memoryview(self._received)[_LENGTH_BYTES:end])
        del self._received[:end]
        return frame

    def _reply(self, frame: bytes) -> tuple[int, Any]:
        if not self.in_flight_requests:
            raise BadFrame(f"sent a reply of {len(frame)} bytes that was not requested")
        header = self.in_flight_requests.popleft()
        if isinstance(header, SaslBytesResponse):
            # SASL before Kafka 1.0: tokens without headers; the mechanism checks them.
            return header.correlation_id, header.decode(io.BytesIO(frame))
        key, version = header.request_api_key, header.request_api_version
        if key == _API_VERSIONS and any(frame[_ERROR_CODE]):
            # An error reply has version 0, which any client can read
            # (ApiVersionsRequest.getErrorResponse).
            version = 0
        try:
            body = body_of(frame, load_response_schema(key, version), header.correlation_id)
            if isinstance(header, RequestHeader):  # kio decodes it, outside the event loop
                return header.correlation_id, body
            return header.correlation_id, _class_of(header).decode(io.BytesIO(body))
        except (UnknownAPIKey, UnknownEntity) as error:
            raise BadFrame(f"speaks a version of API {key} that is not known: {version}") from error
        except (DamagedValue, ValueError, struct.error) as error:
            reason = error.reason if isinstance(error, DamagedValue) else repr(error)
            raise BadFrame(
                f"sent a reply to API {key} v{version} of {len(frame)} bytes that does not"
                f" decode: {reason}"
            ) from error


def _class_of(header: Any) -> Any:  # noqa: ANN401 of kafka-python
    """Return the class that decodes the reply, one thread at a time.

    kafka-python creates the class of a version at its first use, and holds only a weak reference to
    the last one that it created. If two threads create the class, that last one may be freed, and
    this process then decodes no further reply of this kind.
    """
    with _MAKING:
        return header.get_response_class()


def body_of(frame: bytes, kind: Any, correlation_id: int) -> bytes:  # noqa: ANN401 kio's classes
    """Return the body of a reply: a whole value of `kind`, which kio cannot read beyond its end.

    Tags that are newer than the schema are removed, because Kafka skips them.

    Args:
        frame: Header and body.
        kind: kio's class of the reply.
        correlation_id: The correlation id of the request.

    Raises:
        DamagedValue: the frame is too short, answers another request, or is not a reply of `kind`.
    """
    if len(frame) < _CORRELATION_BYTES:
        raise DamagedValue(f"a reply of {len(frame)} bytes has no header")
    answered = int.from_bytes(frame[:_CORRELATION_BYTES], signed=True)
    if answered != correlation_id:
        raise DamagedValue(f"it answers request {answered}, but {correlation_id} was sent")
    start = measure(kind.__header_schema__, frame, 0)
    return normalize(kind, frame, start)[start:]
