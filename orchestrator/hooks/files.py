"""What is kept of one run of a hook, in a directory of its own, and how it is read back.

lock              held while the supervisor lives
spec.json         what should run, without secrets
started.json      written before the command is; without it, nothing was done
process.json      the command's process
output            what it printed, without secrets
outcome.json      how it ended; written once, in one piece
supervisor.log    empty, unless the supervisor itself failed
"""

import enum
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import psutil

from orchestrator.errors import HookError
from streams.state.files import replace_file

LOCK: Final = "lock"
SPEC: Final = "spec.json"
STARTED: Final = "started.json"
PROCESS: Final = "process.json"
OUTPUT: Final = "output"
OUTCOME: Final = "outcome.json"
LOG: Final = "supervisor.log"


class End(enum.StrEnum):
    """How a hook's command ended."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    TIMED_OUT = "timed_out"
    STOPPED = "stopped"
    """Kraftgate was asked to."""
    REFUSED = "refused"
    """The system did not start it: no such file, no permission."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a hook's command.

    Attributes:
        exit_code: of the command; also of one that ended by itself after it was told to.
        signal: the number of the one that ended it.
        why: what the system said, when it refused.
        output_bytes: how much it printed.
        left_out_bytes: how much of that is not in the file.
        still_running: processes of it that went on after its end.
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
        """Whether it ended by itself, with 0."""
        return self.end is End.EXITED and self.exit_code == 0

    def words(self) -> str:
        """Say it."""
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
    """A process, told apart from every later one with its number.

    Attributes:
        started: when, in the kernel's ticks since its start; a wall clock may be set.
        boot: the kernel's id of that start.
    """

    pid: int
    started: int
    boot: str

    @classmethod
    def of(cls, pid: int) -> "ProcessId | None":
        """Identify a process; None: there is none."""
        try:
            # proc(5): field 22, counted behind the name, which may hold spaces and brackets.
            rest = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2]
        except (FileNotFoundError, ProcessLookupError):
            return None
        return cls(pid=pid, started=int(rest.split()[19]), boot=_boot())

    def session(self) -> tuple[int, ...]:
        """The processes that run in the session which this one began, itself among them."""
        now = ProcessId.of(self.pid)
        if self.boot != _boot() or (now is not None and now != self):
            return ()
        return tuple(pid for pid in psutil.pids() if _session_of(pid) == self.pid)


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _session_of(pid: int) -> int | None:
    try:
        if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return None
        return os.getsid(pid)
    except (psutil.NoSuchProcess, ProcessLookupError):
        return None


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a file in one piece, so that it survives a power cut.

    Raises:
        OSError: it cannot be written.
    """
    replace_file(path, json.dumps(value))


def read_json(path: Path) -> dict[str, Any] | None:
    """Read what `write_json` wrote; None: there is no such file.

    Raises:
        HookError: it cannot be read.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise HookError(f"{path} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise HookError(f"{path} holds no object")
    return found


def write_outcome(directory: Path, outcome: Outcome) -> None:
    """Keep how it ended.

    Raises:
        OSError: it cannot be written.
    """
    write_json(directory / OUTCOME, asdict(outcome))


def read_outcome(directory: Path) -> Outcome | None:
    """Tell how it ended; None: that is not known.

    Raises:
        HookError: it is written and cannot be read.
    """
    found = read_json(directory / OUTCOME)
    if found is None:
        return None
    try:
        found["still_running"] = tuple(found["still_running"])
        return Outcome(**{**found, "end": End(found["end"])})
    except (KeyError, TypeError, ValueError) as error:
        raise HookError(f"{directory / OUTCOME} is not as it was written: {error!r}") from error
