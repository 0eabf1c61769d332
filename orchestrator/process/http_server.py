"""The HTTP server of the console and of the metrics: a thread, and limits on connections."""

import asyncio
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Self, cast

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from orchestrator.errors import ConfigError
from orchestrator.process.admission import Crowd, Door, Rank
from streams.net.endpoint import Endpoint
from streams.process.background import BackgroundThread

UNREAD_S_MAX: Final = 20.0
"""A connection whose peer reads nothing for this time is reset."""
HEAD_S_MAX: Final = 10.0
"""A connection whose peer does not send a whole request head within this time is reset."""
_GRACE_S: Final = 2
_AT_ONCE: Final = struct.pack("ii", 1, 0)


def listening(at: Endpoint, key: str) -> socket.socket:
    """Return a listening socket; its address family is that of the address (IPv4 or IPv6).

    `key`: the configuration's file and the key of the address, for messages.

    Raises:
        ConfigError: the address cannot be listened on.
    """
    try:
        family = socket.getaddrinfo(at.host, at.port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((at.host, at.port), family=family)
    except OSError as error:
        fix = "choose another address, or stop what listens there"
        # `create_server` adds the address, which the message has already.
        why = str(error.strerror).partition(" (while")[0]
        raise ConfigError([f"{key} {at}: {why}: {fix}"]) from error


class HttpServer(BackgroundThread):
    """Serves one application until it is stopped.

    Args:
        listener: The listening socket; it is detached.
        crowd: Admits every connection.
        tls: None: plain HTTP.
        at_end: Called in the event loop before the responses are ended.
    """

    def __init__(
        self,
        name: str,
        app: ASGIApp,
        listener: socket.socket,
        crowd: Crowd,
        *,
        tls: ssl.SSLContext | None = None,
        at_end: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(name, stop_s=threading.TIMEOUT_MAX)
        self._listener = Door(listener, crowd)
        self._at_end = at_end
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._uvicorn = _Uvicorn(
            uvicorn.Config(
                app,
                http=cast("type[asyncio.Protocol]", partial(_Impatient, crowd=crowd)),
                ssl_context_factory=None if tls is None else lambda *_: tls,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_graceful_shutdown=_GRACE_S,
            ),
            self._ready,
            crowd,
        )

    def start(self) -> Self:
        """Start the thread and wait until it serves."""
        super().start()
        self._ready.wait()
        return self

    def call(self, function: Callable[..., None], *arguments: object) -> None:
        """Call a function in the event loop, unless that has ended; returns at once."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *arguments)

    def _wake(self) -> None:
        self.call(self._end)

    def _end(self) -> None:
        self._at_end()
        self._uvicorn.should_exit = True

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        finally:
            self._ready.set()  # so that `start` returns also if serving failed

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self._uvicorn.serve(sockets=[self._listener])


class _Uvicorn(uvicorn.Server):
    """Sets an event when it serves; closes every connection when it ends."""

    def __init__(self, config: uvicorn.Config, ready: threading.Event, crowd: Crowd) -> None:
        super().__init__(config)
        self._ready = ready
        self._crowd = crowd

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End every response, then close the connections that uvicorn leaves open.

        Their peers did not read the whole response, or did not confirm the end of TLS, within the
        grace period.
        """
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        while self._crowd.shut_down():
            await asyncio.sleep(0)


class _Impatient(H11Protocol):
    """Resets a connection whose peer does not read, or does not send a whole request head."""

    def __init__(self, *given: Any, crowd: Crowd, **named: Any) -> None:  # noqa: ANN401  # uvicorn's
        super().__init__(*given, **named)
        self._crowd = crowd
        self._answering = False
        self._unread: asyncio.TimerHandle | None = None
        self._head: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Note a new connection; with TLS, the handshake is done."""
        super().connection_made(transport)
        self._note()

    def data_received(self, data: bytes) -> None:
        """Process received bytes; a request begins once its head is complete."""
        super().data_received(data)
        self._note()

    def on_response_complete(self) -> None:
        """Note a complete response; the next request may have been received already."""
        self._answering = False
        self._rank(Rank.QUIET)
        super().on_response_complete()
        self._note()

    def pause_writing(self) -> None:
        """Start the timer: the peer does not read at the moment."""
        super().pause_writing()
        self._unread = self.loop.call_later(UNREAD_S_MAX, self._reset)

    def resume_writing(self) -> None:
        """Stop the timer: the peer reads again."""
        self._forget_unread()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers: the connection is closed."""
        self._forget_unread()
        self._forget_head()
        super().connection_lost(exc)

    def _note(self) -> None:
        """Note whether a request is in progress; if not, start the timer for the next head."""
        if self.cycle is None or self.cycle.response_complete:
            if self._head is None:
                self._head = self.loop.call_later(HEAD_S_MAX, self._reset)
        elif not self._answering:
            self._answering = True
            self._forget_head()
            self._rank(Rank.ASKING)

    def _reset(self) -> None:
        """Reset the connection: otherwise the kernel would go on sending the written bytes."""
        connection = self.transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        self.transport.abort()

    def _rank(self, rank: Rank) -> None:
        if self.client is not None:
            self._crowd.rank(self.client, rank)

    def _forget_unread(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _forget_head(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None
