"""Opens connections to ZooKeeper servers, with TLS or without, and records each attempt's result.

kazoo's own TLS trusts the system's authorities in addition to the given ones, and leaks a socket
when a server is not trusted. Files are read again at every connection.
"""

import socket
import ssl
from typing import Any, Final

from kazoo.handlers.threading import KazooTimeoutError, SequentialThreadingHandler

from streams.net.errors import AuthenticationFailed
from streams.net.security import Security
from streams.net.tls import client_context
from streams.net.tls_errors import tls_reason

_SERVER_S_MAX: Final = 2.0
"""To connect to one server. kazoo's own limit, the session timeout, may exceed the time that the
caller has for the whole ensemble."""
_NO_SESSION: Final = "it accepts connections, but gives no session"


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
            self.tried[server] = reason(error, self._security)
            raise
        self.tried[server] = _NO_SESSION
        if not self._security.tls:
            self.tried[server] += (
                f": it is in no quorum, or speaks TLS (`{self._security.key}.protocol`)"
            )
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
    context = _context(security) if security.tls else None
    made = socket.create_connection(address, min(timeout_s, _SERVER_S_MAX))
    made.settimeout(timeout_s)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if context is None:
        return made
    try:
        return context.wrap_socket(made, server_hostname=host)
    except BaseException:
        made.close()
        raise


def _context(security: Security) -> ssl.SSLContext:
    try:
        return client_context(security)
    except AuthenticationFailed as error:
        raise OSError(str(error)) from error


def reason(error: Exception, security: Security) -> str:
    """Return why a connection failed, as a phrase for an operator."""
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {tls_reason(error, security)}"
    return getattr(error, "strerror", None) or str(error) or "no answer"
