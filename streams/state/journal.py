"""The journal of one source: facts in the order of observation, durable before Spark gets them.

A fact survives a power cut once `append` has returned (`streams.state.sqlite`). One process
appends; the workers of the job read. Committed facts are compacted as Kafka compacts a topic: the
last fact of each key remains, because a source that restarts must know what it reported.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Final

from migration.observed.facts import Observation, ReplicasBack, ShardFact, ZnodeGone
from migration.observed.znodes import NOTIFICATIONS, parent
from streams.state.fact_codec import FactUnreadable, keepable, key, unpack
from streams.state.recovery import NEW_STORE
from streams.state.sqlite import (
    Connection,
    OperationalError,
    connect,
    connect_readonly,
    errors_as,
    schema,
    transaction,
)

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS facts (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT, over INTEGER NOT NULL,
    shard INTEGER, fact BLOB NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS facts_by_key ON facts (key, sequence);
"""
_SUPERSEDED: Final = """
DELETE FROM facts WHERE sequence IN (
    SELECT old.sequence FROM facts AS new CROSS JOIN facts AS old
    WHERE new.sequence > :done AND old.key = new.key AND old.sequence < new.sequence
    AND old.sequence <= :until
)
"""
"""Only facts since the last compaction can supersede another fact. The query relies on this: a
source may have tens of thousands of facts, and compaction runs several times a second."""
_SAYS_NOTHING: Final = """
DELETE FROM facts WHERE sequence > :done AND sequence <= :until AND (key IS NULL OR over)
"""

COMPACT_AGAIN_S: Final = 60.0
"""How long a journal grows after a compaction that failed. A lock delays each attempt by 10 s."""

_log: Final = logging.getLogger(__name__)


class JournalError(Exception):
    """The journal is unusable: its file is damaged, or is not the one that the job read before."""


class Journal:
    """One source's journal. Thread-safe."""

    def __init__(self, path: Path, ring: Callable[[], None] | None = None) -> None:
        """Open the journal for appending; create it if it is missing.

        `ring`: called after each append.

        Raises:
            JournalError: the file is not a journal, or cannot be created.
        """
        self.path = path
        self._ring = ring
        self._lock = threading.Lock()
        self._compacted = 0
        self._failed_s = float("-inf")
        with errors_as(JournalError, f"{path} cannot be opened as a journal"):
            self._db = connect(path)
            self._db.executescript(_SCHEMA)
            self._last = _last(self._db)

    def append(self, facts: Sequence[Observation]) -> int:
        """Store all facts or none, and return the sequence number of the last one.

        A FactQuarantined, which names the fact, replaces a fact with a value that cannot be stored.

        Raises:
            JournalError: the disk is full, or the file is not writable.
        """
        rows = [
            (key(kept), _is_over(kept), _shard(kept), packed)
            for kept, packed in map(keepable, facts)
        ]
        with self._lock:
            with errors_as(JournalError, f"{self.path} cannot be written"), transaction(self._db):
                self._db.executemany(
                    "INSERT INTO facts (key, over, shard, fact) VALUES (?, ?, ?, ?)", rows
                )
                last = _last(self._db)
            self._last = last
        if self._ring is not None:
            self._ring()
        return self._last

    @property
    def last(self) -> int:
        """The sequence number of the last fact; 0 before the first."""
        with self._lock:
            return self._last

    def kept(self) -> list[Observation]:
        """Return the remaining facts in order: the reports of the source, without shard facts.

        Raises:
            JournalError: a fact is damaged.
        """
        with self._lock, _errors_of_facts(self.path):
            rows = self._db.execute("SELECT fact FROM facts WHERE shard IS NULL ORDER BY sequence")
            return [unpack(packed) for (packed,) in rows]

    def compact(self, until: int) -> None:
        """Delete committed facts up to and including `until`, except the last fact of each key.

        Facts without a key, and facts that end their key, are deleted too. After an error that is
        no damage, such as a full disk or a lock, the facts remain: the first call after
        `COMPACT_AGAIN_S` deletes them.

        Raises:
            JournalError: the file is damaged.
        """
        with self._lock:
            if time.monotonic() < self._failed_s + COMPACT_AGAIN_S:
                return
            stretch = {"done": self._compacted, "until": until}
            with errors_as(JournalError, f"{self.path} cannot be compacted"):
                try:
                    with transaction(self._db):
                        self._db.execute(_SUPERSEDED, stretch)
                        self._db.execute(_SAYS_NOTHING, stretch)
                    self._compacted = max(self._compacted, until)
                except OperationalError as error:
                    self._failed_s = time.monotonic()
                    _log.warning("%s cannot be compacted: %s", self.path, error)

    def close(self) -> None:
        with self._lock:
            self._db.close()


def read(path: Path, after: int, until: int) -> list[tuple[int, int | None, bytes]]:
    """Return the facts after `after` up to `until`: sequence number, shard or None, packed fact.

    Raises:
        JournalError: facts are missing: the file is not the one that offered them.
    """
    with _reading(path) as db:
        rows = db.execute(
            "SELECT sequence, shard, fact FROM facts WHERE sequence > ? AND sequence <= ?"
            " ORDER BY sequence",
            (after, until),
        ).fetchall()
    if len(rows) != until - after:
        raise JournalError(
            f"{path} holds {len(rows)} of the facts {after + 1} to {until} of the next batch:"
            f" {NEW_STORE}"
        )
    return rows


def require_readable(path: Path, after: int, until: int) -> None:
    """Read and decode the facts after `after` up to `until`.

    Raises:
        JournalError: one of them is missing or damaged.
    """
    with _errors_of_facts(path):
        for _, _, packed in read(path, after, until):
            unpack(packed)


def last_sequence(path: Path) -> int:
    """Return the sequence number of the last fact in a journal; 0 before the first.

    Raises:
        JournalError: there is no journal at `path`.
    """
    with _reading(path) as db:
        return _last(db)


def first_behind(path: Path, read: int) -> int | None:
    """Return when the first fact after the number `read` was observed, in ms since 1970.

    None: there is no such fact.

    Raises:
        JournalError: there is no journal at `path`, or the fact is damaged.
    """
    with _reading(path) as db:
        row = db.execute(
            "SELECT fact FROM facts WHERE sequence > ? ORDER BY sequence LIMIT 1", (read,)
        ).fetchone()
        return None if row is None else unpack(row[0]).seen_ms


@contextmanager
def _reading(path: Path) -> Iterator[Connection]:
    if not path.is_file():
        raise JournalError(f"{path} is missing: {NEW_STORE}")
    with _errors_of_facts(path), closing(connect_readonly(path)) as db:
        yield db


def _errors_of_facts(path: Path) -> AbstractContextManager[None]:
    return errors_as(JournalError, f"{path} cannot be read", FactUnreadable)


def _last(db: Connection) -> int:
    if "facts" not in schema(db):  # a journal that is being created has no facts yet
        return 0
    # Not max(sequence): compaction may have deleted the last row.
    row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'facts'").fetchone()
    return int(row[0]) if row else 0


def _is_over(fact: Observation) -> bool:
    """Whether a fact ends its key: after it the key is in the state of one never observed."""
    if isinstance(fact, ZnodeGone):
        return parent(fact.path) != NOTIFICATIONS
    return isinstance(fact, ReplicasBack)


def _shard(fact: Observation) -> int | None:
    return fact.shard if isinstance(fact, ShardFact) else None
