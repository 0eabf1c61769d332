"""Reads entries of the audit trail by time, or by their checkpoint."""

from functools import partial
from pathlib import Path
from typing import Final

from orchestrator.audit import database
from orchestrator.audit.entry import Entry
from streams.state.timeline import TimedRows

LANE: Final = "decisions"
_CHECKPOINT: Final = "json_extract(body, '$.checkpoint')"


class AuditWindow(TimedRows[Entry]):
    """Reads one audit trail.

    Raises:
        NoDataError: there is none yet.
        AuditError: it cannot be read.
    """

    lanes = frozenset({LANE})
    origin = 1
    table = "entries"
    columns = database.COLUMNS
    moment = "at_ms"
    lane = f"'{LANE}'"
    of_broker = (
        f"json_extract(body, '$.broker') = :broker OR {_CHECKPOINT} LIKE '%[' || :broker || ']'"
    )
    read = staticmethod(database.entry)

    def __init__(self, path: Path) -> None:
        db = database.connect_readonly(path)
        super().__init__(db, partial(database.transaction, db, path, "BEGIN"))

    def about(self, cluster: str, checkpoint: str, limit: int) -> list[Entry]:
        """Return the newest entries about a checkpoint and its instances, newest first."""
        asked = {
            "cluster": cluster,
            "checkpoint": checkpoint,
            "instances": f"{checkpoint}[",
            "limit": limit,
        }
        rows = self._rows(
            f"{database.SELECT} WHERE cluster = :cluster AND ({_CHECKPOINT} = :checkpoint"
            f" OR substr({_CHECKPOINT}, 1, length(:instances)) = :instances)"
            " ORDER BY sequence DESC LIMIT :limit",
            asked,
        )
        return list(map(self.read, rows))
