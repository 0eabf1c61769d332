"""The audit trail in SQLite: every process of the state directory may append, none may change.

An entry that `append` returned survives a power failure (`streams.state.sqlite`). An append reads
the head and adds to it in one write transaction, so several processes make one chain.
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from orchestrator.audit import database
from orchestrator.audit.anchor import Anchor, ChainHead
from orchestrator.audit.entry import BODY_BYTES_MAX, Entry, canonical, plain
from orchestrator.audit.kinds import EntryKind
from orchestrator.audit.verify import VerifyResult, check_anchor, verify
from orchestrator.errors import AuditError
from orchestrator.output.json_value import JsonValue
from orchestrator.redaction.patterns import names_a_secret
from orchestrator.redaction.redactor import MARK, Redactor
from streams.state import sqlite
from streams.state.sqlite import Connection

AUDIT_FILE: Final = "audit.db"


_IDENTIFIERS: Final = frozenset(
    (
        *("checkpoint", "run", "path", "at", "runbook", "sha256", "hooks_sha256", "output_sha256"),
        *("condition", "verdict", "part", "how", "decision", "outcome", "command", "host", "home"),
        *("source", "hazard", "severity", "blocks", "alert", "fingerprint", "login"),
        *("to", "previous", "value"),  # log directories and throttles of moves
    )
)
"""The keys of texts that Kraftgate chooses or compares, or that come from the runbook or the
host."""
_COMPARED: Final = frozenset(("basis", "labels"))
"""The keys of mappings that are compared with the cluster's state, or identify an alert."""
_FREE: Final = "facts"
"""The key of a mapping whose keys come from the cluster."""


