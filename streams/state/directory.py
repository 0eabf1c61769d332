"""The state directory: it holds copies of the cluster's metadata, so only its owner may use it.

Every process that writes to a state directory calls `prepare` first. Directories are then created
with mode 0700 and files with mode 0600, also those of Spark's JVM and workers. `cache_root` is the
other directory that Kraftgate writes to.
"""

import errno
import logging
import os
import pwd
import shlex
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

_log = logging.getLogger(__name__)

_PRIVATE_UMASK: Final = 0o077
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_OTHERS_ANY: Final = stat.S_IRWXG | stat.S_IRWXO
_LINKS_MAX: Final = 40


_LET: Final = "let user {user} read and write it"
_OF_THE_HOST: Final = {
    errno.EMFILE: "let this process open more files (systemd: LimitNOFILE; else ulimit -n)",
    errno.ENFILE: "let this host open more files (sysctl fs.file-max)",
    errno.ENOMEM: "free memory on this host",
    errno.ENOSPC: "free space on its disk",
    errno.EDQUOT: "free space in the quota of user {user}",
}
"""Fixes that are the same whether an execution is stored there or not."""
_REPAIRS: Final = {
    errno.EACCES: _LET,
    errno.EPERM: _LET,
    errno.EIO: "check its disk",
    errno.EROFS: "check its disk and mount it writable",
    errno.ESTALE: "mount its file system again",
}
_REPLACED: Final = {
    errno.EEXIST: "it is a file: set a directory",
    errno.ENOTDIR: "part of its path is a file: set another directory",
    errno.ENOLCK: "its file system cannot lock files: set a directory on a local disk",
}
_OF_THE_PATH: Final = frozenset({errno.EACCES, errno.EPERM, errno.EEXIST, errno.ENOTDIR})
_ABSENT: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})
_IF_NEW: Final = _ABSENT | {errno.EROFS, errno.ENOLCK}
"""With an execution there, the path was right: the host or disk has failed since."""


def cache_root() -> Path:
    """Return the cache: KRAFTGATE_CACHE, else kraftgate under XDG_CACHE_HOME or ~/.cache."""
    own = os.environ.get("KRAFTGATE_CACHE")
    if own:
        return Path(own).absolute()
    xdg = os.environ.get("XDG_CACHE_HOME")
    return (Path(xdg).absolute() if xdg else Path.home() / ".cache") / "kraftgate"


def create_in_cache(path: Path) -> None:
    """Create a directory of the cache.

    Raises:
        OSError: it cannot be created; with the fix.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = _with_fix(path, error, has_state=False)
        raise OSError(error.errno, f"{why} (KRAFTGATE_CACHE)") from error


def _umask() -> int:
    given = os.umask(_PRIVATE_UMASK)
    os.umask(given)
    return given


_RESTORED: Final = ("*", "alerts/*", "checkpoint/*", "clusters/*", "clusters/*/*", "hooks/*")
"""What an administrator may restore as another user; there are too many transitions to check."""

_STATE: Final = ("store.db", "audit.db", "checkpoint", "clusters")
_OWN: Final = ("lock", *_STATE)
"""Names that mark a state directory; `lock` is the first file of a new one."""
_OF_ANY: Final = ("lost+found", "kraftgate-crash-*")
"""What an otherwise empty directory may have: from its file system, or a command that failed."""

GIVEN_UMASK: Final = _umask()
"""The umask at the start of this process: commands of the operator run with it."""


class UnsafeStateDir(PermissionError):
    """The directory has other files, or another user can change it; the message has the fix."""


def prepare(path: Path) -> None:
    """Create or check the state directory; all files that this process creates later are private.

    A directory that an earlier release created readable to other users becomes private.

    Raises:
        UnsafeStateDir: another user owns it, can write to it, or can replace it; or it has files,
            but none of a state directory. Nothing is changed then.
        OSError: it cannot be created, read or written.
    """
    create_private()
    if path.is_dir():  # before its parents: they may belong to its owner
        _check_owner(path, path, path.stat())
    check_way(path)
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    _check_content(path)
    found = path.stat()
    _check_ours(path, path, found)
    if found.st_mode & _OTHERS_ANY:
        _tighten(path)
    for pattern in _RESTORED:
        for place in path.glob(pattern):
            if place.name == "lost+found":
                continue  # at the root of a volume it belongs to root
            with suppress(FileNotFoundError):  # another process deleted it
                _check_owner(place, path, place.lstat())
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        is_readonly = os.statvfs(path).f_flag & os.ST_RDONLY
        reason = errno.EROFS if is_readonly else errno.EACCES
        raise OSError(reason, os.strerror(reason))


def why_unusable(path: Path, error: OSError) -> str:
    """Return the problem of the state directory and its fix, in one line."""
    if isinstance(error, UnsafeStateDir):
        return str(error)
    return _with_fix(path, error, has_state=has_state(path))


def is_wrong_path(path: Path, error: OSError) -> bool:
    """Return whether `state_dir` or the rights to it are wrong; else its host or disk failed."""
    if error.errno in _IF_NEW:
        return has_state(path) is False
    return isinstance(error, UnsafeStateDir) or error.errno in _OF_THE_PATH


def has_state(path: Path) -> bool | None:
    """Return whether an earlier process stored something there; None: that cannot be read."""
    for each in _STATE:
        try:
            (path / each).lstat()
        except OSError as error:
            if error.errno not in _ABSENT:
                return None
        else:
            return True
    return False


def _with_fix(path: Path, error: OSError, *, has_state: bool | None) -> str:
    """Return the problem and its fix; another directory would begin an execution without trail."""
    number = error.errno or 0
    if number in _OF_THE_HOST:
        fix = _OF_THE_HOST[number]
    elif has_state is False:
        other = [_REPAIRS[number]] if number in _REPAIRS else []
        fix = _REPLACED.get(number) or ", or ".join([*other, "set another directory"])
    else:
        has = "has" if has_state else "may have"
        repair = _REPAIRS.get(number, "check its file system")
        fix = f"{repair}, and keep it: it {has} the state of an execution"
    return f"{path}: {error.strerror or error}: {fix.format(user=_name(os.geteuid()))}"


def check_way(path: Path) -> None:
    """Check that no other user can replace a path or one of its parents.

    Raises:
        UnsafeStateDir: another user owns, or can write to, a parent directory or a link in it.
    """
    for place in _way(path.absolute()):
        _check_place(place, path)


def create_private() -> None:
    """Make new files of this process, and of every process that it starts, private to its user."""
    os.umask(_PRIVATE_UMASK)


def _check_content(path: Path) -> None:
    """Reject a directory of another purpose, such as one of hooks or of Kafka's logs."""
    others = [each for each in path.iterdir() if not any(map(each.match, _OF_ANY))]
    # After the listing: another process may just have begun to use the directory.
    if others and not any((path / each).exists() for each in _OWN):
        raise UnsafeStateDir(
            f"{path} is not a state directory, but has other files:"
            " set another directory, new or empty"
        )


