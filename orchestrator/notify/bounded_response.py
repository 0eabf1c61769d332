"""Pools for urllib3 whose timeout of a read bounds the whole response, headers included.

A socket's timeout bounds each receive: a receiver that sends a byte from time to time would block
its thread for ever.
"""

import socket
import time
from http.client import HTTPResponse
from io import BufferedReader, RawIOBase
from typing import Any, Final

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection


class _Received(RawIOBase):
    """The bytes of one response, until the timeout that the socket has at its start is over."""

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


class _Response(HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(sock, *args, **kwargs)
        self.fp.close()
        self.fp = BufferedReader(_Received(sock))


class _Http(HTTPConnection):
    response_class = _Response


class _Https(HTTPSConnection):
    response_class = _Response


class _HttpPool(HTTPConnectionPool):
    ConnectionCls = _Http


class _HttpsPool(HTTPSConnectionPool):
    ConnectionCls = _Https


POOLS: Final = {"http": _HttpPool, "https": _HttpsPool}
