"""Journals whose compaction fails."""

import sqlite3
from contextlib import closing
from pathlib import Path


def refuse_deletions(path: Path) -> None:
    """Make compactions fail with the type of error that a full disk or a lock causes."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(
            "CREATE TRIGGER refused BEFORE DELETE ON facts"
            " BEGIN INSERT INTO missing VALUES (1); END"
        )


def allow_deletions(path: Path) -> None:
    """Let compactions succeed again."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("DROP TRIGGER refused")
