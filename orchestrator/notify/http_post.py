"""Sends one POST with a limit on its time and size; its errors have no secret.

Redirects are not followed: only the configured address may receive the content. urllib3's retries
are not used: they sleep uninterruptibly, and they repeat content that is out of date.
"""

import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import BadStatusLine, HTTPResponse
from importlib.metadata import version
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import urllib3
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    InvalidHeader,
    NameResolutionError,
    ProxyError,
    ReadTimeoutError,
    SSLError,
)
from urllib3.response import BaseHTTPResponse
from urllib3.util import Retry, Timeout

from orchestrator.redaction.redactor import Redactor
from streams.net.secret_file import SecretFileRefused, first_line
from streams.net.security import Security
from streams.net.tls import client_context
from streams.net.tls_errors import http_cause, http_fix, https_reason

CONNECT_S: Final = 5.0
RESPONSE_S: Final = 10.0
_BODY_BYTES_MAX: Final = 4096
_QUOTED_MAX: Final = 200
_CHUNK_BYTES: Final = 1024
_HEADERS: Final = {
    "content-type": "application/json",
    "user-agent": f"kraftgate/{version('kraftgate')}",
}
_TRY_AGAIN: Final = (408, 425, 429)
_NOT_ACCEPTED: Final = (*_TRY_AGAIN, 503)


