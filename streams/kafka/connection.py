"""One connection to one broker or controller: it sends a request and returns the reply.

kafka-python's KafkaConnection handles ApiVersions, TLS and every SASL mechanism. `framing.py` lets
it send the requests of kio too, and checks every reply before kio or kafka-python decodes it. Each
call has a limit in time and in bytes. Errors of both libraries are converted to those of
`errors.py`.
"""

import errno
import logging
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import Any, Final, Self

from kafka import errors as kafka_errors
from kafka.net.connection import KafkaConnection
from kafka.net.sasl.oauth import AbstractTokenProvider
from kafka.net.selector import NetworkSelector
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport
from kio.index import load_response_from_request
from kio.serial import entity_reader
from kio.serial.errors import SerialError

from streams.kafka import messages
from streams.kafka.errors import ConnectionFailed, NotListening, ReplyDamaged, RequestRefused
from streams.kafka.framing import CLIENT_ID, SPEAKS_TLS, BadFrame, Frames, RequestFrame
from streams.net.endpoint import Endpoint
from streams.net.errors import AuthenticationFailed, LiveError
from streams.net.security import Security
from streams.net.tls import client_context
from streams.net.tls_errors import is_client_rejected, is_spoken, tls_reason

REPLY_BYTES_MAX: Final = 64 * 1024 * 1024
"""A DESCRIBE_LOG_DIRS reply of this size holds about a million replicas."""
_READ_BYTES: Final = 64 * 1024
_READ_BYTES_MAX: Final = 1024 * 1024
_GRACE_MS: Final = 3000
"""The time that a reply may take in addition to the wait of a long poll."""


