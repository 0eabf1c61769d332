"""Supervises one run of a hook, in its own session: `python -m orchestrator.hooks.supervisor`.

`HookRuns.start` starts it with the run's directory, and writes the order to its standard input. It
survives the death of Kraftgate, and writes how the command ended, so that the outcome is available
later.

When a command exceeds its timeout, the supervisor sends SIGTERM to it and all its descendants, and
SIGKILL after `patience_s` (by default ten seconds). As a child subreaper the supervisor also
reaches descendants with a session of their own, but not processes that another program runs for the
command (systemd, a container, another host). Processes that a command leaves behind when it ends by
itself keep running: one may be the broker.
"""

import contextlib
import json
import logging
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from orchestrator.hooks.files import (
    OUTCOME,
    OUTPUT,
    PROCESS,
    STARTED,
    End,
    Outcome,
    ProcessId,
    write_json,
)
from orchestrator.hooks.output import HookOutput
from orchestrator.hooks.processes import Signals, descendants, send
from orchestrator.redaction.known_secrets import Secrets
from streams.process.clocks import boot_clock_s, wall_clock_ms

_log: Final = logging.getLogger(__name__)

STARTED_WORD: Final = b"started\n"
_READ_BYTES: Final = 1 << 14
_DRAIN_BYTES_MAX: Final = 1 << 22
_KILLING_S_MAX: Final = 10.0
_AGAIN_S: Final = 0.05
_KILL_AGAIN_S: Final = 1.0
_WAIT_S_MAX: Final = 3600.0
_RETRY_S_MAX: Final = 3600.0
_RETRY_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The order to the supervisor: what to run.

    Attributes:
        environment: the whole environment of the command; the supervisor has Kraftgate's own.
        patience_s: time from SIGTERM to SIGKILL.
        begin_before_s: the command must not start at this time or later; None: no limit.
        umask: Kraftgate's own, from before it made its files private.
    """

    argv: Sequence[str]
    environment: Mapping[str, str]
    variables: Sequence[str]
    files: Sequence[str]
    timeout_s: float
    patience_s: float
    begin_before_s: float | None
    umask: int

    def to_json(self) -> str:
        """Return the order for the supervisor's standard input; it may contain secrets."""
        return json.dumps(asdict(self))


class TooLate(Exception):
    """The lock that the start depends on may have been lost."""


def main(directory: Path) -> None:
    """Detach from the caller, run the command, and write how it ended.

    The inherited descriptor with the lock only has to stay open; the command does not inherit it.
    """
    order = Order(**json.load(sys.stdin))
    if os.fork():
        os._exit(0)
    secrets = Secrets(variables=tuple(order.variables), files=tuple(map(Path, order.files)))
    redactor = secrets.redactor({**os.environ, **order.environment})
    output = HookOutput(directory / OUTPUT, redactor)
    signals = Signals()
    reader, writer = os.pipe()
    started_ms = wall_clock_ms()
    _keep_process(directory / STARTED, os.getpid(), at_ms=started_ms)
    _say_started()
    try:
        command = _start(order, writer)
    except (OSError, ValueError, TooLate) as error:
        output.close()
        _keep_outcome(directory, _refused(redactor.text(str(error)), started_ms))
        return
    finally:
        os.close(writer)
    with contextlib.suppress(OSError):  # a full disk must not end the supervision of the command
        _keep_process(directory / PROCESS, command)
    run = _Run(command, order, reader, output, signals)
    run.to_its_end()
    output.close()
    threading.Thread(target=_swallow, args=(reader,)).start()
    _keep_outcome(directory, run.outcome(started_ms))


def _keep_process(path: Path, pid: int, **more: int) -> None:
    """Record a child process, or this one; it exists until it is reaped."""
    process = ProcessId.of(pid)
    if process is not None:
        write_json(path, {**asdict(process), **more})


def _keep_outcome(directory: Path, outcome: Outcome) -> None:
    """Write the outcome, and retry, because a full disk may get space.

    Without the file the outcome is unknown, and an operator must decide.

    Raises:
        FileNotFoundError: the directory was deleted.
        OSError: all retries within `_RETRY_S_MAX` failed.
    """
    until_s = time.monotonic() + _RETRY_S_MAX
    why = ""
    while True:
        try:
            write_json(directory / OUTCOME, asdict(outcome))
        except FileNotFoundError:
            raise
        except OSError as error:
            if time.monotonic() >= until_s:
                raise
            if str(error) != why:
                why = str(error)
                _log.warning("the outcome cannot be written yet: %s", why)
            time.sleep(_RETRY_S)
        else:
            return


