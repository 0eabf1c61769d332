"""Opens a path that may be a named pipe, without waiting for a process at its other end."""

import errno
import os
import stat
from pathlib import Path
from typing import Final

_MODE: Final = 0o666


def without_waiting(path: str, flags: int) -> int:
    """Open a file, as the `opener` of `open`.

    A pipe without a writer is then at its end; one without a reader fails with ENXIO.
    """
    descriptor = os.open(path, flags | os.O_NONBLOCK, _MODE)
    os.set_blocking(descriptor, True)
    return descriptor


def read_file(path: Path) -> bytes:
    """Return the content of a regular file.

    Raises:
        OSError: it cannot be read, or is not a file.
    """
    with open(path, "rb", opener=without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a file", str(path))
        return file.read()