class Connection:
    """An open and authenticated connection. Not thread-safe, except for `interrupt`.

    The thread of the caller runs kafka-python's event loop while it waits for a reply.
    """

    def __init__(
        self, endpoint: Endpoint, security: Security, *, connect_timeout_ms: int = 3000
    ) -> None:
        """Connect, negotiate versions and authenticate, all within `connect_timeout_ms`.

        Raises:
            ConnectionFailed: refused, timed out, TLS failed, or no version in common.
            ReplyDamaged: the endpoint does not speak the Kafka protocol.
            AuthenticationFailed: the credentials were rejected, or a secret cannot be read.
        """
        _quiet_library_logs()
        self.endpoint = endpoint
        deadline = time.monotonic() + connect_timeout_ms / 1000
        self._net = NetworkSelector(client_id=CLIENT_ID, slow_task_threshold_secs=0)
        self._kafka: Any = None
        # A listener that requires SASL answers ApiVersions without it, and closes after the next
        # request.
        self._unproven = None if security.sasl else security
        try:
            self._kafka = KafkaConnection(self._net, **_kafka_options(security))
            self._drive(self._open(security, deadline), deadline, security)
        except BaseException:
            self.close()
            raise

    async def _open(self, security: Security, deadline: float) -> None:
        sock = _dial(self.endpoint, deadline)
        try:
            transport = _transport(self._net, sock, self.endpoint, security)
        except BaseException:
            sock.close()
            raise
        # From here, closing the KafkaConnection also closes the transport and its socket.
        self._kafka.connection_made(transport)
        self._kafka.parser = Frames()
        transport.pause_reading()
        await transport.handshake()
        transport.resume_reading()
        await self._kafka.initialize(timeout_at=deadline)
        await self._kafka
        self._kafka.parser.reply_bytes_max = REPLY_BYTES_MAX

    def version(self, api_key: int) -> int:
        """Return the highest version of `api_key` that both sides support.

        Raises:
            RequestRefused: both sides have no version in common.
        """
        ours = messages.APIS[api_key]
        theirs = self._kafka.broker_version_data.api_versions.get(api_key, (0, -1))
        version = min(ours.last, theirs[1])
        if version < max(ours.first, theirs[0]):
            raise RequestRefused(
                f"{self.endpoint} offers versions {theirs[0]}-{theirs[1]} of API {api_key}, but"
                f" {ours.first}-{ours.last} are needed. Is it {ours.spoken_by}?"
            )
        return int(version)

    def ask(self, request: Any, *, wait_ms: int = 0, bytes_max: int = REPLY_BYTES_MAX) -> Any:  # noqa: ANN401 kio entities
        """Send a kio request and return the kio reply.

        Args:
            request: The entity; its version must be the one that `version` returned.
            wait_ms: How long the node may hold the request (a long poll); 3 s of grace are added.
            bytes_max: The largest reply that is accepted.

        Raises:
            ConnectionFailed: the connection broke, or no reply arrived in time.
            ReplyDamaged: the reply does not decode, or is too large.
        """
        body = self.send(RequestFrame(request), wait_ms=wait_ms, bytes_max=bytes_max)
        try:
            reply, _ = entity_reader(load_response_from_request(request))(body, 0)
        except (SerialError, ValueError) as error:
            raise ReplyDamaged(
                f"{self.endpoint} sent a reply to API {request.__api_key__} of {len(body)} bytes"
                f" that does not decode: {error!r}"
            ) from error
        return reply

    def send(
        self,
        request: Any,  # noqa: ANN401 a RequestFrame, or kafka-python's message
        *,
        wait_ms: int,
        bytes_max: int = REPLY_BYTES_MAX,
    ) -> Any:  # noqa: ANN401
        """Send a message of kafka-python, with the arguments and the errors of `ask`."""
        if self._kafka is None or not self._kafka.connected:
            raise ConnectionFailed(f"{self.endpoint} {_closed(self._unproven)}")
        self._kafka.parser.reply_bytes_max = bytes_max
        deadline = time.monotonic() + (wait_ms + _GRACE_MS) / 1000
        exchange = self._exchange(request, wait_ms + _GRACE_MS)
        reply = self._drive(exchange, deadline, self._unproven)
        self._unproven = None
        return reply

    async def _exchange(self, request: Any, timeout_ms: float) -> Any:  # noqa: ANN401
        return await self._kafka.send_request(request, request_timeout_ms=timeout_ms)

    def _drive(
        self,
        coroutine: Any,  # noqa: ANN401
        deadline: float,
        opening: Security | None = None,
    ) -> Any:  # noqa: ANN401
        """Run the event loop in this thread until the coroutine is done or the deadline passes.

        `opening`: the security settings, until the listener has shown that it accepts them.
        """
        future = self._net.call_soon_with_future(coroutine)
        try:
            # 50 ms later than kafka-python's own timers, which give better messages.
            self._net.poll((deadline - time.monotonic()) * 1000 + 50, future)
        except (OSError, RuntimeError, ValueError) as error:
            raise ConnectionFailed(f"{self.endpoint} {error}") from error
        if not future.is_done:
            raise ConnectionFailed(f"{self.endpoint} timed out")
        if future.exception is not None:
            raise _typed(self.endpoint, future.exception, opening) from future.exception
        return future.value

    def interrupt(self) -> None:
        """Close the connection from another thread: a pending `ask` raises ConnectionFailed."""
        try:
            self._net.call_soon_threadsafe(self._close_kafka)
        except (OSError, RuntimeError):
            return  # closed already

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        self._close_kafka()
        self._net.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _close_kafka(self) -> None:
        if self._kafka is not None and not self._kafka.closed:
            self._kafka.close(kafka_errors.KafkaConnectionError("closed"))


class _FileToken(AbstractTokenProvider):  # type: ignore[misc] # kafka-python has no types
    """An OAUTHBEARER token, read from its file (or variable) each time kafka-python needs it."""

    def __init__(self, security: Security) -> None:
        super().__init__()
        self._security = security

    def token(self) -> str:
        return self._security.password() or ""

    def extensions(self) -> Mapping[str, str]:
        return {}


def _dial(endpoint: Endpoint, deadline: float) -> socket.socket:
    try:
        found = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
        sock = _first_to_answer([address for *_, address in found], deadline)
    except (ValueError, OverflowError) as error:
        # A host name that no resolver accepts, or a port above 65535: a reply can have both.
        raise ConnectionFailed(f"{endpoint} is not an address: {error}") from error
    except OSError as error:
        kind = NotListening if _is_of_the_address(error) else ConnectionFailed
        raise kind(str(_typed(endpoint, error, None))) from error
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setblocking(False)
    return sock


