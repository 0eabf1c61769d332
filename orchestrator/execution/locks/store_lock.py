"""One orchestrator at a time acts on a cluster: what a lock of it promises, and the local one.

Each taking of a lock has a token, higher than every one before. Who lost the lock and takes it
again has the same token when nobody had it in between; with another token everything that was
decided before has to be looked at anew.
"""

import math
import time
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Final, Protocol

from orchestrator.audit import AuditLog
from orchestrator.audit.execution.running_step import RunningStep
from orchestrator.errors import LockError, LockHeld
from orchestrator.process.owner import Owner
from streams.state.files import try_lock, write_all

_AGAIN_S: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Acquired:
    """The lock was taken.

    Attributes:
        kept: it is the token of before: nobody else had the lock meanwhile.
    """

    token: int
    kept: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The lock is held now.

    Attributes:
        until_s: nobody else can have it before this moment, by `boot_clock_s`. What is begun on
            the ground of this answer has to be begun before: see `Hook.begin_before_s`.
    """

    token: int
    until_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NotHeld:
    """The lock is not held, or that cannot be told; `why` goes on "it is not held: "."""

    why: str


class OrchestratorLock(Protocol):
    """What every lock can do. One thread uses it."""

    def acquire(self, wait_s: float = 0.0) -> Acquired:
        """Take it; `wait_s`: for so long, while another has it.

        Raises:
            LockHeld: another has it.
            LockError: it cannot be had.
        """

    def check(self) -> Held | NotHeld:
        """Ask, right before a step, whether it is still held."""

    def release(self) -> None:
        """Give it back."""


class SharedLock(OrchestratorLock, Protocol):
    """A lock that orchestrators of several hosts share, and with it what runs on the cluster."""

    @property
    def connected(self) -> bool:
        """Whether it can be asked now."""

    def begin(self, step: RunningStep) -> Held | NotHeld:
        """Record that a step runs, if the lock is held and no other step is recorded."""

    def running(self) -> RunningStep | None:
        """Return the step that was last seen recorded, without waiting."""

    def end(self, step: RunningStep) -> None:
        """Remove the record of a step that has ended.

        Raises:
            LockError: that did not succeed.
        """


class StoreLock:
    """Within one state directory: a lock on a file, and the fence of the audit log.

    The file's lock ends with its process. The fence sees to it that nothing is appended by one who
    had the lock before.
    """

    def __init__(self, state_dir: Path, cluster: str, log: AuditLog, owner: Owner) -> None:
        self._path = state_dir / f"orchestrator.{cluster}.lock"
        self._cluster = cluster
        self._log = log
        self._owner = owner
        self._file: FileIO | None = None
        self._token: int | None = None

    def acquire(self, wait_s: float = 0.0) -> Acquired:
        """Take it; the token is the fence.

        Raises:
            LockHeld: another process has it.
            LockError: the file cannot be written.
            AuditError: the audit log cannot be.
        """
        deadline_s = time.monotonic() + wait_s
        while self._file is None:
            self._file = self._taken()
            if self._file is None and time.monotonic() >= deadline_s:
                raise LockHeld(self._who())
            if self._file is None:
                time.sleep(_AGAIN_S)
        if self._token is not None and self._log.fence(self._cluster)[0] == self._token:
            return Acquired(token=self._token, kept=True)
        words, now_ms = self._owner.words(), time.time_ns() // 1_000_000
        self._token = self._log.take_fence(self._cluster, words, now_ms)
        return Acquired(token=self._token, kept=False)

    def check(self) -> Held | NotHeld:
        """Ask the audit log whether another has taken the fence."""
        if self._file is None or self._token is None:
            return NotHeld(why="it was not taken")
        fence, who = self._log.fence(self._cluster)
        if fence != self._token:
            return NotHeld(why=f"{who} took over")
        return Held(token=self._token, until_s=math.inf)

    def release(self) -> None:
        """Give it back."""
        if self._file is not None:
            self._file.close()
        self._file = self._token = None

    def _taken(self) -> FileIO | None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            file = FileIO(str(self._path), "a+")
            if not try_lock(file.fileno()):
                file.close()
                return None
            file.truncate(0)
            write_all(file, self._owner.to_json().encode())
        except OSError as error:
            raise LockError(f"{self._path} cannot be written: {error}") from error
        return file

    def _who(self) -> str:
        owner = Owner.from_json(self._path.read_text(encoding="utf-8", errors="replace"))
        who = "another process" if owner is None else owner.words()
        return f"{who} acts on {self._cluster} with this state directory: end it first"
