"""The file under the audit log: opening it, its rows, and transactions that say what failed."""

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import resources
from pathlib import Path
from typing import Any, Final

from orchestrator.audit.anchor import Anchor, Head
from orchestrator.audit.entry import Entry
from orchestrator.errors import AuditError, NoDataError

FORMAT: Final = 1
SELECT: Final = "SELECT sequence, at_ms, cluster, kind, body, previous, hash FROM entries"
_BUSY_S_MAX: Final = 30.0
_BUSY_AGAIN_S: Final = 0.01


def connect(path: Path) -> sqlite3.Connection:
    """Open to append; made if it is not there.

    Raises:
        AuditError: it cannot be opened or made, or is not an audit log of this format.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(
            path, timeout=_BUSY_S_MAX, isolation_level=None, check_same_thread=False
        )
        _write_ahead(db)
        db.execute("PRAGMA synchronous=FULL")
        if not schema(db):
            db.executescript(_schema_text())
    except (sqlite3.Error, OSError) as error:
        raise AuditError(f"{path} cannot be opened as the audit log: {error}") from error
    _check(db, path)
    return db


def connect_readonly(path: Path) -> sqlite3.Connection:
    """Open to read.

    Raises:
        NoDataError: there is no such file, or nothing in it yet.
        AuditError: it cannot be read, or is not an audit log of this format.
    """
    if not path.is_file():
        raise NoDataError(f"{path} does not exist: nothing was audited with this state directory")
    try:
        db = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro",
            uri=True,
            timeout=_BUSY_S_MAX,
            isolation_level=None,
            check_same_thread=False,
        )
    except sqlite3.Error as error:
        raise AuditError(f"{path} cannot be read as the audit log: {error}") from error
    if _is_being_made(db, path):
        db.close()
        raise NoDataError(f"{path} is being made: nothing was audited yet")
    _check(db, path)
    return db


def _is_being_made(db: sqlite3.Connection, path: Path) -> bool:
    """Whether it is empty because it is new; one that was emptied has its head kept beside it."""
    try:
        return not schema(db) and Anchor(path).read() is None
    except sqlite3.Error as error:
        raise AuditError(f"{path} cannot be read as the audit log: {error}") from error


def schema(db: sqlite3.Connection) -> dict[str, str]:
    """Tables, indexes and triggers by name, as SQLite keeps their text."""
    rows = db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {str(name): str(sql) for name, sql in rows}


def schema_as_written() -> dict[str, str]:
    """What `schema` gives of a log that nobody touched."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        db.executescript(_schema_text())
        return schema(db)


def head(db: sqlite3.Connection) -> Head:
    """Give the last entry's sequence and hash."""
    row = db.execute("SELECT sequence, hash FROM entries ORDER BY sequence DESC LIMIT 1").fetchone()
    return Head() if row is None else Head(sequence=row[0], hash=row[1])


def entry(row: tuple[Any, ...]) -> Entry:
    """Read a row of `SELECT`.

    Raises:
        AuditError: its body is not JSON: it was changed.
    """
    sequence, at_ms, cluster, kind, body, previous, hash_ = row
    try:
        return Entry(
            sequence=sequence,
            at_ms=at_ms,
            cluster=cluster,
            kind=kind,
            body=json.loads(body),
            previous=previous,
            hash=hash_,
        )
    except (ValueError, RecursionError) as error:
        raise AuditError(f"the body of audit entry {sequence} is not JSON: {error}") from error


@contextmanager
def transaction(db: sqlite3.Connection, path: Path, begin: str) -> Iterator[None]:
    """Commit what is done inside, or nothing of it.

    Raises:
        AuditError: SQLite refused: the disk is full, the file damaged, or locked for too long.
    """
    try:
        with closing(db.execute(begin)):
            pass
        try:
            yield
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")
    except sqlite3.Error as error:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise AuditError(f"{path}: {error}") from error


def _write_ahead(db: sqlite3.Connection) -> None:
    """Switch a new file to write-ahead logging; SQLite does not wait for another that does so."""
    deadline_s = time.monotonic() + _BUSY_S_MAX
    while True:
        try:
            db.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline_s:
                raise
            time.sleep(_BUSY_AGAIN_S)
        else:
            return


def _schema_text() -> str:
    return resources.files("orchestrator.audit").joinpath("schema.sql").read_text("utf-8")


def _check(db: sqlite3.Connection, path: Path) -> None:
    try:
        (found,) = db.execute("PRAGMA user_version").fetchone()
        tables = schema(db)
    except sqlite3.Error as error:
        raise AuditError(f"{path} cannot be read as the audit log: {error}") from error
    if found != FORMAT or "entries" not in tables:
        raise AuditError(
            f"{path} is no audit log of format {FORMAT} (it says {found}): use the Kraftgate that"
            " wrote it, or move it away with its .head to begin a new one"
        )
