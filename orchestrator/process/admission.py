"""Admits connections to a listener, so that those of one client cannot keep all others out.

Every local user, and beyond loopback every host, may connect and send nothing. Such a connection
keeps its place only until another one needs it: when all places are taken, the least important
connection is closed, and of several the oldest. Requests with the console's token are never closed
for others, so an approval or an abort always succeeds.
"""

import contextlib
import enum
import ipaddress
import socket
import threading
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

CONNECTIONS_MAX: Final = 256
PER_CLIENT_MAX: Final = 64
"""Connections of one address, except loopback, where all local users and ssh tunnels have the
same address."""

Client: TypeAlias = tuple[str, int]
"""A peer's host and port."""


class Rank(enum.IntEnum):
    """How important a connection is; the least important one is closed first."""

    QUIET = 0
    """No request is being answered on it: there is none yet, half of one, or it is kept alive."""
    ASKING = 1
    """A request without the token is being answered."""
    TRUSTED = 2
    """A request with the token, or of a browser that has sent it, is being answered."""


@dataclass(slots=True)
class _Guest:
    connection: socket.socket
    rank: Rank = Rank.QUIET


class Crowd:
    """All open connections of one listener, the oldest first. Thread-safe."""

    def __init__(
        self, total_max: int = CONNECTIONS_MAX, per_client_max: int = PER_CLIENT_MAX
    ) -> None:
        self._total_max = total_max
        self._per_client_max = per_client_max
        self._guests: dict[Client, _Guest] = {}
        self._mutex = threading.Lock()

    def admit(self, connection: socket.socket, client: Client) -> bool:
        """Admit a new connection, closing another one if necessary; False: there is no room."""
        with self._mutex:
            self._guests = {
                key: each for key, each in self._guests.items() if each.connection.fileno() != -1
            }
            same = [each for each in self._guests if each[0] == client[0]]
            alone = not ipaddress.ip_address(client[0]).is_loopback
            if alone and len(same) >= self._per_client_max:
                room = self._close_one(same)
            elif len(self._guests) >= self._total_max:
                room = self._close_one(self._guests)
            else:
                room = True
            if room:
                self._guests[client] = _Guest(connection)
            return room

    def rank(self, client: Client, rank: Rank) -> None:
        """Set the rank of a connection; a connection that was closed in the meantime is ignored."""
        with self._mutex:
            guest = self._guests.get(client)
            if guest is not None:
                guest.rank = rank

    def shut_down(self) -> bool:
        """Shut down every open connection; return whether one was open."""
        with self._mutex:
            left = [e.connection for e in self._guests.values() if e.connection.fileno() != -1]
        for connection in left:
            _shut_down(connection)
        return bool(left)

    def _close_one(self, among: Collection[Client]) -> bool:
        """Close the least important connection, or the oldest of them; return whether one was."""
        least = min(among, key=lambda each: self._guests[each].rank)
        guest = self._guests[least]
        if guest.rank is Rank.TRUSTED:
            return False
        del self._guests[least]
        _shut_down(guest.connection)
        return True


def _shut_down(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):  # the peer has closed it already
        connection.shutdown(socket.SHUT_RDWR)


class Door(socket.socket):
    """A listening socket that asks a `Crowd` about every connection, before TLS begins on it.

    Args:
        listener: The listening socket; it is detached.
    """

    def __init__(self, listener: socket.socket, crowd: Crowd) -> None:
        super().__init__(fileno=listener.detach())
        self._crowd = crowd

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection.

        Raises:
            ConnectionAbortedError: there is no room for it, and it is closed.
            OSError: as `socket.accept`.
        """
        connection, peer = super().accept()
        if not self._crowd.admit(connection, (peer[0], peer[1])):
            connection.close()
            raise ConnectionAbortedError("no connection can be closed for another one")
        return connection, peer
