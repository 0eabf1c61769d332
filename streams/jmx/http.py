"""One HTTP request, bounded in time and size, with credentials read at the time of the request.

Redirects are not followed: the credentials are for the configured address.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import urllib3
from urllib3.exceptions import HTTPError, SSLError
from urllib3.response import BaseHTTPResponse
from urllib3.util import Timeout

from streams.jmx.config import Access
from streams.jmx.errors import AccessRefused, NotMetrics, Unreachable
from streams.net.http_credentials import http_credentials
from streams.net.secret_file import SecretFileRefused, first_line
from streams.net.security import Security
from streams.net.tls import client_context
from streams.net.tls_errors import http_cause, http_fix, https_reason

LINES_BYTES_MAX: Final = 256 * 2**20
"""A broker with 100,000 partitions and no rules serves some 100 MB."""
LINE_BYTES_MAX: Final = 64 * 2**10
BODY_BYTES_MAX: Final = 8 * 2**20
_CHUNK_BYTES: Final = 2**16
_TEXT_MAX: Final = 200
_REFUSED: Final = (401, 403)


class Http:
    """Sends requests; thread-safe."""

    def __init__(self, access: Access, deadline_s: float) -> None:
        self._access = access
        self._deadline_s = deadline_s
        ca_file = None if access.ca_file is None else str(access.ca_file)
        self._pool = urllib3.PoolManager(num_pools=64, maxsize=1, retries=False, ca_certs=ca_file)

    def lines(self, url: str) -> Iterator[bytes]:
        """Yield the lines of an answer in plain text, without their line ends.

        Raises:
            JmxError: there is no answer, or it is too long, or one of its lines.
        """
        rest = b""
        for chunk in self._chunks(url, None, "text/plain;version=0.0.4", LINES_BYTES_MAX):
            *lines, rest = (rest + chunk).split(b"\n")
            if len(rest) > LINE_BYTES_MAX:
                raise NotMetrics(f"{url} serves a line of more than {LINE_BYTES_MAX} bytes")
            yield from lines
        if rest:
            yield rest

    def body(self, url: str, fields: Mapping[str, str]) -> bytes:
        """Return the whole answer.

        Raises:
            JmxError: there is no answer, or it is too long.
        """
        return b"".join(self._chunks(url, fields, "application/json", BODY_BYTES_MAX))

    def close(self) -> None:
        self._pool.clear()

    def _chunks(
        self, url: str, fields: Mapping[str, str] | None, accept: str, bytes_max: int
    ) -> Iterator[bytes]:
        deadline_s = time.monotonic() + self._deadline_s
        with _translated(url):
            credentials, secrets = self._credentials()
            headers = {**credentials, "accept": accept}
            response = self._pool.request(
                "GET",
                url,
                fields=fields,
                headers=headers,
                # For each address of the host: one of them may not answer.
                timeout=Timeout(connect=self._deadline_s / 2, read=self._deadline_s),
                preload_content=False,
                decode_content=False,
                redirect=False,
            )
            try:
                _check(url, response, secrets, deadline_s)
                size = 0
                while chunk := response.read1(_CHUNK_BYTES):
                    size += len(chunk)
                    if size > bytes_max:
                        raise NotMetrics(f"{url} serves more than {bytes_max} bytes")
                    if time.monotonic() > deadline_s:
                        raise Unreachable(
                            f"{url} sent only {size} bytes within {self._deadline_s:g} s"
                        )
                    yield chunk
            finally:
                # Only an answer that was read to its end leaves a reusable connection.
                if response.closed:
                    response.release_conn()
                else:
                    response.close()

    def _credentials(self) -> tuple[dict[str, str], tuple[str, ...]]:
        access = self._access
        if access.ca_file is not None:
            try:
                client_context(Security(ca_file=access.ca_file))
            except OSError as error:
                raise AccessRefused(str(error)) from error
        return http_credentials(
            access.username, access.password_file, access.bearer_token_file, _secret
        )


def _check(url: str, response: BaseHTTPResponse, secrets: Iterable[str], deadline_s: float) -> None:
    status = response.status
    if status == 200 and response.headers.get("content-encoding", "identity") == "identity":
        return
    if status == 200:
        raise NotMetrics(f"{url} answers in an encoding that was not requested")
    text = _text(response, deadline_s).split("\n")[0].strip()
    said = f" {response.reason or ''}".rstrip() + (text and f": {text}")
    for secret in secrets:  # a server may quote the credentials; none is cut before it is replaced
        said = said.replace(secret, "[redacted]")
    words = f"{url} answers {status}{said[:_TEXT_MAX]}"
    if status in _REFUSED:
        raise AccessRefused(words)
    if status >= 500:
        raise Unreachable(words)
    raise NotMetrics(words)


def _text(response: BaseHTTPResponse, deadline_s: float) -> str:
    """Return the body, or nothing if it is too long or too slow: it may end within a secret."""
    body = b""
    while chunk := response.read1(_CHUNK_BYTES):
        body += chunk
        if len(body) > LINE_BYTES_MAX or time.monotonic() > deadline_s:
            return ""
    return body.decode("utf-8", "replace")


@contextmanager
def _translated(url: str) -> Iterator[None]:
    try:
        yield
    except SSLError as error:
        raise AccessRefused(f"{url}: TLS failed: {https_reason(http_cause(error))}") from error
    except (HTTPError, OSError) as error:
        cause = http_cause(error)
        text = cause.strerror if isinstance(cause, OSError) and cause.strerror else str(cause)
        raise Unreachable(f"{url} does not answer: {text}{http_fix(url, cause)}") from error
    except ValueError:
        # Such as a UnicodeEncodeError, which contains the whole header and thus the secret.
        raise AccessRefused(
            f"{url}: the request cannot be sent. Remove characters that HTTP does not allow from"
            " the credentials and the address"
        ) from None


def _secret(path: Path) -> str:
    try:
        return first_line(path)
    except SecretFileRefused as error:
        raise AccessRefused(str(error)) from error
