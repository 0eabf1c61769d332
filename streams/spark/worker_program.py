"""The program that Spark starts as its Python: a fork of `worker_template` takes its place.

It runs without `site` and imports little: 15 ms. Arguments: the template's socket, then Python's.
"""

import json
import os
import signal
import socket
import sys
from types import FrameType
from typing import NoReturn

STREAMS = (0, 1, 2)
_PID_BYTES = 16


def main(address: str, arguments: list[str]) -> None:
    """Pass everything to a fork, and end after it; become Python if there is no template."""
    if arguments[:1] != ["-m"]:
        _become_python(arguments)
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(address)
        except OSError:  # it was killed
            _become_python(arguments)
        _pass(connection, arguments)


def _become_python(arguments: list[str]) -> NoReturn:
    os.execv(sys.executable, [sys.executable, "-P", *arguments])  # noqa: S606  # as Spark would


def _pass(connection: socket.socket, arguments: list[str]) -> None:
    place = {"arguments": arguments, "environment": dict(os.environ)}
    # Spark ends some of its processes with SIGTERM, perhaps before the fork is known.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    socket.send_fds(connection, [b"\n"], STREAMS)
    connection.sendall(json.dumps(place).encode())
    connection.shutdown(socket.SHUT_WR)
    answer = connection.recv(_PID_BYTES)
    if answer:

        def forward(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
            os.kill(int(answer), number)

        signal.signal(signal.SIGTERM, forward)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        connection.recv(1)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
