"""The live feed: a follower of the controllers that copies their log into the spool.

Spark is offered only data that is durable in the spool.
"""

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from migration.observed.source_status import STALE_AFTER_MS, SourceStatus, meaningful_end
from streams.metadata.follower import Follower
from streams.metadata.spool import Position, Spool
from streams.net.listener import parse_listener
from streams.process.feed import Feed, Offset
from streams.state.source_status import STATUS_FILE, StatusWriter


class DueOffset:
    """Remembers the end of the metadata log, to report which records the store must include."""

    def __init__(self) -> None:
        self._log: int | None = None
        self._ends: deque[tuple[float, int]] = deque()

    def of(self, status: SourceStatus, now_s: float) -> int | None:
        """Return the `due_offset` of a status, at a time by the monotonic clock."""
        end = meaningful_end(status)
        if status.log != self._log:
            self._log = status.log
            self._ends.clear()
        if end is None:
            return None
        self._ends.append((now_s, end))
        while len(self._ends) > 1 and (now_s - self._ends[1][0]) * 1000 >= STALE_AFTER_MS:
            self._ends.popleft()
        return min(end, self._ends[0][1])


class LiveFeed(Feed):
    """The follower of one cluster, its spool and its status file.

    `ring`: the follower calls it when there are new records other than no-op records.
    """

    def __init__(
        self, controllers: str, spool: Path, state: Path, ring: Callable[[], None]
    ) -> None:
        self._damage: str | None = None
        self._due = DueOffset()
        self._ring = ring
        self._rung_for: tuple[int, int | None] | None = None
        listener = parse_listener(controllers)
        self._spool = Spool(spool)
        self._follower = Follower(listener, self._spool, self._progressed).start()
        self._status_writer = StatusWriter(state / STATUS_FILE, self._status).start()

    def end(self) -> Offset:
        """Return the end of the spool: the number of its current log, and the offset there.

        Raises:
            FollowerCrashed: the follower's thread ended with an unexpected error.
        """
        log, offset = self._follower.position.reach
        return {"log": log, "offset": offset}

    def retain(self, done: Mapping[str, int]) -> None:
        self._spool.retain(done["offset"], done["log"])

    def _progressed(self, position: Position) -> None:
        news = position.log, position.busy_until
        if position.busy_until is None or news != self._rung_for:
            self._rung_for = news
            self._ring()

    def note_damage(self, damage: str) -> None:
        if self._damage is None:
            self._damage = damage

    def stop(self) -> None:
        self._follower.stop()
        self._status_writer.stop()
        self._spool.close()

    def _status(self) -> SourceStatus:
        status = self._follower.status()
        due = self._due.of(status, time.monotonic())
        return replace(status, due_offset=due, error=self._damage or status.error)
