"""The few file operations that durability hangs on."""

import fcntl
import os
from io import FileIO
from pathlib import Path

from streams.net.errors import LiveError


class SpoolInUse(LiveError):
    """Another process holds the spool's lock."""


def open_unbuffered(path: Path) -> FileIO:
    """Open an existing file for writing, at its end, without a buffer of our own."""
    file = FileIO(str(path), "r+")
    file.seek(0, os.SEEK_END)
    return file


def write_all(file: FileIO, content: bytes) -> None:
    """Write every byte; a raw write may take fewer."""
    view = memoryview(content)
    while view:
        view = view[file.write(view) or 0 :]


def lock(path: Path) -> FileIO:
    """Lock a directory by a file in it, until the file is closed.

    Raises:
        SpoolInUse: another process holds the lock.
    """
    file = FileIO(str(path), "a")
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise SpoolInUse(
            f"the spool {path.parent} is written by another process: end it, or give this one"
            " another directory"
        ) from error
    return file


def sync_directory(directory: Path) -> None:
    """Make names in the directory survive a power cut."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
