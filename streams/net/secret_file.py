"""Reads secret files, and rejects a file that other users can read or change.

All code that reads a secret file uses this module. The rule is that of ssh for private keys, with
one exception: a file may have mode 0640 if its group is a group of this process. Root may read the
files of every user.
"""

import os
import shlex
import stat
from pathlib import Path
from typing import Final, TypeAlias

from streams.process.pipes import without_waiting

_BYTES_MAX: Final = 64 * 1024


Stamp: TypeAlias = tuple[int, ...]
"""Differs once a file was changed or replaced, or has another mode, owner or group."""


class SecretFileRefused(Exception):
    """The file cannot be read, or other users can read or change it.

    In the second case the message has the command that fixes it.
    """


def content(path: Path) -> bytes:
    """Return the bytes of a secret file, the first 64 KiB at most.

    Raises:
        SecretFileRefused: the file cannot be read, or is not private.
    """
    try:
        with open(path, "rb", opener=without_waiting) as file:
            _check(path, os.fstat(file.fileno()))
            return file.read(_BYTES_MAX)
    except OSError as error:
        why = error.strerror or error
        raise SecretFileRefused(f"the secret in {path} cannot be read: {why}") from error


def first_line(path: Path) -> str:
    """Return the first line of a file, which is the secret, without a byte order mark.

    Raises:
        SecretFileRefused: the first line is empty, or the file cannot be read, is not UTF-8 or is
            not private.
    """
    try:
        lines = content(path).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise SecretFileRefused(f"the secret in {path} cannot be read: it is not UTF-8") from error
    if not lines or not lines[0]:
        raise SecretFileRefused(f"the secret file {path} is empty")
    return lines[0]


def stamp(path: Path) -> Stamp:
    """Return the stamp of a file; (0,) if it cannot be read."""
    try:
        found = path.stat()
    except OSError:
        return (0,)
    whose = found.st_mode, found.st_uid, found.st_gid
    return found.st_mtime_ns, found.st_ino, found.st_size, *whose


def _check(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise SecretFileRefused(f"the secret in {path} cannot be read: it is not a regular file")
    us, place = os.geteuid(), shlex.quote(str(path))
    if us != 0 and found.st_uid not in {0, us}:
        raise SecretFileRefused(
            f"the secret file {path} belongs to another user (uid {found.st_uid}), who can change"
            f" it: sudo chown {us} {place}"
        )
    allowed = stat.S_IRWXU
    if us == 0 or found.st_gid in {os.getegid(), *os.getgroups()}:
        allowed |= stat.S_IRGRP
    if stat.S_IMODE(found.st_mode) & ~allowed & 0o777:
        mode = f"{stat.S_IMODE(found.st_mode):04o}"
        raise SecretFileRefused(
            f"the secret file {path} has mode {mode}, so other users can read it or change it:"
            f" chmod 0600 {place}"
        )