class Undelivered(Exception):
    """A receiver did not accept a request, or that is unknown.

    Attributes:
        permanent: whether the same request would fail again.
        delivered: False: it was not accepted; None: unknown.
        retry_after_s: the wait that the receiver asks for (`Retry-After`).
    """

    def __init__(
        self,
        why: str,
        *,
        permanent: bool,
        delivered: bool | None = False,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(why)
        self.permanent = permanent
        self.delivered = delivered
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request to send; it may contain secrets and must not be logged.

    Attributes:
        secrets: the secrets in it that are known by value.
    """

    url: str
    body: bytes
    headers: Mapping[str, str]
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A response with status 2xx; `body`: its first 4096 bytes."""

    status: int
    body: str


class _Received(RawIOBase):
    """The bytes of one response, until the timeout that the socket has at its start is over.

    A socket's timeout bounds each receive: a receiver that sends a byte from time to time would
    block its thread for ever.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock, self._timeout_s = sock, sock.gettimeout() or 0.0
        self._deadline_s = time.monotonic() + self._timeout_s
        self._raw = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:  # noqa: ANN401  # as in RawIOBase
        left_s = self._deadline_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        self._sock.settimeout(left_s)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        if not self.closed:
            self._sock.settimeout(self._timeout_s)  # the next request uses it to send
            self._raw.close()
        super().close()


class _WholeResponse(HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(sock, *args, **kwargs)
        self.fp.close()
        self.fp = BufferedReader(_Received(sock))


class _Http(HTTPConnection):
    response_class = _WholeResponse


class _Https(HTTPSConnection):
    response_class = _WholeResponse


class _HttpPool(HTTPConnectionPool):
    ConnectionCls = _Http


class _HttpsPool(HTTPSConnectionPool):
    ConnectionCls = _Https


_POOLS: Final = {"http": _HttpPool, "https": _HttpsPool}
"""urllib3's pools, whose timeout of a read then bounds the whole response, headers included."""


class Poster:
    """Posts to one address, from one thread. Nothing is opened or read before `post`."""

    def __init__(self, ca_file: Path | None, proxy: str | None) -> None:
        self._ca_file = ca_file
        ca_certs = None if ca_file is None else str(ca_file)
        self._pool: urllib3.PoolManager
        if proxy is None:
            self._pool = urllib3.PoolManager(retries=False, maxsize=1, ca_certs=ca_certs)
        else:
            self._pool = urllib3.ProxyManager(proxy, retries=False, maxsize=1, ca_certs=ca_certs)
        self._pool.pool_classes_by_scheme = _POOLS

    def post(self, request: Request, redactor: Redactor) -> Response:
        """Send a request and return the response; what an error quotes of it is redacted.

        Raises:
            Undelivered: no response arrived, or its status is not 2xx.
        """
        origin = origin_of(request.url)
        self._check_ca()
        try:
            response = self._pool.request(
                "POST",
                request.url,
                body=request.body,
                headers={**_HEADERS, **request.headers},
                timeout=Timeout(connect=CONNECT_S, read=RESPONSE_S),
                preload_content=False,
                redirect=False,
            )
            try:
                return _checked(origin, response, redactor)
            finally:
                response.close()
        except (HTTPError, OSError, ValueError) as error:
            raise _undelivered(origin, error) from None  # its text has the address

    def close(self) -> None:
        self._pool.clear()

    def _check_ca(self) -> None:
        if self._ca_file is None:
            return
        try:
            client_context(Security(ca_file=self._ca_file))
        except OSError as error:
            raise Undelivered(str(error), permanent=True) from error


def origin_of(url: str) -> str:
    """Return scheme, host and port of an address: the part without secrets."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def secret_in(path: Path) -> str:
    """Return the secret in the first line of a file.

    Raises:
        Undelivered: the file cannot be read, or its first line is empty.
    """
    try:
        secret = first_line(path).strip()
    except SecretFileRefused as error:
        raise Undelivered(str(error), permanent=True) from error
    if not secret:
        raise Undelivered(f"the secret file {path} is empty", permanent=True)
    return secret


def _checked(origin: str, response: BaseHTTPResponse, redactor: Redactor) -> Response:
    status = response.status
    body = _body(response)
    if 200 <= status < 300:
        return Response(status=status, body=body.decode("utf-8", "replace"))
    why = f"{origin} answers {status}"
    if 300 <= status < 400:
        raise Undelivered(
            f"{why}: redirects are not followed: configure the address that it redirects to",
            permanent=True,
        )
    quoted = _quoted(body, redactor)
    why += f": {quoted}" if quoted else ""
    if status in _TRY_AGAIN or status >= 500:
        delivered = False if status in _NOT_ACCEPTED else None
        raise Undelivered(
            why, permanent=False, delivered=delivered, retry_after_s=_retry_after_s(response)
        )
    raise Undelivered(why, permanent=True)


def _quoted(body: bytes, redactor: Redactor) -> str:
    """Return the start of a body without secrets; a part of one would not be recognized."""
    text = redactor.data(body)
    if len(body) >= _BODY_BYTES_MAX:  # it may end within a secret
        text = text[: -redactor.longest]
    return text.decode("utf-8", "replace").split("\n")[0].strip()[:_QUOTED_MAX]


def _body(response: BaseHTTPResponse) -> bytes:
    body = b""
    while len(body) < _BODY_BYTES_MAX:
        chunk = response.read1(_CHUNK_BYTES)
        if not chunk:
            break
        body += chunk
    return body


def _retry_after_s(response: BaseHTTPResponse) -> float | None:
    try:
        return Retry().get_retry_after(response)
    except (InvalidHeader, ValueError, OverflowError):  # of a number or date beyond limits
        return None


def _undelivered(origin: str, error: HTTPError | OSError | ValueError) -> Undelivered:
    """Return the error with a text of our own: the library's may have the address or a header."""
    if isinstance(error, ValueError):
        why = f"{origin}: the address or a header has characters that HTTP does not allow"
        return Undelivered(why, permanent=True)
    if isinstance(error, ProxyError):
        return Undelivered(f"the proxy does not connect to {origin}", permanent=False)
    if isinstance(error, SSLError):
        return Undelivered(
            f"{origin}: TLS failed: {https_reason(http_cause(error))}", permanent=False
        )
    if isinstance(error, NameResolutionError):
        return Undelivered(f"{origin}: the host name cannot be resolved", permanent=False)
    if isinstance(error, ReadTimeoutError):
        why = f"{origin}: no complete response within {RESPONSE_S:g} s"
        return Undelivered(why, permanent=False, delivered=None)
    early = isinstance(error, ConnectTimeoutError)  # also a refused connection
    cause = http_cause(error)
    why = "the connection timed out" if early else "no response"
    if isinstance(cause, OSError) and cause.strerror:
        why = cause.strerror
    elif isinstance(cause, BadStatusLine) and not isinstance(cause, OSError):
        why = "the response is not HTTP"
    why = f"{origin}: {why}{http_fix(origin, cause)}"
    return Undelivered(why, permanent=False, delivered=False if early else None)
