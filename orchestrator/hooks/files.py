"""Writes and reads the files of one run of a hook, which has its own directory.

step.json         the step that the run is for; written before the step is recorded elsewhere
lock              locked while the supervisor is alive
spec.json         the command to run, without secrets
started.json      written before the command starts; without it, nothing was done
process.json      the command's process
output            the command's output, without secrets
outcome.json      how the command ended; written once, atomically
supervisor.log    empty, unless the supervisor itself failed, or could not write the outcome
"""

import enum
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil

from orchestrator.errors import HookError
from streams.state.files import replace_file

STEP: Final = "step.json"
LOCK: Final = "lock"
SPEC: Final = "spec.json"
STARTED: Final = "started.json"
PROCESS: Final = "process.json"
OUTPUT: Final = "output"
OUTCOME: Final = "outcome.json"
LOG: Final = "supervisor.log"
_MOVE_AWAY: Final = (
    "Check on this host whether the hook has ended and what it did, move the file away, and start"
    " `kraftgate run` again: it asks for a decision"
)


class End(enum.StrEnum):
    """How a hook's command ended."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    TIMED_OUT = "timed_out"
    STOPPED = "stopped"
    """Its supervisor was asked to stop it."""
    REFUSED = "refused"
    """The system did not start it: no such file, no permission."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of a hook's command.

    Attributes:
        exit_code: that of the command, including one that ended by itself after a stop signal.
        signal: the number of the signal that ended it.
        why: the system's message, if it refused to start the command.
        output_bytes: the length of the whole output.
        left_out_bytes: the part of it that is not in the file.
        still_running: processes of the command that continued after its end.
    """

    end: End
    exit_code: int | None = None
    signal: int | None = None
    why: str = ""
    started_ms: int
    ended_ms: int
    output_bytes: int
    left_out_bytes: int
    still_running: tuple[int, ...] = ()

    @property
    def succeeded(self) -> bool:
        """Whether the command exited by itself, with 0."""
        return self.end is End.EXITED and self.exit_code == 0

    def words(self) -> str:
        """Return the outcome as text that follows the command's name."""
        match self.end:
            case End.EXITED:
                return f"ended with exit code {self.exit_code}"
            case End.SIGNALLED:
                return f"was ended by signal {self.signal}"
            case End.TIMED_OUT:
                return "did not end in time and was killed"
            case End.STOPPED:
                return "was stopped"
            case End.REFUSED:
                return f"could not be started: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessId:
    """A process, distinguished from every later process with its number.

    Attributes:
        started: its start time in the kernel's clock ticks since boot, because a wall clock may be
            set.
        boot: the kernel's id of that boot.
    """

    pid: int
    started: int
    boot: str

    @classmethod
    def of(cls, pid: int) -> "ProcessId | None":
        """Return the identity of a running process; None: there is no such process."""
        try:
            # proc(5): field 22, counted after the name, which may contain spaces and brackets.
            rest = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2]
        except (FileNotFoundError, ProcessLookupError):
            return None
        return cls(pid=pid, started=int(rest.split()[19]), boot=_boot())

    def session(self) -> tuple[int, ...]:
        """Return the running processes of the session that this process began, itself included."""
        now = ProcessId.of(self.pid)
        if self.boot != _boot() or (now is not None and now != self):
            return ()
        return tuple(pid for pid in psutil.pids() if _session_of(pid) == self.pid)


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _session_of(pid: int) -> int | None:
    try:
        with suppress(psutil.AccessDenied):  # /proc may hide other users' processes
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return None
        return os.getsid(pid)
    except (psutil.NoSuchProcess, ProcessLookupError):
        return None


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a file atomically, so that it survives a power failure.

    Raises:
        OSError: it cannot be written.
    """
    replace_file(path, json.dumps(value))


def read_json(path: Path) -> dict[str, Any] | None:
    """Read the object that `write_json` wrote; None: there is no such file.

    Raises:
        HookError: it cannot be read.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise HookError(f"{path} cannot be read: {error}. {_MOVE_AWAY}") from error
    if not isinstance(found, dict):
        raise HookError(f"{path} does not contain an object. {_MOVE_AWAY}")
    return found


def read_outcome(directory: Path) -> Outcome | None:
    """Return the outcome of a run; None: it is unknown.

    Raises:
        HookError: the file exists and cannot be read.
    """
    found = read_json(directory / OUTCOME)
    if found is None:
        return None
    try:
        found["still_running"] = tuple(found["still_running"])
        return Outcome(**{**found, "end": End(found["end"])})
    except (KeyError, TypeError, ValueError) as error:
        what = f"{directory / OUTCOME} is damaged: {error!r}"
        raise HookError(f"{what}. {_MOVE_AWAY}") from error
