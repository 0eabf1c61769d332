"""The claim on a state directory: one process at a time uses it.

Claim the directory before anything else is opened. Otherwise a second process fails at the first
resource that both use (a port, a journal), or writes to the audit trail of the first process.
"""

import json
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import Final

import psutil

from streams.process.pipes import read_file
from streams.state.directory import has_state, prepare
from streams.state.files import try_lock

LOCK_FILE: Final = "lock"
_HOLDER_BYTES_MAX: Final = 1000
_SAME_S: Final = 0.005
"""Linux counts the starts of processes in hundredths of a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A process that claimed a state directory.

    Attributes:
        after_boot_s: start of the process after that of the host, which no setting of the clock
            moves; together with the process id it is unique on a host.
        since: when the process claimed the directory, as ISO 8601 in UTC.
    """

    host: str
    pid: int
    after_boot_s: float
    command: str
    since: str

    def words(self) -> str:
        """Return the process, its host, its command and the time of its claim, for a message."""
        return f"process {self.pid} on {self.host} ({self.command}), since {self.since}"

    @property
    def since_ms(self) -> int | None:
        """The time of the claim, ms since the epoch; None: it cannot be parsed."""
        try:
            return round(datetime.fromisoformat(self.since).timestamp() * 1000)
        except (ValueError, TypeError):
            return None

    def is_running(self) -> bool | None:
        """Return whether the process still runs; None: unknown, because it is on another host."""
        if self.host != socket.gethostname():
            return None
        try:
            return abs(_after_boot_s(self.pid) - self.after_boot_s) < _SAME_S
        except psutil.Error:
            return False


def _after_boot_s(pid: int) -> float:
    # psutil adds the time of the boot by today's clock.
    return psutil.Process(pid).create_time() - psutil.boot_time()


class StateDirInUse(Exception):
    """Another process uses this directory; the message names the process."""


@contextmanager
def claimed(state_dir: Path) -> Iterator[Callable[[], None]]:
    """Create the directory if it is missing, and lock it until the block ends.

    The block gets a function that raises StateDirInUse if another process may use the directory,
    because the lock file was deleted or replaced, or another process has signed it.

    Raises:
        StateDirInUse: another process has claimed it.
        UnsafeStateDir: another user owns it, can write to it, or can replace it; or it is another
            directory than one of Kraftgate's.
        OSError: it cannot be created, written or locked (`streams.state.directory.why_unusable`).
    """
    prepare(state_dir)
    path = state_dir / LOCK_FILE
    with path.open("a+b", buffering=0) as file:
        if not try_lock(file.fileno()):
            other = ", or set another state directory" if has_state(state_dir) is False else ""
            raise StateDirInUse(
                f"{state_dir} is in use by {_who(file)}: end that process first{other}"
            )
        signed = _sign(file)

        def check() -> None:
            try:
                found = path.read_bytes()
                is_ours = os.path.samestat(path.stat(), os.fstat(file.fileno()))
            except FileNotFoundError:
                if not state_dir.exists():
                    return  # nobody can use it; the audit trail names that
                found, is_ours = b"", False
            if is_ours and found == signed:
                return
            # A file server gives the lock to another host if this one does not renew it in time.
            how = f"claimed by {_words(found)}" if is_ours else "deleted or replaced"
            raise StateDirInUse(
                f"{path} was {how} while this process used it: end every"
                " `kraftgate run` that uses the directory, and start one again"
            )

        yield check


def _who(file: FileIO) -> str:
    file.seek(0)
    return _words(file.read(_HOLDER_BYTES_MAX))


def _words(content: bytes) -> str:
    found = _parsed(content)
    return "another kraftgate" if found is None else found.words()


def holder(state_dir: Path) -> Holder | None:
    """Return the process that claimed the directory last; None: unknown, or no process did.

    Raises:
        OSError: the lock file cannot be read.
    """
    try:
        return _parsed(read_file(state_dir / LOCK_FILE))
    except FileNotFoundError:
        return None


def _sign(file: FileIO) -> bytes:
    """Write this process as the holder; return the file's content."""
    pid = os.getpid()
    me = Holder(
        host=socket.gethostname(),
        pid=pid,
        after_boot_s=_after_boot_s(pid),
        command=" ".join(["kraftgate", *sys.argv[1:2]]),
        since=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
    if os.fstat(file.fileno()).st_size:
        file.truncate(0)
    content = json.dumps(asdict(me)).encode()
    file.write(content)
    return content


def _parsed(content: bytes) -> Holder | None:
    """Parse the text of `_sign`; None: an earlier version wrote nothing, or another format."""
    try:
        return Holder(**json.loads(content[:_HOLDER_BYTES_MAX]))
    except (ValueError, TypeError):
        return None
