"""Reads entries of the audit trail by time, or by their checkpoint."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from orchestrator.audit import database
from orchestrator.audit.entry import Entry
from streams.state.timeline import EventCount, EventFilter, EventPosition

AUDIT_ORIGIN: Final = 1
LANE: Final = "decisions"
_CHECKPOINT: Final = "json_extract(body, '$.checkpoint')"
_WITHIN: Final = (
    "cluster = :cluster AND at_ms >= :from_ms AND at_ms < :to_ms"
    " AND (:kind IS NULL OR kind = :kind) AND (:broker IS NULL"
    " OR json_extract(body, '$.broker') = :broker"
    f" OR {_CHECKPOINT} LIKE '%[' || :broker || ']')"
)


class AuditWindow:
    """Reads one audit trail.

    Raises:
        NoDataError: there is none yet.
        AuditError: it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db = database.connect_readonly(path)

    def close(self) -> None:
        self._db.close()

    def span(self, cluster: str) -> tuple[int, int] | None:
        """Return when the first and the last entry were written; None: there is none."""
        with database.transaction(self._db, self._path, "BEGIN"):
            first, last = self._db.execute(
                "SELECT min(at_ms), max(at_ms) FROM entries WHERE cluster = ?", (cluster,)
            ).fetchone()
        return None if first is None else (first, last)

    def counts(self, window: EventFilter, stretch_ms: int) -> Iterator[EventCount]:
        """Count the entries by kind and by stretches of this length."""
        query = (
            "SELECT (at_ms - :from_ms) / :stretch, kind, count(*) FROM entries"  # noqa: S608
            f" WHERE {_WITHIN} GROUP BY 1, 2 ORDER BY 1"
        )
        asked = window.parameters() | {"stretch": stretch_ms}
        with database.transaction(self._db, self._path, "BEGIN"):
            rows = self._db.execute(query, asked).fetchall()
        for stretch, kind, count in rows:
            yield EventCount(stretch, LANE, kind, count)

    def page(
        self, window: EventFilter, limit: int, *, newest: bool, behind: EventPosition | None = None
    ) -> list[tuple[EventPosition, Entry]]:
        """Return up to `limit` entries, ordered by time, after a place if one is given."""
        asked = window.parameters() | {"limit": limit}
        beyond = ""
        if behind is not None:
            asked |= {"moment": behind.moment_ms, "origin": behind.origin, "seq": behind.sequence}
            sign = "<" if newest else ">"
            beyond = f" AND (at_ms, {AUDIT_ORIGIN}, sequence) {sign} (:moment, :origin, :seq)"
        order = "DESC" if newest else "ASC"
        found = self._read(
            f"{_WITHIN}{beyond} ORDER BY at_ms {order}, sequence {order} LIMIT :limit", asked
        )
        return [(EventPosition(each.at_ms, AUDIT_ORIGIN, each.sequence), each) for each in found]

    def about(self, cluster: str, checkpoint: str, limit: int) -> list[Entry]:
        """Return the newest entries about a checkpoint and its instances, newest first."""
        asked = {
            "cluster": cluster,
            "checkpoint": checkpoint,
            "instances": f"{checkpoint}[",
            "limit": limit,
        }
        return self._read(
            f"cluster = :cluster AND ({_CHECKPOINT} = :checkpoint"
            f" OR substr({_CHECKPOINT}, 1, length(:instances)) = :instances)"
            " ORDER BY sequence DESC LIMIT :limit",
            asked,
        )

    def _read(self, where: str, asked: dict[str, object]) -> list[Entry]:
        with database.transaction(self._db, self._path, "BEGIN"):
            rows = self._db.execute(f"{database.SELECT} WHERE {where}", asked).fetchall()
        return [database.entry(row) for row in rows]
