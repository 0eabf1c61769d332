"""The SQLite file of the audit trail: its schema, rows and transactions."""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from importlib import resources
from pathlib import Path
from typing import Any, Final

from orchestrator.audit.anchor import Anchor, ChainHead
from orchestrator.audit.entry import Entry
from orchestrator.errors import AuditError, AuditLost, NoDataError
from streams.state import sqlite
from streams.state.sqlite import Connection, errors_as, format_of, schema

FORMAT: Final = 1
COLUMNS: Final = "sequence, at_ms, cluster, kind, body, previous, hash"
SELECT: Final = f"SELECT {COLUMNS} FROM entries"  # noqa: S608
_BUSY_S_MAX: Final = 30.0


def connect(path: Path) -> Connection:
    """Open the file for appending; create it if it is missing.

    Raises:
        AuditError: it cannot be opened or created, or is not an audit trail of this format.
    """
    with errors_as(AuditError, f"{path} cannot be opened as the audit trail", OSError):
        db = sqlite.connect(path, _BUSY_S_MAX)
        if not schema(db):
            db.executescript(_schema_text())
    _check(db, path)
    return db


def has_trail(path: Path) -> bool:
    """Return whether there is a trail, or its head says that there was one."""
    try:
        return path.exists() or Anchor(path).path.exists()
    except PermissionError:
        return True  # opening it names the owner and the fix


def connect_readonly(path: Path) -> Connection:
    """Open the file for reading.

    Raises:
        NoDataError: the file does not exist or is still empty, and never had an entry.
        AuditLost: the file does not exist, and its head says that it had entries.
        AuditError: it cannot be read, or is not an audit trail of this format.
    """
    if not path.exists():
        anchor = Anchor(path)
        kept = anchor.read() or ChainHead()
        if kept.sequence > 0:
            raise AuditLost(
                f"{path} is gone, but {anchor.path} says that it had {kept.sequence} entries"
            )
        raise NoDataError(
            f"{path} does not exist: the audit trail of this state directory has no entry yet"
        )
    with _reading(path):
        db = sqlite.connect_readonly(path, _BUSY_S_MAX)
        # The head of a log that was emptied still exists; a new log has none.
        is_new = not schema(db) and Anchor(path).read() is None
    if is_new:
        db.close()
        raise NoDataError(f"{path} is being created: the audit trail has no entry yet")
    _check(db, path)
    return db


def schema_as_written() -> dict[str, str]:
    """Return the schema of an unchanged file."""
    with closing(sqlite.connect_memory()) as db:
        db.executescript(_schema_text())
        return schema(db)


def head(db: Connection) -> ChainHead:
    row = db.execute("SELECT sequence, hash FROM entries ORDER BY sequence DESC LIMIT 1").fetchone()
    return ChainHead() if row is None else ChainHead(sequence=row[0], hash=row[1])


def entry(row: tuple[Any, ...]) -> Entry:
    """Convert a row of `SELECT` to an entry.

    Raises:
        AuditError: its body is not JSON, so it was changed.
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
def transaction(db: Connection, path: Path, begin: str) -> Iterator[None]:
    """Commit all statements of the block, or none.

    Raises:
        AuditError: the disk is full, the file is damaged, or it was locked for too long.
    """
    with errors_as(AuditError, str(path)), sqlite.transaction(db, begin):
        yield


def _reading(path: Path) -> AbstractContextManager[None]:
    return errors_as(AuditError, f"{path} cannot be read as the audit trail")


def _schema_text() -> str:
    return resources.files("orchestrator.audit").joinpath("schema.sql").read_text("utf-8")


def _check(db: Connection, path: Path) -> None:
    with _reading(path):
        found, tables = format_of(db), schema(db)
    if found == FORMAT and "entries" in tables:
        return
    kept = Anchor(path).read() or ChainHead()
    if not tables and kept.sequence > 0:
        raise AuditLost(
            f"{path} is empty, but the trail had {kept.sequence} entries: restore {path.name}-wal"
            " too, which has the newest ones"
        )
    raise AuditError(
        f"{path} is not an audit trail of format {FORMAT} (its format is {found}): use the"
        " Kraftgate that wrote it, or move it away with its .head file to start a new one"
    )