def _is_of_the_address(error: OSError) -> bool:
    """Whether the host or its network caused the error, not this process."""
    return isinstance(error, ConnectionRefusedError | socket.gaierror | TimeoutError) or (
        error.errno in (errno.EHOSTUNREACH, errno.ENETUNREACH)
    )


def _first_to_answer(addresses: Sequence[tuple[Any, ...]], deadline: float) -> socket.socket:
    """Connect to the first of a host's addresses that answers; each has its share of the time."""
    for left in range(len(addresses), 1, -1):
        with suppress(OSError):  # the next one may answer
            return _connected(addresses[-left], (deadline - time.monotonic()) / left)
    return _connected(addresses[-1], deadline - time.monotonic())


def _connected(address: tuple[Any, ...], timeout_s: float) -> socket.socket:
    # As text, an IPv6 link-local address has its interface.
    named = socket.getnameinfo(address, socket.NI_NUMERICHOST | socket.NI_NUMERICSERV)
    return socket.create_connection(named, timeout=max(0.001, timeout_s))


class _BoundedReads:
    """Returns to the event loop after 1 MB: kafka-python alone reads until no bytes arrive."""

    _sock: Any

    def _sock_recv(self) -> tuple[bytes, Exception | None]:
        """Return the bytes that have arrived, or the error that ends the connection."""
        read: list[bytes] = []
        try:
            while len(read) * _READ_BYTES < _READ_BYTES_MAX and (
                more := self._sock.recv(_READ_BYTES)
            ):
                read.append(more)
        except (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return b"".join(read), None
        except OSError as error:
            # Return the bytes before the error first; the next call gets the error again.
            return b"".join(read), None if read else kafka_errors.KafkaConnectionError(error)
        closed = None if read else kafka_errors.KafkaConnectionError("socket disconnected")
        return b"".join(read), closed


class _TCPTransport(_BoundedReads, KafkaTCPTransport):  # type: ignore[misc]
    """kafka-python's TCP transport, with bounded reads."""


class _SSLTransport(_BoundedReads, KafkaSSLTransport):  # type: ignore[misc]
    """kafka-python's TLS transport, with bounded reads."""


def _transport(
    net: NetworkSelector, sock: socket.socket, endpoint: Endpoint, security: Security
) -> KafkaTCPTransport:
    if not security.tls:
        return _TCPTransport(net, sock, host=endpoint.host)
    try:
        context = client_context(security)
    except OSError as error:
        raise ConnectionFailed(f"{endpoint}: {error} (`{security.key}`)") from error
    return _SSLTransport(net, sock, host=endpoint.host, ssl_context=context)


def _kafka_options(security: Security) -> dict[str, object]:
    options: dict[str, object] = {
        "client_id": CLIENT_ID,
        "client_software_name": CLIENT_ID,
        "security_protocol": security.protocol,
    }
    if security.sasl:
        options["sasl_mechanism"] = security.sasl_mechanism
        if security.sasl_mechanism == "GSSAPI" and find_spec("gssapi") is None:
            raise AuthenticationFailed(
                f"`{security.key}`: GSSAPI needs the Python package gssapi, which uses the Kerberos"
                " library of the system: pip install gssapi"
            )
        if security.sasl_mechanism == "OAUTHBEARER":
            options["sasl_oauth_token_provider"] = _FileToken(security)
        else:
            options["sasl_plain_username"] = security.username
            options["sasl_plain_password"] = security.password()
    return options


_AUTHENTICATION: Final = (
    kafka_errors.SaslAuthenticationFailedError,
    kafka_errors.UnsupportedSaslMechanismError,
    kafka_errors.IllegalSaslStateError,
    kafka_errors.KafkaConfigurationError,
)


def _typed(endpoint: Endpoint, error: BaseException, opening: Security | None) -> LiveError:
    """Return the typed error for an error of a library, with a message for the operator."""
    if isinstance(error, LiveError):
        return error
    if isinstance(error, kafka_errors.KafkaConnectionError):
        error = _tls_alert(error) or error
    if isinstance(error, BadFrame):
        key = opening.key if opening is not None and error.reason == SPEAKS_TLS else None
        fix = "" if key is None else f": check `{key}.protocol`"
        return ReplyDamaged(f"{endpoint} {error.reason}{fix}")
    if isinstance(error, _AUTHENTICATION):
        return _not_authenticated(endpoint, opening, error)
    if isinstance(error, ssl.SSLError):
        return _failed_tls(endpoint, error, opening)
    for kind, words in _WORDS:
        if isinstance(error, kind):
            return ConnectionFailed(f"{endpoint} {words.format(error)}")
    if isinstance(error, kafka_errors.KafkaConnectionError | ConnectionResetError):
        return ConnectionFailed(f"{endpoint} {_closed(opening)}")
    if isinstance(error, LookupError | TypeError | ValueError):
        # kafka-python's SASL mechanisms parse the tokens of the server without checks.
        return ReplyDamaged(f"{endpoint} sent a SASL token that cannot be read: {error!r}")
    return ConnectionFailed(f"{endpoint} {str(error) or type(error).__name__}")


def _tls_alert(error: kafka_errors.KafkaConnectionError) -> ssl.SSLError | None:
    """Return why TLS failed after the handshake: a server of TLS 1.3 checks the client then."""
    cause = error.args[0] if error.args else None
    closed = isinstance(cause, ssl.SSLEOFError | ssl.SSLZeroReturnError)
    return cause if isinstance(cause, ssl.SSLError) and not closed else None


def _failed_tls(endpoint: Endpoint, error: ssl.SSLError, opening: Security | None) -> LiveError:
    if opening is None:
        return ConnectionFailed(f"{endpoint} failed TLS: {error}")
    kind = AuthenticationFailed if is_client_rejected(error) else ConnectionFailed
    return kind(f"{endpoint} failed TLS: {tls_reason(error, opening)}")


def _not_authenticated(
    endpoint: Endpoint, security: Security | None, error: BaseException
) -> LiveError:
    """Return the error that names the user, the mechanism and the configuration key."""
    if security is None:
        # A rotated secret: the next connection reads it again, and names the key if it fails.
        return ConnectionFailed(f"{endpoint} ended the session: {_sasl_words(error)}")
    who = f"user {security.username}" if security.username else "the client"
    setting = ".protocol" if isinstance(error, kafka_errors.IllegalSaslStateError) else ""
    return AuthenticationFailed(
        f"{endpoint}: authentication failed for {who} with {security.sasl_mechanism}:"
        f" {_sasl_words(error)}: check `{security.key}{setting}`"
    )


def _sasl_words(error: BaseException) -> str:
    """Return the error text of the listener, without the class names of kafka-python."""
    if isinstance(error, kafka_errors.UnsupportedSaslMechanismError):
        return "the listener does not offer this mechanism"
    if isinstance(error, kafka_errors.IllegalSaslStateError):
        return "the listener does not use SASL"
    text = str(error.args[0] if error.args else error)
    return text.removeprefix("SaslAuthenticationFailedError: ") or type(error).__name__


def _closed(opening: Security | None) -> str:
    """Return the probable cause: a listener that closes at once usually speaks another protocol."""
    if opening is None:
        return "closed the connection"
    return f"closed the connection at once: {is_spoken(opening)}"


_WORDS: Final[tuple[tuple[type[BaseException], str], ...]] = (
    (ConnectionRefusedError, "refused"),
    (socket.gaierror, "not found: {0.strerror}"),
    (TimeoutError, "timed out"),
    (kafka_errors.KafkaTimeoutError, "timed out"),
    (kafka_errors.RequestTimedOutError, "timed out"),
)


def _quiet_library_logs() -> None:
    """Prevent kafka-python from logging every lost connection, and secrets at DEBUG.

    At DEBUG its connection logs whole SASL requests and its parser every byte. The typed errors and
    the status of the follower report the state of a connection.
    """
    for name, level in (("kafka.net", logging.CRITICAL), ("kafka.protocol", logging.WARNING)):
        logger = logging.getLogger(name)
        if logger.level < level:
            logger.setLevel(level)
