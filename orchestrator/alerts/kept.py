"""Which alerts stand, as `kraftgate run` last told: `clusters/NAME/alerts.json` beside the store.

`status` reads it, and so does the next run: what stood stands until it is known to be over, and
what is pending goes on if nobody stopped looking for long.
"""

from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from migration.assessment.alerts import NOTHING_STANDS, Standings
from streams.state.source_status import replace_text

ALERTS_FILE: Final = "alerts.json"
WRITE_EVERY_MS: Final = 10_000


class _Kept(BaseModel):
    model_config = ConfigDict(extra="ignore")
    standings: Standings


_KEPT: Final = TypeAdapter(_Kept)


class Keeper:
    """Writes the file on every change, and often enough to tell when it was last looked."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._last: Standings | None = None

    def keep(self, now: Standings) -> None:
        """Write it, unless the file says the same since a moment ago.

        Raises:
            OSError: it cannot be written.
        """
        last = self._last
        if last is not None and _which(last) == _which(now) and _age_ms(last, now) < WRITE_EVERY_MS:
            return
        replace_text(self._file, _KEPT.dump_json(_Kept(standings=now)).decode())
        self._last = now


def read(file: Path) -> Standings:
    """Read what was last told; nothing stands where nothing was, or another version told it."""
    try:
        return _KEPT.validate_json(file.read_bytes()).standings
    except (FileNotFoundError, ValidationError):
        return NOTHING_STANDS


def _which(told: Standings) -> set[tuple[str, int | None, bool]]:
    """What stands, without its words: they carry ages."""
    return {(each, one.stands_ms, one.is_known) for each, one in told.all.items()}


def _age_ms(last: Standings, now: Standings) -> int:
    return abs((now.at_ms or 0) - (last.at_ms or 0))