def _check_ours(path: Path, state_dir: Path, found: os.stat_result) -> None:
    """Reject `path`, in the state directory or itself, if another user owns or can write to it."""
    _check_owner(path, state_dir, found)
    if found.st_mode & _OTHERS_WRITE and not stat.S_ISLNK(found.st_mode):
        fix = f"make sure that nobody did, then: chmod -R go= {_quoted(state_dir)}"
        if path == state_dir:  # which may also be of other programs, such as /tmp
            other = "set another directory, or " if has_state(path) is False else ""
            fix = f"{other}make sure that nobody did, then: chmod go= {_quoted(path)}"
        raise UnsafeStateDir(
            f"{path} has mode {_mode(found)}, so other users can write to it: {fix}"
        )


def _check_owner(path: Path, state_dir: Path, found: os.stat_result) -> None:
    if found.st_uid != os.geteuid():
        us, owner = _name(os.geteuid()), _name(found.st_uid)
        # The owner of a directory uses it; what was restored into ours may be made ours.
        fix = f"chown -R {us} {_quoted(state_dir)}"
        if path == state_dir:
            user = owner if owner != str(found.st_uid) else f"#{owner}"
            fix = f"run it as that user: sudo -u {shlex.quote(user)} kraftgate ..."
        raise UnsafeStateDir(f"{path} belongs to {owner}, and kraftgate runs as {us}: {fix}")


def _way(path: Path) -> Iterator[Path]:
    """Yield each parent directory and symbolic link of a path, without its last directory."""
    links, here, left = 0, Path("/"), deque(path.parts[1:])
    yield here
    while left:
        part = left.popleft()
        place = here.parent if part == ".." else here / part
        if not place.is_symlink():
            here = place
            if left:
                yield place
            continue
        yield place
        links += 1
        if links > _LINKS_MAX:
            raise UnsafeStateDir(f"{path} has more than {_LINKS_MAX} symbolic links: {place}")
        target = place.readlink()
        left.extendleft(reversed(target.parts[1:] if target.is_absolute() else target.parts))
        here = Path("/") if target.is_absolute() else here


def _check_place(place: Path, path: Path) -> None:
    """Reject a directory or link through which another user can replace a path below it."""
    try:
        found = place.lstat()
    except FileNotFoundError:
        return
    if found.st_uid not in {0, os.geteuid()}:
        raise UnsafeStateDir(
            f"{place} belongs to {_name(found.st_uid)}, who can replace {path}:"
            f" {_or_another(path)}chown -h {_name(os.geteuid())} {_quoted(place)}"
        )
    sticky = found.st_mode & stat.S_ISVTX
    if found.st_mode & _OTHERS_WRITE and not sticky and not stat.S_ISLNK(found.st_mode):
        raise UnsafeStateDir(
            f"{place} has mode {_mode(found)}, so other users can replace {path}:"
            f" {_or_another(path)}chmod go-w {_quoted(place)}"
        )


def _or_another(path: Path) -> str:
    return "choose another directory, or: " if has_state(path) is False else ""


def _tighten(path: Path) -> None:
    """Make a directory and its content private; the directory first, which protects the rest."""
    inside = [
        (Path(folder, name), Path(folder, name).lstat())
        for folder, names, files in os.walk(path)
        for name in (*names, *files)
    ]
    for place, found in inside:
        _check_ours(place, path, found)
    path.chmod(0o700)
    for place, found in inside:
        if not stat.S_ISLNK(found.st_mode):
            place.chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS_ANY)
    _log.warning("%s was readable by other users: it is private to its owner now", path)


def _mode(found: os.stat_result) -> str:
    return f"{stat.S_IMODE(found.st_mode):04o}"


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))
