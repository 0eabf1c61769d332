"""A log that is there, and what a hand with write access could do to its file."""

import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from orchestrator.audit import AuditLog, Entry
from orchestrator.audit.entry import GENESIS, canonical
from orchestrator.output.json_value import JsonValue

ENTRIES = 7


def written(directory: Path) -> list[Entry]:
    """Make a log of a few entries, of two clusters."""
    with AuditLog.open(directory / "audit.db") as log:
        for number in range(ENTRIES):
            body: dict[str, JsonValue] = {
                "number": number,
                "words": ["größe", "ISR"],
                "full": number % 2 == 0,
            }
            log.append("prod" if number % 3 else "test", "gate_judged", body, 1_000 + number)
        return log.entries()


def copied(origin: Path, to: Path) -> Path:
    """Copy a log that nobody has open."""
    for name in ("audit.db", "audit.head"):
        shutil.copy(origin / name, to / name)
    return to / "audit.db"


def tamper(path: Path, *statements: tuple[str, Sequence[object]]) -> None:
    """Change the file with the triggers out of the way, and put them back as they were."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        kept = triggers.fetchall()
        for name, _ in kept:
            db.execute(f"DROP TRIGGER {name}")
        for statement, values in statements:
            db.execute(statement, values)
        for _, text in kept:
            db.execute(text)


def rewritten(path: Path, entries: Sequence[Entry], numbers: Sequence[int] = ()) -> None:
    """Write a whole chain that is right in itself, as somebody who knows how would.

    `numbers`: other sequences than 1, 2, 3, ...
    """
    previous = GENESIS
    rows = []
    for number, each in zip(numbers or range(1, len(entries) + 1), entries, strict=True):
        new = sealed(replace(each, sequence=number, previous=previous))
        previous = new.hash
        rows.append(("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", row(new)))
    tamper(path, ("DELETE FROM entries", ()), *rows)


def sealed(entry: Entry) -> Entry:
    """Give the entry its right hash."""
    return replace(entry, hash=entry.seal())


def row(entry: Entry) -> tuple[object, ...]:
    """Give what the table has of an entry."""
    body = canonical(entry.body)
    return (
        entry.sequence,
        entry.at_ms,
        entry.cluster,
        entry.kind,
        body,
        entry.previous,
        entry.hash,
    )
