"""SQLite files of the state directory: opening, pragmas, formats and transactions.

Every file that is opened for writing uses write-ahead logging, so that readers never wait for the
writer, and `synchronous=FULL`, so that a committed transaction survives a power cut. Connections
are in autocommit mode (the code begins each transaction), and may be passed between threads.
"""

import os
import sqlite3
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias

Connection: TypeAlias = sqlite3.Connection
OperationalError: TypeAlias = sqlite3.OperationalError
"""An error other than damage: a full disk, a lock of another process, a file without rights."""

_BUSY_S_MAX: Final = 10.0
"""How long a statement waits for a lock that another process holds."""
_BUSY_AGAIN_S: Final = 0.01
_LOG_BYTES: Final = 16 * 2**20
"""The size to which the write-ahead log shrinks again; a reader that hangs lets it grow."""
_LAST_BUSY_MS: Final = 1000
_DISK_IS_FULL: Final = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE}
"""The second one, "disk I/O error", also of a reader: the index of the log cannot grow."""
_INDEX_HEADER_BYTES: Final = 96
"""Two copies of 48 bytes (https://sqlite.org/walformat.html, "The WAL-Index File Format")."""


def connect(path: Path, busy_s_max: float = _BUSY_S_MAX) -> Connection:
    """Open a database for writing; create it and its directory if they are missing.

    Raises:
        sqlite3.Error: the file is not a database, or cannot be created.
        OSError: the directory cannot be created.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _require_file(path)
    db = sqlite3.connect(path, timeout=busy_s_max, isolation_level=None, check_same_thread=False)
    try:
        _write_ahead(db, time.monotonic() + busy_s_max)
        db.execute("PRAGMA synchronous=FULL")
        db.execute(f"PRAGMA journal_size_limit={_LOG_BYTES}")
    except BaseException:
        db.close()
        raise
    return db


def connect_readonly(path: Path, busy_s_max: float = _BUSY_S_MAX) -> Connection:
    """Open an existing database for reading, also in a directory that cannot be written.

    Raises:
        sqlite3.Error: there is no such file, or its newest data cannot be read from a read-only
            directory. A file that is not a database fails the first query.
    """
    _require_file(path)
    db = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if _is_at_rest(path) else ''}",
        uri=True,
        timeout=busy_s_max,
        isolation_level=None,
        check_same_thread=False,
    )
    db.execute("PRAGMA query_only=1")
    return db


def _is_at_rest(path: Path) -> bool:
    """Return whether no process has the file open, and no index of its log can be created here."""
    log, index = (path.with_name(f"{path.name}-{part}") for part in ("wal", "shm"))
    if not path.exists() or index.exists() or os.access(path.parent, os.W_OK):
        return False
    if log.exists() and log.stat().st_size:
        raise sqlite3.OperationalError(
            f"{path.parent} is read-only, and {log.name} cannot be read without {index.name}:"
            " mount it writable, or copy it to where it is"
        )
    return True


def _require_file(path: Path) -> None:
    """Reject a directory, which SQLite does not name, and a pipe, whose writer it waits for."""
    if path.exists() and not path.is_file():
        raise sqlite3.OperationalError("it is not a file")


def close(db: Connection) -> None:
    """Close a database after moving its write-ahead log into the file, as far as readers allow.

    SQLite itself does that when the last connection closes, unless that one only reads.
    """
    # On a full disk, or with a reader in a transaction, it fails: the log stays, and is complete.
    with closing(db), suppress(sqlite3.Error):
        if db.execute("PRAGMA query_only").fetchone()[0]:
            return  # it would take the writer's lock
        db.execute(f"PRAGMA busy_timeout={_LAST_BUSY_MS}")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def connect_memory() -> Connection:
    return sqlite3.connect(":memory:", isolation_level=None)


class CommitMark:
    """What differs after each commit to a file with write-ahead logging: its index's header.

    The files' times do not: a commit is written first, and shown to readers after its fsync. Keep
    the object while the process uses the file: closing any descriptor of the index drops SQLite's
    own locks on it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._index_path = path.with_name(f"{path.name}-shm")
        self._index: int | None = None

    def read(self) -> object:
        """Return the mark; None: it is unknown, since there is no index or it cannot be read."""
        try:
            file, index = self._path.stat(), self._index_path.stat()
            if self._index is None or os.fstat(self._index).st_ino != index.st_ino:
                self._index = os.open(self._index_path, os.O_RDONLY | os.O_CLOEXEC)
                weakref.finalize(self, os.close, self._index)
            header = os.pread(self._index, _INDEX_HEADER_BYTES, 0)
        except OSError:
            return None
        if len(header) < _INDEX_HEADER_BYTES:
            return None
        return file.st_dev, file.st_ino, index.st_ino, header


@contextmanager
def transaction(db: Connection, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """Commit all statements of the block; roll all of them back if it raises.

    Raises:
        sqlite3.Error: the disk is full, or the file is damaged, read-only or locked for too long.
    """
    with closing(db.execute(begin)):
        pass
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # SQLite itself rolls back after some errors, such as a full disk
            db.execute("ROLLBACK")
        raise


@contextmanager
def errors_as(
    error: Callable[[str], Exception], what: str, *others: type[Exception], if_damaged: str = ""
) -> Iterator[None]:
    """Raise `error("WHAT: REASON")` for an error of SQLite, or of the types `others`.

    `if_damaged`: appended after a colon if the file is not a database, or is damaged.
    """
    caught: tuple[type[Exception], ...] = (sqlite3.Error, *others)
    try:
        yield
    except caught as reason:
        is_damaged = type(reason) is sqlite3.DatabaseError  # the others have their own types
        fix = if_damaged if is_damaged else ""
        if getattr(reason, "sqlite_errorcode", None) in _DISK_IS_FULL:
            fix = "free space on its disk and repeat the command"
        raise error(f"{what}: {reason}{fix and f': {fix}'}") from reason


def schema(db: Connection) -> dict[str, str]:
    """Return the SQL of each table, index and trigger by name, as SQLite stores it."""
    rows = db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {str(name): str(sql) for name, sql in rows}


def format_of(db: Connection) -> int:
    """Return the format that the file's writer set (`PRAGMA user_version`); 0: none."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def damage(db: Connection) -> str | None:
    """Return the first damage that `PRAGMA integrity_check` finds, in one line; None: none."""
    found = [str(row[0]) for row in db.execute("PRAGMA integrity_check(1)")]
    return None if found == ["ok"] else found[0].splitlines()[-1].strip()


def _write_ahead(db: Connection, deadline_s: float) -> None:
    """Switch to write-ahead logging; retry, because SQLite does not wait for a lock here."""
    while True:
        try:
            db.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline_s:
                raise
            time.sleep(_BUSY_AGAIN_S)
        else:
            return
