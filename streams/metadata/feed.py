"""The feed of a finished metadata log (`live_feed`: of a live one), and what a feed's end means."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from migration.observed.source_status import SourceStatus
from streams.process.clocks import wall_clock_ms
from streams.process.feed import Feed, Offset
from streams.state.source_status import STATUS_FILE, write_status


class Reach(NamedTuple):
    """The end of the readable data: the number of a log, counted from 1, and an offset in it."""

    log: int
    offset: int

    @classmethod
    def from_json(cls, end: Mapping[str, int]) -> "Reach":
        return cls(end["log"], end["offset"])

    def to_json(self) -> Offset:
        return self._asdict()


class FileFeed(Feed):
    """A finished log: its files do not change, and belong to the operator."""

    def __init__(self, state: Path) -> None:
        self._file = state / STATUS_FILE
        self._damage: str | None = None
        write_status(self._file, SourceStatus(observed_ms=wall_clock_ms(), finished=True))

    def note_damage(self, damage: str) -> None:
        if self._damage is None:
            self._damage = damage
            status = SourceStatus(observed_ms=wall_clock_ms(), error=self._damage, finished=True)
            write_status(self._file, status)
