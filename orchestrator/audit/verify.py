"""Verifies that an audit trail is unchanged.

It detects: an entry that was changed, removed, moved or inserted between others; another hash
algorithm; a body with the same meaning but different text; a removed trigger or index; damage of
the file; and a truncated end, if `audit.head` or a head recorded elsewhere includes it.

It cannot detect: a user with write access who rewrote the whole chain and `audit.head` too, unless
a head was recorded where that user cannot write; an entry with the right hashes that such a user
appended, because the chain has no key; and a last entry that was removed between its append and
the update of `audit.head`, which requires a kill -9 in those milliseconds.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.audit import database
from orchestrator.audit.anchor import Anchor, ChainHead
from orchestrator.audit.entry import ALGORITHM, canonical
from orchestrator.errors import AuditError
from streams.state.sqlite import Connection, damage, schema

_END_UNKNOWN: Final = "it is unknown whether the end of the trail is complete"


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


def verify(db: Connection, path: Path, recorded: str | None = None) -> VerifyResult:
    """Verify the whole chain.

    `recorded` is the hash of a head that was recorded elsewhere, now or earlier.
    """
    good, damaged, first_bad = ChainHead(), None, None
    # Read before the entries: the anchor may only lag behind them.
    kept, unread = _kept(Anchor(path))
    try:
        with database.transaction(db, path, "BEGIN"):
            damaged = _damage(db)
            is_found = recorded is None
            for row in db.execute(f"{database.SELECT} ORDER BY sequence"):
                good = _follow(good, row)
                is_found |= good.hash == recorded
            _require(damaged)
            if unread is None:
                _require(_against(kept, db, Anchor(path).path))
            _require(_schema_change(db))
        why = unread or ""
        if not is_found:
            why = (
                f"no entry has the hash {recorded}: the trail was truncated or rewritten since that"
                " head was recorded, or the head is of another trail"
            )
    except _Broken as broken:
        first_bad, why = broken.sequence, broken.why
    except AuditError as error:  # a page that cannot be read, which `damaged` names
        why = damaged or str(error)
    return VerifyResult(
        ok=not why, count=good.sequence, head=good.hash, first_bad=first_bad, why=why
    )


def check_anchor(db: Connection, anchor: Anchor) -> None:
    """Reject a trail whose end is missing; call it under the trail's write lock.

    Raises:
        AuditError: the trail does not contain the stored head, or the head cannot be read.
    """
    kept, unread = _kept(anchor)
    why = unread or _against(kept, db, anchor.path)
    if why is not None:
        raise AuditError(
            f"{why}. No entry is added to it. Restore audit.db and audit.head from the same backup,"
            " or end `kraftgate run` and move both away to start a new trail"
        )


def _kept(anchor: Anchor) -> tuple[ChainHead | None, str | None]:
    """Return the stored head, or why it cannot be read."""
    try:
        return anchor.read(), None
    except AuditError as error:
        return None, f"{error}, so {_END_UNKNOWN}"


class _Broken(Exception):
    def __init__(self, sequence: int | None, why: str) -> None:
        self.sequence = sequence
        self.why = why


def _follow(good: ChainHead, row: tuple[object, ...]) -> ChainHead:
    """Check one row against the head before it; return the new head."""
    number = good.sequence + 1
    try:
        entry = database.entry(row)
        text = canonical(entry.body)
    except AuditError as error:
        raise _Broken(number, str(error)) from error
    if entry.sequence != number:
        raise _Broken(
            number, f"entry {number} is missing: {entry.sequence} follows {good.sequence}"
        )
    if not entry.hash.startswith(f"{ALGORITHM}:"):
        raise _Broken(number, f"entry {number} is not hashed with {ALGORITHM}: {entry.hash[:80]}")
    if entry.previous != good.hash:
        raise _Broken(
            number,
            f"entry {number} does not follow {good.sequence}: its previous hash is"
            f" {entry.previous}, and that entry's hash is {good.hash}",
        )
    if text != row[4]:
        raise _Broken(number, f"entry {number} was changed: its body is not canonical JSON")
    if entry.seal() != entry.hash:
        raise _Broken(number, f"entry {number} was changed: its hash does not match its content")
    return ChainHead(sequence=number, hash=entry.hash)


def _damage(db: Connection) -> str | None:
    found = damage(db)
    return None if found is None else f"the file is damaged: {found}"


def _require(why_not: str | None) -> None:
    if why_not is not None:
        raise _Broken(None, why_not)


def _schema_change(db: Connection) -> str | None:
    """Return how the schema differs from that of an unchanged file; None: it does not."""
    found, written = schema(db), database.schema_as_written()
    for name in sorted(found.keys() | written.keys()):
        if found.get(name) != written.get(name):
            what = "is missing" if name not in found else "was changed"
            return f"{name}, which keeps the trail append-only, {what}"
    return None


def _against(kept: ChainHead | None, db: Connection, where: Path) -> str | None:
    """Return how the trail differs from the stored head; None: it contains that head."""
    last = database.head(db)
    if kept is None:
        if last.sequence == 0:
            return None
        return f"{where} is missing: {_END_UNKNOWN}"
    if kept.sequence > last.sequence:
        return (
            f"the trail ends with entry {last.sequence}, but {where} recorded"
            f" {kept.sequence} entries: its end is missing"
        )
    row = db.execute("SELECT hash FROM entries WHERE sequence = ?", (kept.sequence,)).fetchone()
    found = ChainHead().hash if kept.sequence == 0 else None if row is None else row[0]
    if found != kept.hash:
        return f"entry {kept.sequence} has another hash than {where} recorded: it was rewritten"
    return None
