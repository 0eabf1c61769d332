"""Feeds a metadata log to the Spark source: from finished files, or from a follower.

Both write a status file (`streams.state.source_status`).
"""

from pathlib import Path
from typing import NamedTuple

from migration.metadata.transactions import IllegalTransaction
from migration.observed.source_status import SourceStatus
from streams.state.source_status import STATUS_FILE, now_ms, write_status
from streams.wire.errors import WireError

Damage = WireError | IllegalTransaction | None


class Reach(NamedTuple):
    """The end of the readable data: the number of a log, counted from 1, and an offset in it."""

    log: int
    offset: int


class Feed:
    """A feed that provides no new data: `FileFeed`, `AbsentFeed`, or a live one (`live_feed`)."""

    def available(self) -> Reach | None:
        """Return the end of the readable data, with earlier logs whole; None: all that exists."""
        return None

    def began_ms(self, log: int) -> int:  # noqa: ARG002
        """Return when a log began, by its own timestamps, in ms since 1970; 0: unknown."""
        return 0

    def retain(self, reach: Reach) -> None:
        """Allow the feed to delete data before `reach`: Spark has committed it."""

    def note_damage(self, damage: Damage) -> None:
        """Report that the log cannot be read further; None: there is no damage."""

    def stop(self) -> None:
        """Stop all threads and close all files."""


class FileFeed(Feed):
    """A finished log: its files do not change, and belong to the operator."""

    def __init__(self, state: Path) -> None:
        self._file = state / STATUS_FILE
        self._damage: str | None = None
        write_status(self._file, SourceStatus(observed_ms=now_ms(), finished=True))

    def note_damage(self, damage: Damage) -> None:
        if damage is not None and self._damage is None:
            self._damage = str(damage)
            status = SourceStatus(observed_ms=now_ms(), error=self._damage, finished=True)
            write_status(self._file, status)


class AbsentFeed(Feed):
    """A spool without controllers: a started batch can still be read, and nothing is deleted."""

    def __init__(self, spool: Path) -> None:
        self._spool = spool

    def began_ms(self, log: int) -> int:
        """Return when a log of the spool began, as `Spool.began_ms`.

        Raises:
            SpoolDamaged: `spool.json` cannot be read.
        """
        from streams.metadata.spool_info import load

        head = load(self._spool).heads[log - 1]
        return 0 if head is None else head.timestamp_ms
