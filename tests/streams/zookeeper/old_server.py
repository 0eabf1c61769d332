"""A ZooKeeper before 3.6, made of a real one: between it and its clients, `addWatch` is no request.

The number of that request is replaced by one that no ZooKeeper knows. What the server then does, it
does itself: it answers that this is unimplemented and ends the connection, as an old one would.
"""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from orchestrator.lab.machine.ports import LOOPBACK

_ADD_WATCH, _UNKNOWN = (106).to_bytes(4, "big"), (999).to_bytes(4, "big")
_TYPE = slice(4, 8)
"""Of a request, behind its number."""


class OldServer:
    """Passes everything on to `target`, host:port, but for that."""

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._target = (host, int(port))
        self._listener = socket.create_server((LOOPBACK, 0))
        self._sockets = [self._listener]
        self.address = f"{LOOPBACK}:{self._listener.getsockname()[1]}"
        self.connections = 0
        self.asked = 0

    def run(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # closed
            self.connections += 1
            server = socket.create_connection(self._target)
            self._sockets += [client, server]
            self._thread(self._requests, client, server)
            self._thread(self._answers, server, client)

    def close(self) -> None:
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _requests(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError), client.makefile("rb") as stream:
            connect = True  # which has no type
            while size := stream.read(4):
                body = stream.read(int.from_bytes(size, "big"))
                if not connect and body[_TYPE] == _ADD_WATCH:
                    self.asked += 1
                    body = body[:4] + _UNKNOWN + body[8:]
                connect = False
                server.sendall(size + body)
        self._end(client, server)

    def _answers(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(65_536):
                client.sendall(data)
        self._end(client, server)

    def _end(self, *sockets: socket.socket) -> None:
        for each in sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _thread(self, work: Callable[..., None], *given: socket.socket) -> None:
        threading.Thread(target=work, args=given, daemon=True).start()


@contextmanager
def old_server(target: str) -> Iterator[OldServer]:
    made = OldServer(target)
    threading.Thread(target=made.run, daemon=True).start()
    try:
        yield made
    finally:
        made.close()
