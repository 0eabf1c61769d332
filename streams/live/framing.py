"""kio's requests and replies behind the object interface of kafka-python's ApiMessage.

KafkaConnection and KafkaProtocol call exactly what is defined here: `API_KEY`, `API_VERSION`,
`expect_response`, `with_header`, `header`, `encode`; and of the reply's class `parse_header` and
`decode`. A test holds this against a real controller, as kafka-python promises none of it.
"""

import io
from typing import Any, Final

from kafka.errors import KafkaProtocolError
from kio.schema.request_header.v2.header import RequestHeader
from kio.schema.response_header.v1.header import ResponseHeader
from kio.serial import entity_reader, entity_writer
from kio.serial.errors import SerialError
from kio.static.primitive import i16, i32

CLIENT_ID: Final = "kraftgate"
_HEADER_BYTES_MAX: Final = 64


class RequestFrame:
    """A kio request behind the interface of kafka-python's ApiMessage (KafkaProtocol uses it)."""

    def __init__(self, entity: Any) -> None:  # noqa: ANN401
        self.API_KEY = int(entity.__api_key__)
        self.API_VERSION = int(entity.__version__)
        self.header: _Header | None = None
        self._entity = entity
        self._client_id = CLIENT_ID

    def expect_response(self) -> bool:
        """Say that a reply follows."""
        return True

    def with_header(self, correlation_id: int = 0, client_id: str = CLIENT_ID) -> None:
        """Take the id that the reply will carry."""
        self.header = _Header(correlation_id, self.API_KEY, self.API_VERSION)
        self._client_id = client_id

    def encode(self, *, framed: bool, header: bool) -> bytes:
        """Return the bytes to send: length, header, request."""
        if self.header is None or not (framed and header):
            raise ValueError("a request is sent framed and with its header")
        with io.BytesIO() as buffer:
            entity_writer(RequestHeader)(
                buffer,
                RequestHeader(
                    request_api_key=i16(self.API_KEY),
                    request_api_version=i16(self.API_VERSION),
                    correlation_id=i32(self.header.correlation_id),
                    client_id=self._client_id,
                ),
            )
            entity_writer(type(self._entity))(buffer, self._entity)
            payload = buffer.getvalue()
        return len(payload).to_bytes(4, "big") + payload

    def __str__(self) -> str:
        """Print without content, for kafka-python's log."""
        return f"API {self.API_KEY} v{self.API_VERSION}"


class _Header:
    """What KafkaProtocol keeps of a request until its reply comes."""

    def __init__(self, correlation_id: int, api_key: int, api_version: int) -> None:
        self.correlation_id = correlation_id
        self.api_key = api_key
        self.api_version = api_version

    def get_response_class(self) -> "type[ReplyFrame]":
        """Return the class that takes the reply's bytes."""
        return ReplyFrame


class ReplyFrame:
    """A reply: it stays bytes inside the event loop; kio decodes them outside of it."""

    @staticmethod
    def parse_header(buffer: Any) -> ResponseHeader:  # noqa: ANN401 kafka-python's KafkaBytes
        """Read the header and leave the buffer behind it.

        Raises:
            KafkaProtocolError: there is none; kafka-python then closes the connection.
        """
        try:
            header, size = entity_reader(ResponseHeader)(bytes(buffer[:_HEADER_BYTES_MAX]), 0)
        except SerialError as error:
            raise KafkaProtocolError(f"a reply without a header: {error!r}") from error
        buffer.seek(size)
        return header

    @staticmethod
    def decode(buffer: Any) -> bytes:  # noqa: ANN401
        """Return the body as it is."""
        body: bytes = buffer.read()
        return body
