"""The running step of a cluster, in a form that every orchestrator of the cluster can read.

It is recorded before its hook is started, and the record is removed when the hook's end is known: a
hook may outlive its orchestrator, and with it the lock.
"""

import hashlib
import os
import socket
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from migration.values.timestamps import LATEST_MS, utc_text
from orchestrator.errors import LockError
from orchestrator.output.visible import visible_line
from streams.state.files import replace_file, sync_directory

_ID_FILE: Final = "home.id"
_UNKNOWN: Final = "unknown"

_Name = Annotated[str, Field(min_length=1, max_length=255)]
_Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._\[\]-]{0,127}$")]
"""Safe in a command that an operator copies from a message."""


class RunningStep(BaseModel):
    """One recorded step.

    Attributes:
        run: the name of its hook's run in the state directory of the orchestrator that began it.
        host: the host of that state directory.
        home: the id of that state directory; see `Home`.
        since_ms: when it was recorded.
        ends_ms: when the hook should have ended: its timeout plus the time it gets to end.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    checkpoint: _Id
    run: _Id
    host: _Name
    home: _Name
    since_ms: Annotated[int, Field(ge=0, le=LATEST_MS)]
    ends_ms: Annotated[int, Field(ge=0, le=LATEST_MS)]

    @classmethod
    def from_json(cls, text: str) -> "RunningStep":
        """Read a record; an unreadable one becomes a step with unknown checkpoint, run and host."""
        try:
            return cls.model_validate_json(text)
        except ValidationError:
            digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
            return cls(
                checkpoint=_UNKNOWN,
                run=_UNKNOWN,
                host=_UNKNOWN,
                home=digest,
                since_ms=0,
                ends_ms=0,
            )

    def words(self) -> str:
        """Return the step, where it began and until when it may run, as text."""
        return (
            f"the step of {self.checkpoint}, begun on {visible_line(self.host)} at"
            f" {utc_text(self.since_ms)},"
            f" which may run until {utc_text(self.ends_ms)}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """One state directory on one host; only there is the outcome of its hooks known."""

    host: str
    id: str

    @classmethod
    def of(cls, state_dir: Path) -> "Home":
        """Return the home with its id, created at first use; a copy on another host is another one.

        A file that a power cut emptied is replaced.

        Raises:
            LockError: it cannot be read or written.
        """
        file = state_dir / _ID_FILE
        try:
            return cls(host=socket.gethostname(), id=_own_id(file))
        except (OSError, ValueError) as error:
            raise LockError(
                f"{file} cannot be used ({error}): restore it from the backup of the state"
                " directory, or delete it, and end the steps that were begun here with `kraftgate"
                " decide ID --ended`"
            ) from error

    def has(self, step: RunningStep) -> bool:
        return (step.host, step.home) == (self.host, self.id)


def _own_id(file: Path) -> str:
    if file.exists() and file.stat().st_size == 0:
        file.unlink(missing_ok=True)
    if not file.exists():
        fresh = file.with_name(f"{_ID_FILE}.{os.getpid()}.tmp")
        replace_file(fresh, uuid.uuid4().hex)
        with suppress(FileExistsError):
            os.link(fresh, file)
        fresh.unlink()
        sync_directory(file.parent)
    return file.read_text("ascii").strip()
