"""A line between a page and the console that can die without a word, as a VPN's does."""

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

_CHUNK: Final = 65_536
_LOOPBACK: Final = "127.0.0.1"


class Line:
    """Forwards bytes both ways until it is frozen; neither side is notified of that.

    Attributes:
        url: at which the console is reached by it.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._flows = threading.Event()
        self._flows.set()
        self._listener = socket.create_server((_LOOPBACK, 0))
        self._open: list[socket.socket] = [self._listener]
        self.url = f"http://{_LOOPBACK}:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._flows.set()
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def freeze(self) -> None:
        """From now on nothing arrives; connections stay open."""
        self._flows.clear()

    def thaw(self) -> None:
        """What was held back arrives, and what follows."""
        self._flows.set()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection((_LOOPBACK, self._port))
            self._open += [near, far]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while chunk := source.recv(_CHUNK):
                self._flows.wait()
                sink.sendall(chunk)
            sink.shutdown(socket.SHUT_WR)
