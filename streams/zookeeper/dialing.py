"""Opens connections to ZooKeeper servers, with TLS or without, and records each attempt's result.

kazoo's own TLS trusts the system's authorities in addition to the given ones, and leaks a socket
when a server is not trusted. Files are read again at every connection.
"""

import socket
import ssl
from pathlib import Path
from typing import Any, Final

from kazoo.handlers.threading import KazooTimeoutError, SequentialThreadingHandler

from streams.net.errors import AuthenticationFailed
from streams.net.security import Security

NO_SESSION: Final = "it accepts connections, but gives no session"


class Handler(SequentialThreadingHandler):  # type: ignore[misc] # kazoo is not typed
    """kazoo's handler, which connects as configured.

    Attributes:
        tried: By server (host:port), the result of the last attempt to connect.
        server: host:port of the last connection; None before the first.
    """

    def __init__(self, security: Security) -> None:
        super().__init__()
        self._security = security
        self.tried: dict[str, str] = {}
        self.server: str | None = None

    def create_connection(self, **asked: Any) -> socket.socket:  # noqa: ANN401 kazoo's
        """Open a connection, and record the result in `tried`.

        Raises:
            OSError: the connection failed; `tried` has the reason.
        """
        (ip, port), host = asked["address"], asked["hostname"]
        server = f"{host}:{port}"
        try:
            made = dial(self._security, (ip, port), host, asked["timeout"])
        except (OSError, KazooTimeoutError) as error:
            self.tried[server] = reason(error)
            raise
        self.tried[server] = NO_SESSION
        self.server = server
        return made

    def select(self, *asked: Any) -> tuple[list[Any], list[Any], list[Any]]:  # noqa: ANN401 kazoo's
        """Wait as kazoo does, but not for data that TLS has already read from the socket."""
        if not any(isinstance(each, ssl.SSLSocket) and each.pending() for each in asked[0]):
            found: tuple[list[Any], list[Any], list[Any]] = super().select(*asked)
            return found
        readable, writable, broken = super().select(*asked[:3], 0)
        pending = [each for each in asked[0] if isinstance(each, ssl.SSLSocket)]
        return [*pending, *(each for each in readable if each not in pending)], writable, broken


def dial(
    security: Security, address: tuple[str, int], host: str, timeout_s: float
) -> socket.socket:
    """Open a connection; `host` is the name that the server's certificate must contain.

    Raises:
        OSError: the server is unreachable or not trusted, or a file is missing.
    """
    context = _tls(security) if security.tls else None
    made = socket.create_connection(address, timeout_s)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if context is None:
        return made
    try:
        return context.wrap_socket(made, server_hostname=host)
    except BaseException:
        made.close()
        raise


def _tls(security: Security) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = security.check_hostname
    if security.ca_file is None:
        context.load_default_certs()
    else:
        _read("ca_file", security.ca_file, context.load_verify_locations)
    if security.cert_file is not None:
        key, password = _key(security)
        _read(
            "cert_file, or the key_file that belongs to it,",
            security.cert_file,
            lambda file: context.load_cert_chain(file, key, password),
        )
    return context


def _key(security: Security) -> tuple[Path | None, str | None]:
    """Return the file of the client's private key, and its password."""
    try:
        return security.private_key(), security.key_password()
    except AuthenticationFailed as error:
        raise OSError(str(error)) from error


def _read(what: str, file: Any, load: Any) -> None:  # noqa: ANN401 a path, and its consumer
    try:
        load(file)
    except (OSError, ValueError) as error:  # ssl.SSLError is the first
        why = getattr(error, "strerror", None) or error
        raise OSError(f"the {what} {file} cannot be used: {why}") from error


def reason(error: Exception) -> str:
    """Return why a connection failed, as a phrase for an operator."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"no TLS: {error.reason or error.strerror or error}"
    return getattr(error, "strerror", None) or str(error) or "no answer"
