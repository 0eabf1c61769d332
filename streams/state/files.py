"""Locks on files, and writes that survive a crash and a power cut."""

import errno
import fcntl
import os
import stat
import threading
import time
from io import FileIO
from pathlib import Path
from typing import Final

from streams.process.pipes import without_waiting

_LOCK_AGAIN_S: Final = 0.02


def open_unbuffered(path: Path) -> FileIO:
    """Open an existing file for writing at its end, without a Python buffer."""
    file = FileIO(str(path), "r+")
    file.seek(0, os.SEEK_END)
    return file


def write_all(file: FileIO, content: bytes) -> None:
    """Write all bytes; a single raw write may write only a part of them."""
    view = memoryview(content)
    while view:
        view = view[file.write(view) or 0 :]


def try_lock(descriptor: int, *, shared: bool = False, wait_s_max: float = 0.0) -> bool:
    """Lock an open file until it is closed; False: another process holds the lock.

    Args:
        descriptor: the descriptor of the file; a process that inherits it holds the lock too.
        shared: allow other shared locks.
        wait_s_max: how long to retry while another process holds the lock.

    Raises:
        OSError: the file cannot be locked.
    """
    operation = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB
    deadline_s = time.monotonic() + wait_s_max
    while True:
        try:
            fcntl.flock(descriptor, operation)
        except BlockingIOError:
            if time.monotonic() >= deadline_s:
                return False
            time.sleep(_LOCK_AGAIN_S)
        else:
            return True


def make_parents(path: Path, count: int) -> None:
    """Create the lowest `count` directories of a file's path: those below the state directory.

    That one is not created again: it may have been moved, and then could not be put back.
    """
    if path.parent.is_dir():
        return
    for each in reversed(path.parents[:count]):
        each.mkdir(exist_ok=True)


def replace_file(
    path: Path, content: str | bytes, *, durable: bool = True, fresh: Path | None = None
) -> None:
    """Replace a file atomically: a reader gets the old content or the new one.

    Args:
        path: a file in an existing directory.
        content: text is written as UTF-8.
        durable: the new content survives a power cut once this function has returned.
        fresh: the temporary file, in the same directory; by default its name contains the process
            and the thread, so that several writers do not collide.

    Raises:
        OSError: the disk is full, or the directory is not writable; the old file stays.
    """
    if fresh is None:
        fresh = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}.tmp")
    try:
        with fresh.open("wb", buffering=0) as file:
            write_all(file, content.encode() if isinstance(content, str) else content)
            if durable:
                os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    if durable:
        sync_directory(path.parent)


def write_to(path: Path, content: str, *, durable: bool = True) -> None:
    """Write to the path that an operator named: a file atomically, a device or pipe in place.

    A symbolic link stays, and its target is written.

    Raises:
        OSError: it cannot be written; an old file stays.
    """
    try:
        is_file = stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        is_file = True
    descriptor = _descriptor(path)
    if descriptor is not None:  # also of a file that the shell has open: its content stays
        with os.fdopen(os.dup(descriptor), "w", encoding="utf-8") as out:
            out.write(content)
    elif is_file:
        replace_file(path.resolve(), content, durable=durable)
    else:
        _write_in_place(path, content)


def _write_in_place(path: Path, content: str) -> None:
    try:
        with open(path, "w", encoding="utf-8", opener=without_waiting) as out:
            out.write(content)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        why = "no process reads this pipe: start its reader first, or name a file"
        raise OSError(errno.ENXIO, why, str(path)) from error


def _descriptor(path: Path) -> int | None:
    """Return the descriptor of this process to which a path leads, such as /dev/stdout."""
    own = Path("/proc/self/fd").resolve()
    while path.parent.resolve() != own:
        if not path.is_symlink():
            return None
        path = path.parent / path.readlink()
    return int(path.name) if path.name.isdecimal() else None


def sync_directory(directory: Path) -> None:
    """Fsync a directory, so that its file names survive a power cut."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
