"""Who holds the lock of a cluster, in words for whoever finds it taken."""

import getpass
import json
import os
import socket
from dataclasses import asdict, dataclass

import psutil

from migration.timestamps import iso


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """One orchestrator, as it says itself.

    Attributes:
        since_ms: when it began.
    """

    host: str
    pid: int
    user: str
    since_ms: int

    @classmethod
    def myself(cls, since_ms: int) -> "Owner":
        """This process."""
        try:
            user = getpass.getuser()
        except (KeyError, OSError):  # a container's user without a name
            user = f"uid {os.getuid()}"
        return cls(host=socket.gethostname(), pid=os.getpid(), user=user, since_ms=since_ms)

    @classmethod
    def from_json(cls, text: str) -> "Owner | None":
        """Read what `to_json` wrote; None: it is something else."""
        try:
            found = json.loads(text)
            return cls(
                host=str(found["host"]),
                pid=int(found["pid"]),
                user=str(found["user"]),
                since_ms=int(found["since_ms"]),
            )
        except (ValueError, KeyError, TypeError):
            return None

    def to_json(self) -> str:
        """Write it."""
        return json.dumps(asdict(self))

    def words(self) -> str:
        """Say who: process, user, host and since when."""
        return f"process {self.pid} of {self.user} on {self.host}, since {iso(self.since_ms)}"

    def is_gone(self) -> bool:
        """Whether it was a process of this host that has ended; False where that is not known."""
        return self.host == socket.gethostname() and not psutil.pid_exists(self.pid)
