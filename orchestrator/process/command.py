"""Runs a command for its exit code: without a shell, within a time limit, killed with its group."""

import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from streams.state.directory import GIVEN_UMASK

OUTPUT_BYTES_MAX: Final = 8192
"""Only the last bytes of the output are kept."""
_READS_MAX: Final = 16
"""After the end of the command; a pipe holds half of it."""
_POLL_S: Final = 0.05
_GRACE_S: Final = 2.0


class CommandEnd(NamedTuple):
    """How a command ended; `code` None: it was killed because it exceeded its timeout."""

    code: int | None
    output: bytes


def run_command(
    argv: Sequence[str], environment: Mapping[str, str], timeout_s: float
) -> CommandEnd:
    """Run a command; it and the processes that it leaves in its group end within the timeout.

    Raises:
        OSError: it cannot be started.
    """
    deadline_s = time.monotonic() + timeout_s
    reader, writer = os.pipe()
    try:
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=writer,
                stderr=writer,
                env=environment,
                start_new_session=True,
                umask=GIVEN_UMASK,
            )
        finally:
            os.close(writer)
        try:
            in_time, output = _read(process, reader, deadline_s)
            if not in_time:
                _signal(process, signal.SIGTERM)
                _await_exit(process, time.monotonic() + _GRACE_S)
        finally:
            # Not reaped yet, so the process group id is still the command's own, and every process
            # that it left in the group ends too.
            _signal(process, signal.SIGKILL)
            _await_exit(process, time.monotonic() + _GRACE_S)
            code = process.poll()
    finally:
        os.close(reader)
    return CommandEnd(code if in_time else None, output)


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signal the command and its processes; processes of another user cannot be signalled."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _read(process: subprocess.Popen[bytes], reader: int, deadline_s: float) -> tuple[bool, bytes]:
    """Read until the command has exited; return whether that was in time, and its last output."""
    kept, poll = b"", select.poll()
    poll.register(reader, select.POLLIN)
    while (left_s := deadline_s - time.monotonic()) > 0:
        ready = poll.poll(min(_POLL_S, left_s) * 1000)
        if ready and ready[0][1] & select.POLLIN:
            kept = (kept + os.read(reader, OUTPUT_BYTES_MAX))[-OUTPUT_BYTES_MAX:]
        elif _has_exited(process):
            return True, _with_rest(reader, poll, kept)
        elif ready:  # the output is closed, and the command still runs
            time.sleep(min(_POLL_S, left_s))
    return _has_exited(process), kept


def _with_rest(reader: int, poll: select.poll, kept: bytes) -> bytes:
    """Read what the command wrote between the last poll and its end; others may write on."""
    for _ in range(_READS_MAX):
        ready = poll.poll(0)
        if not (ready and ready[0][1] & select.POLLIN):
            break
        kept = (kept + os.read(reader, OUTPUT_BYTES_MAX))[-OUTPUT_BYTES_MAX:]
    return kept


def _has_exited(process: subprocess.Popen[bytes]) -> bool:
    """Check without reaping: a zombie keeps the id of its process group reserved."""
    flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
    return os.waitid(os.P_PID, process.pid, flags) is not None


def _await_exit(process: subprocess.Popen[bytes], deadline_s: float) -> None:
    while not _has_exited(process) and time.monotonic() < deadline_s:
        time.sleep(_POLL_S)
