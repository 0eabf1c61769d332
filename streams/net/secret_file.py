"""Files that hold secrets: every reader of one reads it here, and refuses it if others can too.

The rule is ssh's for private keys, with one exception: a file may have mode 0640 if its group is
one of ours. Root may read the files of every user.
"""

import os
import shlex
import stat
from pathlib import Path
from typing import Final

_BYTES_MAX: Final = 64 * 1024


class SecretFileRefused(Exception):
    """The file cannot be read, or other users can read or change it; with the command to fix it."""


def content(path: Path) -> bytes:
    """Read a secret.

    Raises:
        SecretFileRefused: it cannot be read, or is not private.
    """
    try:
        with path.open("rb") as file:
            _check(path, os.fstat(file.fileno()))
            return file.read(_BYTES_MAX)
    except OSError as error:
        why = error.strerror or error
        raise SecretFileRefused(f"the secret in {path} cannot be read: {why}") from error


def first_line(path: Path) -> str:
    """Read the first line of a file, which is the secret.

    Raises:
        SecretFileRefused: there is none, it cannot be read, or is not private.
    """
    try:
        lines = content(path).decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise SecretFileRefused(f"the secret in {path} cannot be read: it is not UTF-8") from error
    if not lines or not lines[0]:
        raise SecretFileRefused(f"the secret file {path} is empty")
    return lines[0]


def _check(path: Path, found: os.stat_result) -> None:
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
