"""Verifies that an audit trail is unchanged.

It detects: an entry that was changed, removed, inserted or moved; another hash algorithm; a body
with the same meaning but different text; a removed trigger or index; damage of the file; a file
that an entry names, missing or changed; and a truncated end, if `audit.head` or a head recorded
elsewhere includes it.

It cannot detect: a user with write access who rewrote the whole chain and `audit.head` too, unless
a head was recorded where that user cannot write; and a last entry that was removed between its
append and the update of `audit.head`, which requires a kill -9 in those milliseconds.
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
    """The result of `verify`.

    Attributes:
        count: the number of entries up to the last valid one.
        head: the hash of that last valid entry.
        first_bad: the sequence number of the first invalid entry; None also if the problem is not a
            single entry.
        why: the problem; "": there is none.
    """

    ok: bool
    count: int
    head: str
    first_bad: int | None = None
    why: str = ""


def verify(db: Connection, path: Path, noted: str | None = None) -> VerifyResult:
    """Verify the whole chain.

    `noted` is a head that was recorded elsewhere, now or earlier, with or without `sha256:`.
    """
    good = Head()
    try:
        # Read before the entries: the anchor may only lag behind them.
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
    """Reject a trail whose end is missing; call it under the trail's write lock.

    Raises:
        AuditError: the trail does not contain the stored head.
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
    """Check one row against the head before it, and the files it names; return the new head."""
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
    """Return how the trail differs from the stored head; None: it contains that head."""
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
