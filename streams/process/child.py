"""Another Python process of this installation, which exchanges lines with this one."""

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_log: Final = logging.getLogger(__name__)
_telling: Final = threading.Lock()


def tell_parent(line: str) -> None:
    """Write a line to the process that started this one as a `Child`. Thread-safe.

    A parent that has ended does not get the line; this process's input then ends, too.
    """
    with _telling:
        try:
            _write(sys.stdout.fileno(), line)
        except OSError as error:
            _log.debug("the parent has ended: %r", error)


def module_environment() -> dict[str, str]:
    """Return the environment for `python -P -m`: it finds the modules that this process finds.

    A worker of Spark has a path of its own.
    """
    path = os.pathsep.join(str(Path(each).absolute()) for each in sys.path)
    return {**os.environ, "PYTHONPATH": path}


class Child:
    """A module in another process. Its `main` ends when its input ends, also if this process dies.

    Thread-safe; one thread iterates over the lines of its output.
    """

    def __init__(self, module: str, *arguments: str, silent: bool = False) -> None:
        """Start the process; `silent`: discard its log.

        Raises:
            OSError: it cannot be started.
        """
        self._writing = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if silent else None,
            env=module_environment(),
            start_new_session=True,  # Linux shares the CPU between sessions: autogroup in sched(7)
        )

    def send(self, line: str) -> None:
        """Write a line to its input; a process that has ended does not get it."""
        with self._writing:
            stdin = self._process.stdin
            if stdin is None or stdin.closed:
                return
            try:
                _write(stdin.fileno(), line)
            except OSError as error:  # the thread that reads its output notices the end
                _log.debug("process %d has ended: %r", self._process.pid, error)

    def close(self) -> None:
        """End its input."""
        with self._writing:
            if self._process.stdin is not None:
                self._process.stdin.close()

    def __iter__(self) -> Iterator[bytes]:
        """Yield the lines of its output until it ends."""
        if self._process.stdout is not None:
            with self._process.stdout as lines:
                yield from lines

    def kill(self) -> None:
        self._process.kill()

    def wait(self) -> int:
        """Wait for its end, and return its exit code."""
        return self._process.wait()


def _write(descriptor: int, line: str) -> None:
    """Write a line whole, also to a pipe that is full at first."""
    left = f"{line}\n".encode()
    while left:
        left = left[os.write(descriptor, left) :]
