"""Whether an audit log is as it was written.

What is found: an entry that was changed, removed, put in or moved; another hash algorithm; a body
that means the same but is other text; a trigger or index that was taken away; damage of the file;
a file that an entry names, gone or changed; and an end that was cut off, as long as `audit.head` or
a head noted elsewhere has seen it.

What cannot be found: that somebody with write access rewrote the whole chain and `audit.head` too,
unless a head was noted where they could not write; and that the very last entry was cut off
between its writing and that of `audit.head`, which is a kill -9 in those milliseconds.
"""

from dataclasses import dataclass
from pathlib import Path

from orchestrator.audit import database
from orchestrator.audit.anchor import Anchor, Head
from orchestrator.audit.attachments import check_kept
from orchestrator.audit.entry import ALGORITHM, canonical, seal_of
from orchestrator.errors import AuditError
from streams.state.sqlite import Connection, damage, schema


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyResult:
    """What `verify` found.

    Attributes:
        count: entries, from the first up to the last that was good.
        head: the hash of that last good one.
        first_bad: the sequence of the first entry that is not as written; None also when what is
            wrong is no single entry's.
        why: what is wrong; "" when nothing is.
    """

    ok: bool
    count: int
    head: str
    first_bad: int | None = None
    why: str = ""


def verify(db: Connection, path: Path, noted: str | None = None) -> VerifyResult:
    """Walk the whole chain.

    `noted`: a head that was noted elsewhere, now or earlier, with or without `sha256:`.
    """
    good = Head()
    try:
        # Read before the entries are: it may only lag behind them.
        anchor = Anchor(path).read()
        with database.transaction(db, path, "BEGIN"):
            try:
                _check_file(db)
                wanted = None if noted is None else _as_hash(noted)
                is_noted = wanted is None
                for row in db.execute(f"{database.SELECT} ORDER BY sequence"):
                    good = _follow(good, row, path.parent)
                    is_noted |= good.hash == wanted
                _check_end(anchor, db, path)
                _check_schema(db)
            except _Bad as bad:
                return VerifyResult(
                    ok=False,
                    count=good.sequence,
                    head=good.hash,
                    first_bad=bad.sequence,
                    why=bad.why,
                )
    except AuditError as error:
        return VerifyResult(ok=False, count=good.sequence, head=good.hash, why=str(error))
    if not is_noted:
        return VerifyResult(
            ok=False,
            count=good.sequence,
            head=good.hash,
            why=f"no entry has the hash {wanted}: the log was cut off or rewritten since that head"
            " was noted, or it is another log's",
        )
    return VerifyResult(ok=True, count=good.sequence, head=good.hash)


def check_anchor(db: Connection, anchor: Anchor) -> None:
    """Refuse a log whose end is missing; under its write lock.

    Raises:
        AuditError: the log has not the head that was kept.
    """
    kept = anchor.read()
    why = _against(kept, db, anchor.path)
    if why is not None:
        raise AuditError(
            f"{why}. Nothing is added to it. Restore audit.db and audit.head as they were at one"
            " moment, or move both away to begin a new log"
        )


class _Bad(Exception):
    def __init__(self, sequence: int | None, why: str) -> None:
        self.sequence = sequence
        self.why = why


def _follow(good: Head, row: tuple[object, ...], state_dir: Path) -> Head:
    """Check one row against the head before it, and the files it names; gives the new head."""
    number = good.sequence + 1
    try:
        entry = database.entry(row)
        text = canonical(entry.body)
    except AuditError as error:
        raise _Bad(number, str(error)) from error
    if entry.sequence != number:
        raise _Bad(number, f"entry {number} is missing: {entry.sequence} follows {good.sequence}")
    if not entry.hash.startswith(f"{ALGORITHM}:"):
        raise _Bad(number, f"entry {number} is not hashed with {ALGORITHM}: {entry.hash[:80]}")
    if entry.previous != good.hash:
        raise _Bad(
            number,
            f"entry {number} does not follow {good.sequence}: it names {entry.previous} as the"
            f" hash before it, which is {good.hash}",
        )
    if text != row[4]:
        raise _Bad(number, f"entry {number} was changed: its body is not written as it was")
    if seal_of(entry) != entry.hash:
        raise _Bad(number, f"entry {number} was changed: its hash is not that of its content")
    for why in check_kept(state_dir, entry.body):
        raise _Bad(number, f"entry {number} names a file: {why}")
    return Head(sequence=number, hash=entry.hash)


def _check_file(db: Connection) -> None:
    found = damage(db)
    if found is not None:
        raise _Bad(None, f"the file is damaged: {found}")


def _check_schema(db: Connection) -> None:
    found, written = schema(db), database.schema_as_written()
    for name in sorted(found.keys() | written.keys()):
        if found.get(name) != written.get(name):
            what = "is missing" if name not in found else "is not as it was made"
            raise _Bad(None, f"{name}, which keeps the log append-only, {what}")


def _check_end(anchor: Head | None, db: Connection, path: Path) -> None:
    why = _against(anchor, db, Anchor(path).path)
    if why is not None:
        raise _Bad(None, why)


def _against(kept: Head | None, db: Connection, where: Path) -> str | None:
    """Say how the log differs from the head that was kept; None: it goes at least so far."""
    last = database.head(db)
    if kept is None:
        if last.sequence == 0:
            return None
        return f"{where} is missing: whether the log's end is there cannot be told"
    if kept.sequence > last.sequence:
        return (
            f"the log ends with entry {last.sequence}, and {where} says that there were"
            f" {kept.sequence}: its end is missing"
        )
    row = db.execute("SELECT hash FROM entries WHERE sequence = ?", (kept.sequence,)).fetchone()
    found = Head().hash if kept.sequence == 0 else None if row is None else row[0]
    if found != kept.hash:
        return f"entry {kept.sequence} has not the hash that {where} has of it: it was rewritten"
    return None


def _as_hash(noted: str) -> str:
    return noted if ":" in noted else f"{ALGORITHM}:{noted}"
