"""The owner of a cluster's lock, described for others that want the lock."""

import getpass
import json
import os
import socket
from dataclasses import asdict, dataclass
from typing import Final

import psutil

from migration.values.foreign import INT32_MAX, load_object
from migration.values.timestamps import LATEST_MS, utc_text
from orchestrator.output.visible import visible_line

_NAME_MAX: Final = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """One orchestrator, as it describes itself.

    Attributes:
        since_ms: when it started.
    """

    host: str
    pid: int
    user: str
    since_ms: int

    @classmethod
    def myself(cls, since_ms: int) -> "Owner":
        try:
            user = getpass.getuser()
        except (KeyError, OSError):  # a container's user without a name
            user = f"uid {os.getuid()}"
        return cls(host=socket.gethostname(), pid=os.getpid(), user=user, since_ms=since_ms)

    @classmethod
    def from_json(cls, text: str) -> "Owner | None":
        """Read the text that `to_json` wrote; None: the text is something else."""
        try:
            found = load_object(text)
            owner = cls(
                host=str(found["host"])[:_NAME_MAX],
                pid=int(found["pid"]),
                user=str(found["user"])[:_NAME_MAX],
                since_ms=int(found["since_ms"]),
            )
        except (ValueError, KeyError, TypeError, OverflowError):
            return None
        fits = 0 < owner.pid <= INT32_MAX and 0 <= owner.since_ms <= LATEST_MS
        return owner if fits else None

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    def words(self) -> str:
        """Return the process, user, host and start time as text."""
        user, host = visible_line(self.user), visible_line(self.host)
        return f"process {self.pid} of {user} on {host}, since {utc_text(self.since_ms)}"

    def is_gone(self) -> bool:
        """Return whether it was a process of this host that has ended; False if that is unknown."""
        return self.host == socket.gethostname() and not psutil.pid_exists(self.pid)
