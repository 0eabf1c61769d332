"""One POST, bounded in time and size; what went wrong is said without a secret.

Redirects are not followed: what is sent is for the address that was configured. urllib3's own
retries are not used: they sleep where nobody can wake them, and repeat what is no longer so.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import BadStatusLine
from importlib.metadata import version
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import urllib3
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    InvalidHeader,
    NameResolutionError,
    ProxyError,
    SSLError,
)
from urllib3.response import BaseHTTPResponse
from urllib3.util import Retry, Timeout

from streams.net.secret_file import SecretFileRefused, first_line

CONNECT_S: Final = 5.0
ANSWER_S: Final = 10.0
_SAID_BYTES_MAX: Final = 4096
_SAID_MAX: Final = 200
_CHUNK_BYTES: Final = 1024
_HEADERS: Final = {
    "content-type": "application/json",
    "user-agent": f"kraftgate/{version('kraftgate')}",
}
_TRY_AGAIN: Final = (408, 425, 429)
_NOT_TAKEN: Final = (*_TRY_AGAIN, 503)


class Undelivered(Exception):
    """It was not taken, or nobody knows whether it was.

    Attributes:
        refused: sending it again as it is will not help; False: later it may.
        taken: False: it surely was not; None: not known.
        after_s: how long to wait at least, if the other side said.
    """

    def __init__(
        self, why: str, *, refused: bool, taken: bool | None = False, after_s: float | None = None
    ) -> None:
        super().__init__(why)
        self.refused = refused
        self.taken = taken
        self.after_s = after_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What is sent; it may hold secrets, and is not to be written anywhere.

    Attributes:
        secrets: those of them that are known by value.
    """

    url: str
    body: bytes
    headers: Mapping[str, str]
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back with a status from 200 to 299; `said`: the first 4096 bytes."""

    status: int
    said: str


class Poster:
    """Posts to one address; for one thread."""

    def __init__(self, ca_file: Path | None, proxy: str | None) -> None:
        """Prepare; nothing is opened or read yet."""
        self._ca_file = ca_file
        ca_certs = None if ca_file is None else str(ca_file)
        self._pool: urllib3.PoolManager
        if proxy is None:
            self._pool = urllib3.PoolManager(retries=False, maxsize=1, ca_certs=ca_certs)
        else:
            self._pool = urllib3.ProxyManager(proxy, retries=False, maxsize=1, ca_certs=ca_certs)

    def post(self, message: Message) -> Answer:
        """Send it, and wait for the answer.

        Raises:
            Undelivered: there was none, or it was no good one.
        """
        place = place_of(message.url)
        self._check_ca()
        deadline_s = time.monotonic() + CONNECT_S + ANSWER_S
        try:
            response = self._pool.request(
                "POST",
                message.url,
                body=message.body,
                headers={**_HEADERS, **message.headers},
                timeout=Timeout(connect=CONNECT_S, read=ANSWER_S),
                preload_content=False,
                redirect=False,
            )
            try:
                return _judged(place, response, deadline_s)
            finally:
                response.close()
        except (HTTPError, OSError, ValueError) as error:
            raise _undelivered(place, error) from None  # its text has the address

    def close(self) -> None:
        """Let go of the connections that are open."""
        self._pool.clear()

    def _check_ca(self) -> None:
        if self._ca_file is None:
            return
        try:
            self._ca_file.read_bytes()
        except OSError as error:
            why = f"the authorities in {self._ca_file} cannot be read: {error.strerror}"
            raise Undelivered(why, refused=True) from error


def place_of(url: str) -> str:
    """An address as far as it is no secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def secret_in(path: Path) -> str:
    """Read a secret: the first line of a file.

    Raises:
        Undelivered: there is none.
    """
    try:
        secret = first_line(path).strip()
    except SecretFileRefused as error:
        raise Undelivered(str(error), refused=True) from error
    if not secret:
        raise Undelivered(f"the secret file {path} is empty", refused=True)
    return secret


def _judged(place: str, response: BaseHTTPResponse, deadline_s: float) -> Answer:
    status = response.status
    said = _said(response, deadline_s)
    if 200 <= status < 300:
        return Answer(status=status, said=said)
    words = f"{place} answers {status}"
    if 300 <= status < 400:
        raise Undelivered(
            f"{words}: it leads elsewhere, where nothing is sent: configure that address",
            refused=True,
        )
    first = said.split("\n")[0].strip()[:_SAID_MAX]
    words += f": {first}" if first else ""
    if status in _TRY_AGAIN or status >= 500:
        taken = False if status in _NOT_TAKEN else None
        raise Undelivered(words, refused=False, taken=taken, after_s=_after_s(response))
    raise Undelivered(words, refused=True)


def _said(response: BaseHTTPResponse, deadline_s: float) -> str:
    said = b""
    while len(said) < _SAID_BYTES_MAX and time.monotonic() < deadline_s:
        chunk = response.read1(_CHUNK_BYTES)
        if not chunk:
            break
        said += chunk
    return said.decode("utf-8", "replace")


def _after_s(response: BaseHTTPResponse) -> float | None:
    try:
        return Retry().get_retry_after(response)
    except InvalidHeader:
        return None


def _cause(error: HTTPError | OSError) -> BaseException:
    """What is behind an error of urllib3: its cause, or the second of its arguments."""
    behind = (error.__cause__, *error.args) if isinstance(error, HTTPError) else ()
    return next((each for each in behind if isinstance(each, BaseException)), error)


def _undelivered(place: str, error: HTTPError | OSError | ValueError) -> Undelivered:
    """Say what failed, in words of our own: the library's may have the address, or a header."""
    if isinstance(error, ValueError):
        why = f"{place}: its address, or a header, is none that can be sent"
        return Undelivered(why, refused=True)
    if isinstance(error, ProxyError):
        return Undelivered(f"the proxy on the way to {place} does not let it pass", refused=False)
    if isinstance(error, SSLError):
        return Undelivered(f"{place}: TLS failed: {error}", refused=False)
    if isinstance(error, NameResolutionError):
        return Undelivered(f"{place}: its name is not known", refused=False)
    early = isinstance(error, ConnectTimeoutError)  # also one that is refused
    cause = _cause(error)
    words = "nobody answers there" if early else "no answer came"
    if isinstance(cause, OSError) and cause.strerror:
        words = cause.strerror
    elif isinstance(cause, BadStatusLine) and not isinstance(cause, OSError):
        words = "what answers there speaks no HTTP"
    return Undelivered(f"{place}: {words}", refused=False, taken=False if early else None)