def _start(order: Order, writer: int) -> int:
    """Start the command in its own session, with both outputs on one pipe.

    Raises:
        OSError: the system refuses it.
        ValueError: it is not a valid command: for example, it contains a zero byte.
        TooLate: another orchestrator may hold the lock of the cluster by now.
    """
    if order.begin_before_s is not None and boot_clock_s() >= order.begin_before_s:
        raise TooLate("it was too late to begin: another may have the lock of the cluster by now")
    started = subprocess.Popen(
        order.argv,
        env=order.environment,
        stdin=subprocess.DEVNULL,
        stdout=writer,
        stderr=writer,
        start_new_session=True,
        umask=order.umask,
    )
    started.returncode = 0  # reaped here, together with the processes that it leaves
    return started.pid


def _refused(why: str, started_ms: int) -> Outcome:
    return Outcome(
        end=End.REFUSED,
        why=why,
        started_ms=started_ms,
        ended_ms=wall_clock_ms(),
        output_bytes=0,
        left_out_bytes=0,
    )


class _Run:
    """One command, from its start to its end."""

    def __init__(
        self, command: int, order: Order, reader: int, output: HookOutput, signals: Signals
    ) -> None:
        self._command = command
        self._order = order
        self._reader = reader
        self._output = output
        self._signals = signals
        self._poll = select.poll()
        self._poll.register(reader, select.POLLIN)
        self._poll.register(signals.reader, select.POLLIN)
        os.set_blocking(reader, False)
        self._deadline_s = time.monotonic() + order.timeout_s
        self._kill_at_s: float | None = None
        self._cut_short: End | None = None
        self._status: int | None = None
        self._more = True
        self._still_running: tuple[int, ...] = ()

    def to_its_end(self) -> None:
        """Read the output, enforce the timeout, and wait for the end of the command."""
        while self._status is None:
            self._wait()
            self._tell_to_end()
            self._reap()
        if self._cut_short is not None:
            self._end_the_rest()
        self._drain()
        self._still_running = tuple(each.pid for each in descendants())

    def outcome(self, started_ms: int) -> Outcome:
        code = os.waitstatus_to_exitcode(self._status or 0)
        natural = End.EXITED if code >= 0 else End.SIGNALLED
        return Outcome(
            end=self._cut_short or natural,
            exit_code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            started_ms=started_ms,
            ended_ms=wall_clock_ms(),
            output_bytes=self._output.total,
            left_out_bytes=self._output.left_out,
            why=self._output.failed and f"its output was not kept: {self._output.failed}",
            still_running=self._still_running,
        )

    def _wait(self) -> None:
        """Wait for output, a signal, the next deadline, or the time to kill once more."""
        until_s = self._deadline_s if self._kill_at_s is None else self._kill_at_s
        left_s = until_s - time.monotonic()
        wait_s = _KILL_AGAIN_S if left_s <= 0 else min(max(left_s, _AGAIN_S), _WAIT_S_MAX)
        for descriptor, _ in self._poll.poll(wait_s * 1000):
            if descriptor == self._reader:
                self._read()

    def _read(self) -> int:
        """Read output; return the number of bytes."""
        if not self._more:
            return 0
        try:
            data = os.read(self._reader, _READ_BYTES)
        except BlockingIOError:
            return 0
        if not data:
            self._more = False
            self._poll.unregister(self._reader)
        self._output.take(data)
        return len(data)

    def _tell_to_end(self) -> None:
        now_s = time.monotonic()
        if self._signals.wants_a_stop() and self._cut_short is None:
            self._cut_short = End.STOPPED
        if now_s >= self._deadline_s and self._cut_short is None:
            self._cut_short = End.TIMED_OUT
        if self._cut_short is None:
            return
        if self._kill_at_s is None:
            self._kill_at_s = now_s + self._order.patience_s
            send(signal.SIGTERM)
        elif now_s >= self._kill_at_s:
            send(signal.SIGKILL)

    def _reap(self) -> None:
        """Reap every process that has ended; store the status of the command itself."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._command:
                self._status = status

    def _end_the_rest(self) -> None:
        """Give the processes that the command left the rest of the patience, then kill them."""
        kill_at_s = self._kill_at_s or 0.0
        while descendants() and time.monotonic() < kill_at_s + _KILLING_S_MAX:
            if time.monotonic() >= kill_at_s:
                send(signal.SIGKILL)
            self._poll.poll(_AGAIN_S * 1000)
            self._read()
            self._reap()

    def _drain(self) -> None:
        """Read what is still in the pipe, but not what other processes continue to write."""
        most = self._output.total + _DRAIN_BYTES_MAX
        while self._output.total < most and self._read():
            pass


def _say_started() -> None:
    """Report the start to `HookRuns.start`, which may be gone, and close the pipes to it."""
    with contextlib.suppress(BrokenPipeError):
        os.write(sys.stdout.fileno(), STARTED_WORD)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, sys.stdin.fileno())
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _swallow(reader: int) -> None:
    """Read while any process may write: a closed pipe would end the processes that were left."""
    os.set_blocking(reader, True)
    while os.read(reader, _READ_BYTES):
        pass


if __name__ == "__main__":
    main(Path(sys.argv[1]))
