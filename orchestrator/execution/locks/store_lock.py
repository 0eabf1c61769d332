"""What each lock of an orchestrator returns, and the lock of a state directory.

Each acquisition of a lock has a token, higher than every token before. An owner that lost the lock
and takes it again has the same token if nobody held it in between; with another token everything
that was decided before must be evaluated again.
"""

import math
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from orchestrator.audit import AuditLog
from orchestrator.errors import LockError, LockHeld
from orchestrator.process.owner import Owner
from streams.process.clocks import wall_clock_ms
from streams.state.files import try_lock, write_all


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The lock is held now.

    Attributes:
        until_s: nobody else can hold it before this time, by `boot_clock_s`. An action that relies
            on this result must begin before: see `Hook.begin_before_s`.
    """

    token: int
    until_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NotHeld:
    """The lock is not held, or its state is unknown; `why` completes "it is not held: "."""

    why: str


class StoreLock:
    """The lock of one state directory: a file lock, and the fence of the audit trail.

    The file lock ends with its process. The fence prevents an earlier owner from appending to the
    audit trail.
    """

    def __init__(self, state_dir: Path, cluster: str, log: AuditLog, owner: Owner) -> None:
        self._path = state_dir / f"orchestrator.{cluster}.lock"
        self._cluster = cluster
        self._log = log
        self._owner = owner
        self._file: FileIO | None = None
        self._token: int | None = None

    def acquire(self) -> int:
        """Take the lock.

        Returns:
            the token: the fence.

        Raises:
            LockHeld: another process holds it.
            LockError: the file cannot be written.
            AuditError: the audit trail cannot be written.
        """
        self._file = self._taken()
        if self._file is None:
            raise LockHeld(self._who())
        words, now_ms = self._owner.words(), wall_clock_ms()
        self._token = self._log.take_fence(self._cluster, words, now_ms)
        return self._token

    def check(self) -> Held | NotHeld:
        """Check in the audit trail that no other process has taken the fence."""
        if self._file is None or self._token is None:
            return NotHeld(why="it was not taken")
        fence, who = self._log.fence(self._cluster)
        if fence != self._token:
            return NotHeld(why=f"{who} took over")
        return Held(token=self._token, until_s=math.inf)

    def release(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file = self._token = None

    def _taken(self) -> FileIO | None:
        try:
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
