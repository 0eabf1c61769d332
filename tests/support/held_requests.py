"""Between brokers and a controller: requests of one kind are held back until they are let go.

What a slow or lost request does, deterministically: everything else passes, both ways, as it is.
"""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from orchestrator.lab.machine.ports import LOOPBACK

ASSIGN_REPLICAS_TO_DIRS: Final = 73
_SIZE: Final = 4


class HeldRequests:
    """Listens on loopback in the controller's place: for the brokers' `controller.quorum.voters`.

    Args:
        api_key: of the requests that `hold` holds back; None: of no requests.

    Attributes:
        target: host:port of the controller; None while there is none.
    """

    def __init__(self, api_key: int | None = None) -> None:
        self.target: str | None = None
        self._api_key = api_key
        self._passing = threading.Event()
        self._passing.set()
        self._listener = socket.create_server((LOOPBACK, 0))
        self._sockets = [self._listener]

    @property
    def address(self) -> str:
        """host:port, for the brokers."""
        return f"{LOOPBACK}:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._thread(self._accept)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._passing.set()
        for each in self._sockets:
            _close(each)

    def hold(self) -> None:
        """From now on."""
        self._passing.clear()

    def let_go(self) -> None:
        """All that were held, and those to come."""
        self._passing.set()

    def request(self, body: bytes) -> bytes:
        """Return what the controller gets."""
        return body

    def reply(self, body: bytes) -> bytes:
        """Return what the broker gets."""
        return body

    def _accept(self) -> None:
        while True:
            try:
                broker, _ = self._listener.accept()
            except OSError:
                return  # closed
            self._sockets.append(broker)
            controller = self._connect()
            if controller is None:  # so it looks to the broker, too
                _close(broker)
                continue
            self._sockets.append(controller)
            self._thread(self._requests, broker, controller)
            self._thread(self._replies, controller, broker)

    def _connect(self) -> socket.socket | None:
        if self.target is None:
            return None
        host, _, port = self.target.rpartition(":")
        try:
            return socket.create_connection((host, int(port)))
        except OSError:
            return None  # it is down

    def _requests(self, broker: socket.socket, controller: socket.socket) -> None:
        with suppress(OSError):  # one of them is gone: so is the connection
            while size := _exactly(broker, _SIZE):
                body = _exactly(broker, int.from_bytes(size, "big"))
                if int.from_bytes(body[:2], "big") == self._api_key:
                    self._passing.wait()
                controller.sendall(size + self.request(body))
        _close(broker)
        _close(controller)

    def _replies(self, controller: socket.socket, broker: socket.socket) -> None:
        with suppress(OSError):  # likewise
            while size := _exactly(controller, _SIZE):
                body = _exactly(controller, int.from_bytes(size, "big"))
                broker.sendall(size + self.reply(body))
        _close(broker)
        _close(controller)

    def _thread(self, work: Callable[..., None], *given: socket.socket) -> None:
        threading.Thread(target=work, args=given, daemon=True).start()


def _exactly(connection: socket.socket, size: int) -> bytes:
    """Return so many bytes; none at the connection's end."""
    found = b""
    while len(found) < size:
        more = connection.recv(size - len(found))
        if not more:
            return b""
        found += more
    return found


def _close(connection: socket.socket) -> None:
    with suppress(OSError):  # it is gone, or was never connected
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
