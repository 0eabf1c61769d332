"""The process from which Spark's Python processes are forked: it imports their modules once.

Spark starts a Python process for each kind of step of a query, one after the other, and the query
waits for each: half a second, nearly all of it imports. The driver starts this process before the
JVM, and it imports while the JVM starts. Spark gets `worker_program` as its Python, which passes
its arguments, environment and standard streams on, through a socket in a private directory; a fork
of this process, which shares the memory of its modules, then takes the program's place.

It ends with its standard input, so with the driver; its forks end as Spark's processes do.
"""

import json
import os
import runpy
import select
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final

from streams.spark import worker_program

_MODULES: Final = (
    "pyspark.sql.streaming.python_streaming_source_runner",
    "pyspark.sql.streaming.transform_with_state_driver_worker",
    "pyspark.sql.worker.create_data_source",
    "streams.spark.worker_daemon",
)
_PART_BYTES: Final = 2**16


@dataclass(frozen=True, slots=True)
class Template:
    """The process, and the program that Spark starts as its Python."""

    process: subprocess.Popen[bytes]
    program: str

    def end(self) -> None:
        """End it, after Spark."""
        with self.process:  # closes its standard input, and waits
            pass


def start(folder: Path, log: Path, environ: Mapping[str, str]) -> Template:
    """Start it; `folder`: private, for the socket and the program; `log`: for its errors.

    A program that connects before the modules are imported waits.

    Raises:
        OSError: there can be no socket, such as where its path is too long, no process, or no
            program in that file system.
    """
    address, program = folder / "workers", folder / "python"
    command = [sys.executable, "-IS", str(Path(worker_program.__file__)), str(address)]
    program.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
    program.chmod(0o700)
    if not os.access(program, os.X_OK):
        raise PermissionError(f"the file system of {program} is mounted with noexec")
    with socket.socket(socket.AF_UNIX) as listener, log.open("ab") as errors:
        listener.bind(str(address))
        listener.listen()
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, str(listener.fileno())],
            stdin=subprocess.PIPE,
            stdout=errors,
            stderr=errors,
            pass_fds=[listener.fileno()],
            start_new_session=True,  # Ctrl-C in the terminal is the driver's
            env=environ,
        )
    return Template(process, str(program))


def _fork_for_each(listener: socket.socket) -> socket.socket:
    """Return the connection, in the fork for it; exit when the standard input ends."""
    poller = select.poll()
    poller.register(sys.stdin)
    poller.register(listener)
    while True:
        if sys.stdin.fileno() in dict(poller.poll()):
            sys.exit()
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            return connection
        connection.close()


def _take_place(connection: socket.socket) -> None:
    """Become what Python would be with the arguments, environment and streams of the program.

    The program ends when nobody has the connection any more: this process and its forks.
    """
    _, streams, _, _ = socket.recv_fds(connection, 1, len(worker_program.STREAMS))
    for given, own in zip(streams, worker_program.STREAMS, strict=True):
        os.dup2(given, own)
        os.close(given)
    place = json.loads(b"".join(iter(lambda: connection.recv(_PART_BYTES), b"")))
    connection.sendall(str(os.getpid()).encode())
    connection.detach()
    os.environ.clear()
    os.environ.update(place["environment"])
    _, module, *sys.argv[1:] = place["arguments"]
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def main() -> None:
    """Import the modules, then fork until the driver ends."""
    listener = socket.socket(fileno=int(sys.argv[1]))
    for each in _MODULES:
        import_module(each)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    _take_place(_fork_for_each(listener))


if __name__ == "__main__":
    main()
