"""The HTTP server in a thread of its own."""

import asyncio
import socket
import struct
import threading
from typing import Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from orchestrator.console.hub import Fresh, Hub

UNREAD_S_MAX: Final = 20.0
"""Whoever takes nothing for so long is cut off."""
_GRACE_S: Final = 2
_CONNECTIONS_MAX: Final = 256
_AT_ONCE: Final = struct.pack("ii", 1, 0)


class Server:
    """Serves one application; what it shows is put into its hub from any thread."""

    def __init__(self, app: ASGIApp, hub: Hub, listener: socket.socket) -> None:
        self._hub = hub
        self._listener = listener
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._uvicorn = _Uvicorn(
            uvicorn.Config(
                app,
                http=_Impatient,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                limit_concurrency=_CONNECTIONS_MAX,
                timeout_graceful_shutdown=_GRACE_S,
            ),
            self._ready,
        )
        self._thread = threading.Thread(target=self._run, name="console", daemon=True)

    def start(self) -> None:
        """Serve from now on."""
        self._thread.start()
        self._ready.wait()

    def stop(self) -> None:
        """End every answer, then the thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._end)
        self._thread.join()

    def show(self, fresh: Fresh) -> None:
        """Let the pages see what is new."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._hub.take, fresh)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        finally:
            self._ready.set()  # nobody waits for one that failed

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self._uvicorn.serve(sockets=[self._listener])

    def _end(self) -> None:
        self._hub.close()
        self._uvicorn.should_exit = True


class _Uvicorn(uvicorn.Server):
    """Says when it serves."""

    def __init__(self, config: uvicorn.Config, ready: threading.Event) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve."""
        await super().startup(sockets)
        self._ready.set()


class _Impatient(H11Protocol):
    """Cuts off whoever does not read: what is written for them would stay in memory."""

    _overdue: asyncio.TimerHandle | None = None

    def pause_writing(self) -> None:
        """The other side takes nothing for now."""
        super().pause_writing()
        self._overdue = self.loop.call_later(UNREAD_S_MAX, self._cut_off)

    def resume_writing(self) -> None:
        """It reads again."""
        self._forget()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        self._forget()
        super().connection_lost(exc)

    def _cut_off(self) -> None:
        """Reset the connection: else the kernel would go on to offer what was written."""
        connection = self.transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        self.transport.abort()

    def _forget(self) -> None:
        if self._overdue is not None:
            self._overdue.cancel()
            self._overdue = None
