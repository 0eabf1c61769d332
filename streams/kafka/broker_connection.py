"""One connection to one broker: the controllers' connection, with the requests a broker is asked.

TLS, SASL, framing and time-outs are those of `streams.kafka.connection`; its errors come out as
this package's.
"""

from typing import Any, Final

from streams.kafka.connection import ControllerConnection
from streams.kafka.errors import RequestRefused
from streams.net.endpoint import Endpoint
from streams.net.security import Security

METADATA: Final = 3
LIST_OFFSETS: Final = 2
DESCRIBE_LOG_DIRS: Final = 35
VERSIONS: Final = {METADATA: (12, 12), LIST_OFFSETS: (7, 7), DESCRIBE_LOG_DIRS: (3, 4)}
"""Versions that are spoken, lowest and highest, by API key. All brokers since 3.2 speak them.

DESCRIBE_LOG_DIRS before v3 has no error code: without authorization it is merely empty.
"""


class BrokerConnection:
    """A connected and authenticated connection to a broker. Not thread-safe."""

    def __init__(
        self,
        endpoint: Endpoint,
        security: Security,
        *,
        connect_timeout_ms: int = 3000,
        reply_timeout_ms: int = 2000,
    ) -> None:
        """Connect, agree on versions and authenticate.

        Args:
            endpoint: Where the broker listens.
            security: How that listener is secured.
            connect_timeout_ms: For connecting, TLS and SASL together.
            reply_timeout_ms: For each reply, with 3 s of grace added.

        Raises:
            ConnectionFailed: refused, timed out, TLS failed, or no version in common.
            AuthenticationFailed: the SASL exchange was refused, or a secret cannot be read.
        """
        self.endpoint = endpoint
        self._reply_timeout_ms = reply_timeout_ms
        self._connection = _Connection(endpoint, security, connect_timeout_ms=connect_timeout_ms)

    def version(self, api_key: int) -> int:
        """Return the highest version of `api_key` that both sides speak.

        Raises:
            RequestRefused: there is none.
        """
        return self._connection.version(api_key)

    def ask(self, request: Any) -> Any:  # noqa: ANN401 kio entities
        """Send a kio request and return the kio reply.

        Raises:
            ConnectionFailed: the connection broke, or no reply came in time.
            ReplyDamaged: the reply does not decode.
        """
        return self._connection.ask(request, wait_ms=self._reply_timeout_ms)

    def close(self) -> None:
        """Close; a second time does nothing."""
        self._connection.close()

    def __enter__(self) -> "BrokerConnection":
        """Use as a context manager; closes at the end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()


class _Connection(ControllerConnection):
    """The same connection; only which versions are wanted differs."""

    def version(self, api_key: int) -> int:
        lowest, highest = VERSIONS[api_key]
        theirs = self._kafka.broker_version_data.api_versions.get(api_key, (0, -1))
        version = min(highest, theirs[1])
        if version < max(lowest, theirs[0]):
            raise RequestRefused(
                f"{self.endpoint} offers versions {theirs[0]}-{theirs[1]} of API {api_key},"
                f" {lowest}-{highest} are needed: is it a broker, of Kafka 3.2 or later?"
            )
        return int(version)
