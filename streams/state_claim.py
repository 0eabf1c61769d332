"""The claim on a state directory: one process at a time follows with it.

Claim it before anything else is opened: a second process would otherwise fail at whatever the two
meet at first (a port, a journal), or take over the first one's audit trail.
"""

import fcntl
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import Final

from streams.state_dir import prepare

LOCK_FILE: Final = "lock"
_HOLDER_BYTES_MAX: Final = 200


class StateDirInUse(Exception):
    """Another process follows with this directory; the message names the process."""


@contextmanager
def claimed(state_dir: Path) -> Iterator[None]:
    """Make the directory, and be the only process that follows with it until the block ends.

    Raises:
        StateDirInUse: another process has claimed it.
        UnsafeStateDir: another user owns it, can write to it, or can replace it.
        OSError: it cannot be created, written or locked (`streams.state_dir.why_unusable`).
    """
    prepare(state_dir)
    with (state_dir / LOCK_FILE).open("a+b", buffering=0) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StateDirInUse(
                f"{state_dir} is in use by {_holder(file)}: end that process, or set another"
                " state directory"
            ) from error
        _sign(file)
        yield


def _sign(file: FileIO) -> None:
    """Leave in the lock file which process has it."""
    command = " ".join(["kraftgate", *sys.argv[1:2]])
    since = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if os.fstat(file.fileno()).st_size:
        file.truncate(0)
    process = f"process {os.getpid()} on {socket.gethostname()}"
    file.write(f"{process} ({command}), since {since}\n".encode())


def _holder(file: FileIO) -> str:
    """What the process that has the lock left in its file; an earlier version left nothing."""
    file.seek(0)
    found = file.read(_HOLDER_BYTES_MAX).decode("utf-8", "replace").partition("\n")[0]
    return found if found.isprintable() and found else "another kraftgate"