class AuditLog:
    """One audit trail. Use `open` to write, `open_readonly` to read. Thread-safe."""

    def __init__(self, db: Connection, path: Path, redactor: Redactor) -> None:
        self._db = db
        self._path = path
        self._redactor = redactor
        self._anchor = Anchor(path)
        self._file = _file_at(path)
        self._mutex = threading.Lock()

    @classmethod
    def open(cls, path: Path, redactor: Redactor | None = None) -> "AuditLog":
        """Open the trail for appending; create it if it does not exist and never did.

        `redactor` knows the secrets that appended entries may contain. Text that resembles a
        secret is redacted in any case.

        Raises:
            AuditError: it cannot be opened or created, is no audit trail, or its end is missing.
        """
        log = cls(database.connect(path), path, redactor or Redactor())
        with log._mutex, log._writing():
            head = log._head()
            if head.sequence == 0 and log._anchor.read() is None:
                log._anchor.write(head)
            check_anchor(log._db, log._anchor)
        return log

    @classmethod
    def open_readonly(cls, path: Path) -> "AuditLog":
        """Open the trail for reading.

        Raises:
            NoDataError: there is no audit trail at `path`.
            AuditError: it cannot be read, or is not an audit trail.
        """
        return cls(database.connect_readonly(path), path, Redactor())

    def close(self) -> None:
        sqlite.close(self._db)

    def __enter__(self) -> "AuditLog":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(
        self,
        cluster: str,
        kind: str,
        body: Mapping[str, JsonValue],
        at_ms: int,
        *,
        fence: int | None = None,
        check: Callable[[], None] | None = None,
    ) -> Entry:
        """Append a redacted entry; it is on the disk when this returns.

        `fence` is the value that `take_fence` returned; None for an entry that any process may
        append, such as an approval. `check` may raise an exception instead; meanwhile no other
        process can append. It must read with `locked_entries`.

        Raises:
            AuditError: another process has taken the fence of this cluster, the body is longer than
                `BODY_BYTES_MAX` or has no canonical JSON, the trail cannot be written, or its end
                is missing. Nothing was appended.
        """
        with self._mutex:
            with self._writing():
                if fence is not None:
                    self._check_fence(cluster, fence)
                if check is not None:
                    check()
                entry = self._add(cluster, kind, body, at_ms)
            self._keep_head()
        return entry

    def take_fence(self, cluster: str, owner: str, at_ms: int) -> int:
        """Take over: from now on, every `append` with an earlier fence of the cluster is rejected.

        Returns:
            the fence, higher than each before; it is an entry of the trail like any other.

        Raises:
            AuditError: the trail cannot be written, or its end is missing.
        """
        with self._mutex:
            with self._writing():
                fence = self._fence(cluster)[0] + 1
                self._add(cluster, EntryKind.FENCE, {"fence": fence, "by": owner}, at_ms)
            self._keep_head()
        return fence

    def fence(self, cluster: str) -> tuple[int, str]:
        """Return the current fence and its owner; 0 and "" if no process has taken one."""
        with self._mutex, self._reading():
            return self._fence(cluster)

    def entries(
        self, cluster: str | None = None, after: int = 0, limit: int | None = None
    ) -> list[Entry]:
        """Return the entries after a sequence number, oldest first; by default of all clusters.

        Raises:
            AuditError: the trail cannot be read.
        """
        with self._mutex, self._reading():
            return self.locked_entries(cluster, after, limit)

    def locked_entries(
        self, cluster: str | None, after: int, limit: int | None = None
    ) -> list[Entry]:
        """Return the same, within `check` of `append`."""
        rows = self._db.execute(
            f"{database.SELECT} WHERE (?1 IS NULL OR cluster = ?1) AND sequence > ?2"
            " ORDER BY sequence LIMIT ?3",
            (cluster, after, -1 if limit is None else limit),
        )
        return [database.entry(row) for row in rows]

    def last(self, cluster: str | None = None, count: int = 1) -> list[Entry]:
        """Return the newest entries, oldest first; by default of all clusters.

        Raises:
            AuditError: the trail cannot be read.
        """
        with self._mutex, self._reading():
            rows = self._db.execute(
                f"{database.SELECT} WHERE (?1 IS NULL OR cluster = ?1)"
                " ORDER BY sequence DESC LIMIT ?2",
                (cluster, count),
            )
            return [database.entry(row) for row in rows][::-1]

    def export(self, cluster: str | None = None, after: int = 0) -> Iterator[str]:
        """Yield the entries as lines of JSON, without line ends, each with its hash.

        Raises:
            AuditError: the trail cannot be read.
        """
        page = self.entries(cluster, after, _PAGE)
        while page:
            yield from (each.line() for each in page)
            page = self.entries(cluster, page[-1].sequence, _PAGE)

    def verify(self, head: str | None = None) -> VerifyResult:
        """Check that the trail is unchanged; see `orchestrator.audit.verify`."""
        with self._mutex:
            return verify(self._db, self._path, head)

    def _add(self, cluster: str, kind: str, body: Mapping[str, JsonValue], at_ms: int) -> Entry:
        check_anchor(self._db, self._anchor)
        self._redactor = self._redactor.refreshed()
        text = canonical(_redacted(plain(body), self._redactor))
        if len(text.encode()) > BODY_BYTES_MAX:
            raise AuditError(
                f"an audit entry ({kind}) of {len(text.encode())} bytes is longer than"
                f" {BODY_BYTES_MAX}"
            )
        head = self._head()
        kept = json.loads(text)
        entry = Entry(
            sequence=head.sequence + 1,
            at_ms=at_ms,
            cluster=cluster,
            kind=kind,
            body=kept,
            previous=head.hash,
            hash="",
        )
        entry = replace(entry, hash=entry.seal())
        self._db.execute(
            "INSERT INTO entries (sequence, at_ms, cluster, kind, body, previous, hash)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (entry.sequence, at_ms, cluster, kind, text, entry.previous, entry.hash),
        )
        return entry

    def _keep_head(self) -> None:
        """Update the anchor after the commit: it must never be ahead of what is on the disk.

        After a kill in between, it lags behind the last entries, and the next append updates it.
        """
        with self._writing():
            self._anchor.write(self._head())

    def _head(self) -> ChainHead:
        return database.head(self._db)

    def _fence(self, cluster: str) -> tuple[int, str]:
        row = self._db.execute(
            f"{database.SELECT} WHERE cluster = ? AND kind = ? ORDER BY sequence DESC LIMIT 1",
            (cluster, EntryKind.FENCE),
        ).fetchone()
        if row is None:
            return 0, ""
        body = database.entry(row).body
        fence, owner = body.get("fence"), body.get("by")
        if type(fence) is not int or not isinstance(owner, str):
            raise AuditError(f"{self._path}: a fence of {cluster} has no valid number and owner")
        return fence, owner

    def _check_fence(self, cluster: str, fence: int) -> None:
        current, owner = self._fence(cluster)
        if fence != current:
            raise AuditError(
                f"{owner or 'nobody'} has the fence {current} of {cluster}, but this process"
                f" {fence}: another orchestrator took over; stop this one"
            )

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self._check_file()
        with database.transaction(self._db, self._path, "BEGIN IMMEDIATE"):
            yield

    @contextmanager
    def _reading(self) -> Iterator[None]:
        self._check_file()
        with database.transaction(self._db, self._path, "BEGIN"):
            yield

    def _check_file(self) -> None:
        """Check that the open file is the one at the path: an entry of a deleted one is lost."""
        if _file_at(self._path) == self._file:
            return
        gone, fix = self._path, "restore audit.db and audit.head from the same backup"
        if not self._path.parent.is_dir():
            gone, fix = self._path.parent, "put the directory back, or restore it from a backup"
        raise AuditError(
            f"{gone} was deleted or replaced while this process used it: end `kraftgate run` if it"
            f" still runs, {fix}, and start `kraftgate run` again"
        )


def _file_at(path: Path) -> tuple[int, int] | None:
    """Return the identity of the file at a path; None: there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


_PAGE: Final = 500


def _redacted(value: JsonValue, redactor: Redactor, key: str = "") -> JsonValue:
    """Redact an entry, or its value of a key, except for names of fields and for identifiers.

    A secret may be a common word, which is part of them.
    """
    if isinstance(value, Mapping) and key != _FREE:
        return {
            _text(name): _text(each)
            if isinstance(each, str) and (name in _IDENTIFIERS or key in _COMPARED)
            else _redacted(each, redactor, name)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [_redacted(each, redactor) for each in value]
    return MARK if isinstance(value, str) and names_a_secret(key) else redactor.body(value)


def _text(value: JsonValue) -> str:
    """Return a text without lone surrogates, which an entry cannot have."""
    return str(value).encode("utf-8", "backslashreplace").decode()
