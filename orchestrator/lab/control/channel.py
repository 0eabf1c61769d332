"""The transport of commands to a running lab: JSON lines over a Unix socket in its home.

    command -> lab   {"command": "freeze", "arguments": {"name": "broker-1"}}
    lab -> command   {"progress": "..."}      any number, during the step
                     {"working": true}        every few seconds: silence is an error
                     {"result": {...}}        or {"error": {"what": .., "where": .., "fix": ..}}

Only the lab's own user can connect. A step continues when its command disconnects.
"""

import contextlib
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from orchestrator.lab.errors import LabError
from orchestrator.lab.machine.home import SOCKET, is_claimed

Message: TypeAlias = Mapping[str, Any]
Progress: TypeAlias = Callable[[str], None]
Handler: TypeAlias = Callable[[str, Message, Progress], Message]

_REQUEST_S_MAX = 10.0
_REQUEST_BYTES_MAX = 1 << 20
_WORKING_S = 3.0
_SILENCE_S_MAX = 30.0
_JOIN_S_MAX = 10.0
_BACKLOG = 16


class ControlServer:
    """Listens in a lab's home and passes each request to `handler` on a thread of its own.

    Args:
        handler: Called with command, arguments and a progress callback; returns the result, or
            raises a LabError.
    """

    def __init__(self, home: Path, handler: Handler) -> None:
        self._handler = handler
        self._path = home / SOCKET
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with _short_address(home) as address:
            self._listener.bind(address)
        self._path.chmod(0o600)
        self._listener.listen(_BACKLOG)
        self._threads: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept, name="lab-control", daemon=True)
        self._accepting.start()

    def close(self) -> None:
        """Reject further requests, and wait briefly for the answers to the current ones."""
        with contextlib.suppress(OSError):  # a listener is never connected
            self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join(_JOIN_S_MAX)
        self._listener.close()
        for thread in self._threads:
            thread.join(_JOIN_S_MAX)
        self._path.unlink(missing_ok=True)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return  # closed: there is no other end of a listening Unix socket
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads = [t for t in self._threads if t.is_alive()]
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        reply = _Reply(connection)
        with connection, reply.working():
            command = "a request"
            try:
                command, arguments = _read_request(connection)
                reply.send({"result": self._handler(command, arguments, reply.progress)})
            except LabError as error:
                reply.error(error)
            except Exception as error:  # noqa: BLE001  # the command reports any, the lab goes on
                fix = "`kraftgate lab --help` lists the commands; report it if this one was valid"
                reply.error(LabError(f"{command}: {error!r}", where="the lab", fix=fix))


class _Reply:
    """The lab's side of one connection; a step continues after its command disconnected."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._sending = threading.Lock()
        self._gone = False

    def send(self, message: Message) -> None:
        with self._sending:
            if not self._gone:
                try:
                    self._connection.sendall(json.dumps(message).encode() + b"\n")
                except OSError:
                    self._gone = True

    def error(self, error: LabError) -> None:
        parts = {"what": error.what, "where": error.where, "fix": error.fix}
        self.send({"error": {**parts, "exit_code": error.exit_code}})

    def progress(self, line: str) -> None:
        self.send({"progress": line})

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        done = threading.Event()

        def tell() -> None:
            while not done.wait(_WORKING_S):
                self.send({"working": True})

        teller = threading.Thread(target=tell, name="lab-working", daemon=True)
        teller.start()
        try:
            yield
        finally:
            done.set()
            teller.join(_JOIN_S_MAX)


def ask(home: Path, command: str, arguments: Message, progress: Progress) -> Message:
    """Send one command to the lab in this home and return its result.

    Raises:
        LabError: No lab runs there, it stopped answering, or it answered with an error.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_SILENCE_S_MAX)
        try:
            with _short_address(home) as address:
                connection.connect(address)
        except OSError as error:
            raise _unreachable(home, error) from error
        try:
            connection.sendall(
                json.dumps({"command": command, "arguments": arguments}).encode() + b"\n"
            )
            return _answer(connection, progress)
        except (OSError, ValueError) as error:
            raise LabError(
                f"the lab did not answer {command}: {error}",
                where=str(home),
                fix="Look at the terminal of its kraftgate lab start.",
            ) from error


def _unreachable(home: Path, error: OSError) -> LabError:
    if isinstance(error, PermissionError):
        what = f"the lab here cannot be reached: {error.strerror}"
        fix = "Run this as the user of its kraftgate lab start, or name another home with --home."
    elif is_claimed(home):
        what = "the lab here accepts no commands: it is starting or stopping"
        fix = "Wait until its kraftgate lab start prints that the lab is ready, and retry."
    else:
        what = "no lab runs here"
        fix = "Start one with kraftgate lab start, or name its home with --home."
    return LabError(what, where=str(home), fix=fix)


def _answer(connection: socket.socket, progress: Progress) -> Message:
    with connection.makefile("r", encoding="utf-8") as lines:
        for line in lines:
            message = json.loads(line)
            if "progress" in message:
                progress(message["progress"])
            elif "error" in message:
                raise LabError(**message["error"])
            elif "result" in message:
                result: Message = message["result"]
                return result
    raise ConnectionResetError("it ended before the answer")


def _read_request(connection: socket.socket) -> tuple[str, Message]:
    connection.settimeout(_REQUEST_S_MAX)
    try:
        with connection.makefile("r", encoding="utf-8") as lines:
            request = json.loads(lines.readline(_REQUEST_BYTES_MAX))
        return str(request["command"]), dict(request["arguments"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LabError(
            f"not a request: {error!r}",
            where="the lab's control socket",
            fix="Use the kraftgate lab commands of this same version.",
        ) from error


@contextlib.contextmanager
def _short_address(home: Path) -> Iterator[str]:
    """Yield an address by an open directory: it holds 107 bytes, a home's path may be longer."""
    directory = os.open(home, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{directory}/{SOCKET}"
    finally:
        os.close(directory)
