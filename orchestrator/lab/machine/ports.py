"""Free ports on loopback, chosen by the kernel and held for the whole life of a lab.

A held port is a socket that is bound and never listens. Linux lets a second socket bind and listen
there when both have SO_REUSEADDR, as Java's and ZooKeeper's server sockets do; until then the
kernel assigns the port to no process that requests any free port, and it remains held over
restarts.
"""

import socket

from orchestrator.lab.errors import RequestRefusedError

LOOPBACK = "127.0.0.1"


class Ports:
    """The ports that one lab holds."""

    def __init__(self) -> None:
        self._held: list[socket.socket] = []

    def take(self) -> int:
        """Hold one more free port and return it.

        Raises:
            RequestRefusedError: The kernel has no free port.
        """
        held = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            held.bind((LOOPBACK, 0))
        except OSError as error:
            held.close()
            raise RequestRefusedError(
                f"no free port: {error.strerror}",
                where=LOOPBACK,
                fix="Close what holds so many ports on this machine.",
            ) from error
        self._held.append(held)
        return int(held.getsockname()[1])

    def close(self) -> None:
        for each in self._held:
            each.close()
