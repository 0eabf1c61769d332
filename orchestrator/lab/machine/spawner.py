"""Starts processes that end with this one, even when this one is killed with SIGKILL.

Linux sends a child its parent-death signal when the *thread* that started it ends, so one thread
that lives as long as the interpreter starts every process of every lab. The small shell in between
closes the gap before the signal is set: it exits if the lab has ended by then. `spawn` returns only
after the shell has continued, so that no process can be frozen before it is tied.
"""

import os
import queue
import select
import shutil
import subprocess
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TypeAlias

from orchestrator.lab.errors import LabError

_SPAWN_S_MAX = 60.0
_TIE_S_MAX = 30.0
_GUARD = '[ "$PPID" = "$0" ] || exit 99; exec "$@" </dev/null'

_Order: TypeAlias = tuple[tuple[str, ...], Path, "Future[subprocess.Popen[bytes]]"]

_orders: queue.SimpleQueue[_Order] = queue.SimpleQueue()
_starting = threading.Lock()
_threads: list[threading.Thread] = []


def spawn(command: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    """Start a process in a session of its own, and append its output to `log`.

    Raises:
        LabError: util-linux's setpriv is absent, or the program could not be started.
    """
    _ensure_thread()
    started: Future[subprocess.Popen[bytes]] = Future()
    _orders.put((tied_to_this_process(command), log, started))
    try:
        return started.result(timeout=_SPAWN_S_MAX)
    except (OSError, TimeoutError) as error:
        raise LabError(
            f"the process could not be started: {error}",
            where=command[0],
            fix="Look at the machine's process and memory limits.",
        ) from error


def tied_to_this_process(command: Sequence[str]) -> tuple[str, ...]:
    """Return the command, wrapped so that it is killed when the calling process ends.

    Raises:
        LabError: util-linux's setpriv is absent.
    """
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise LabError(
            "the lab ties its processes to itself with setpriv, and there is none",
            where="PATH",
            fix="Run: apt-get install util-linux",
        )
    return (setpriv, "--pdeathsig", "KILL", "sh", "-c", _GUARD, str(os.getpid()), *command)


def _ensure_thread() -> None:
    with _starting:
        if not _threads or not _threads[0].is_alive():
            _threads[:] = [threading.Thread(target=_serve, name="lab-spawner", daemon=True)]
            _threads[0].start()


def _serve() -> None:
    while True:
        command, log, started = _orders.get()
        try:
            started.set_result(_start(command, log))
        except (OSError, TimeoutError) as error:
            started.set_exception(error)


def _start(command: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    """Start the process and wait until it is tied: it then closes its standard input."""
    held, letting_go = os.pipe()
    try:
        with log.open("ab") as output:
            process = subprocess.Popen(
                command,
                stdin=letting_go,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        os.close(letting_go)
        letting_go = -1
        if not select.select([held], [], [], _TIE_S_MAX)[0]:
            process.kill()
            raise TimeoutError(f"it was not tied to the lab within {_TIE_S_MAX:.0f} s")
        return process
    finally:
        os.close(held)
        if letting_go >= 0:
            os.close(letting_go)
