"""One running process of the lab: its signals, its end, and its output since its start."""

import re
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from orchestrator.lab.errors import (
    BindRefusedError,
    ProcessDiedError,
    WaitTimedOutError,
    WrongStateError,
)
from orchestrator.lab.machine.spawner import spawn

_TAIL_BYTES = 4096
_TAIL_LINES = 15
_KILL_S_MAX = 20.0
_BIND_REFUSED = "Address already in use"


class Process:
    """A process that was started and may have ended; its output is appended to `log`."""

    def __init__(self, name: str, command: Sequence[str], log: Path) -> None:
        self.name = name
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        self._log_start = log.stat().st_size if log.exists() else 0
        self._popen: subprocess.Popen[bytes] = spawn(command, log)
        self.frozen = False

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def alive(self) -> bool:
        """Whether it still runs; a frozen one does."""
        return self._popen.poll() is None

    def logged(self) -> str:
        """Return its output since this start."""
        with self.log.open("rb") as log:
            log.seek(self._log_start)
            return log.read().decode("utf-8", "replace")

    def tail(self) -> str:
        with self.log.open("rb") as log:
            size = log.seek(0, 2)
            log.seek(max(self._log_start, size - _TAIL_BYTES))
            lines = log.read().decode("utf-8", "replace").splitlines()
        return "\n".join(lines[-_TAIL_LINES:])

    def find(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Return the first match in its log since this start, or None while there is none.

        Raises:
            BindRefusedError: It ended because its port was taken.
            ProcessDiedError: It ended without having logged the pattern.
        """
        ended = not self.alive  # checked before the log is read: the last lines count
        match = pattern.search(self.logged())
        if match is None and ended:
            self.must_live()
        return match

    def must_live(self) -> None:
        """Raise if it has ended.

        Raises:
            BindRefusedError: It ended because its port was taken.
            ProcessDiedError: It ended for another reason.
        """
        if self.alive:
            return
        refused = _BIND_REFUSED in self.logged()
        kind, fix = (
            (BindRefusedError, "Start it again: the lab takes another port.")
            if refused
            else (ProcessDiedError, "Its log says why.")
        )
        raise kind(
            f"{self.name} ended with {self._popen.returncode}; it last wrote:\n{self.tail()}\n",
            where=str(self.log),
            fix=fix,
        )

    def terminate(self) -> None:
        """Send SIGTERM: an orderly stop begins.

        Raises:
            WrongStateError: It is frozen and cannot process the signal.
        """
        if self.frozen:
            raise WrongStateError(
                f"{self.name} is frozen and cannot stop in order",
                where=f"process {self.pid}",
                fix=f"Thaw it, or kill it: kraftgate lab kill {self.name}",
            )
        self._popen.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL and wait for the end; a frozen process dies too.

        Raises:
            WaitTimedOutError: The kernel did not end it in time.
        """
        self._popen.kill()
        if not self.ended_within(_KILL_S_MAX):
            raise WaitTimedOutError(
                f"{self.name} did not die within {_KILL_S_MAX:.0f} s of SIGKILL",
                where=f"process {self.pid}",
                fix="It hangs in the kernel; look at the disk under its directories.",
            )
        self.frozen = False

    def ended_within(self, seconds: float) -> bool:
        """Wait at most `seconds` for the end; return whether it ended."""
        try:
            self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def freeze(self) -> None:
        """Send SIGSTOP: it keeps its connections and its memory, and does nothing.

        Raises:
            ProcessDiedError: It has ended.
        """
        self.must_live()
        self._popen.send_signal(signal.SIGSTOP)
        self.frozen = True

    def thaw(self) -> None:
        """Send SIGCONT.

        Raises:
            ProcessDiedError: It has ended.
        """
        self.must_live()
        self._popen.send_signal(signal.SIGCONT)
        self.frozen = False
