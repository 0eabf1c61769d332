"""The live feed: a follower of the controllers that copies their log into the spool.

Spark is offered only data that is durable in the spool.
"""

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from migration.observed.source_status import STALE_AFTER_MS, SourceStatus, meaningful_end
from migration.observed.zookeeper import BEACON_STALE_MS
from migration.values.timestamps import is_unbroken
from streams.metadata.follower import Follower
from streams.metadata.spool import Position, Spool
from streams.net.listener import parse_listener
from streams.process.feed import Feed, Offset
from streams.state.source_status import STATUS_FILE, StatusWriter


class _Ends(deque[tuple[float, int]]):
    """The ends of the metadata log in the last `limit_ms`, by a monotonic clock, and one before."""

    def __init__(self, limit_ms: int) -> None:
        super().__init__()
        self._limit_ms = limit_ms

    def add(self, now_s: float, end: int) -> None:
        self.append((now_s, end))
        while len(self) > 1 and self._is_due(now_s, self[1]):
            self.popleft()

    def due(self, now_s: float) -> int | None:
        """Return the end `limit_ms` ago; None: the first one is more recent."""
        return self[0][1] if self._is_due(now_s, self[0]) else None

    def _is_due(self, now_s: float, end: tuple[float, int]) -> bool:
        return (now_s - end[0]) * 1000 >= self._limit_ms


class DueOffset:
    """Remembers the end of the metadata log, to report which records the store must include."""

    def __init__(self) -> None:
        self._log: int | None = None
        self._reply_ms: int | None = None
        self._ends = _Ends(STALE_AFTER_MS)

    def of(self, status: SourceStatus, now_s: float) -> int | None:
        """Return the `due_offset` of a status, at a time by the monotonic clock."""
        end = meaningful_end(status)
        before_ms, self._reply_ms = self._reply_ms, status.last_reply_ms
        # After an outage the ends before it show nothing about what was appended meanwhile.
        back = before_ms is not None and not is_unbroken(
            before_ms, status.last_reply_ms or before_ms, STALE_AFTER_MS
        )
        if back or status.log != self._log:
            self._log = status.log
            self._ends.clear()
        if end is None:
            return None
        self._ends.add(now_s, end)
        return min(end, self._ends[0][1])


class DualWriteDue:
    """Remembers the end of the metadata log, to report what dual write must have written."""

    def __init__(self) -> None:
        self._leader: tuple[int, int | None] | None = None
        self._ends = _Ends(BEACON_STALE_MS)

    def of(self, position: Position, now_s: float) -> int | None:
        """Return the `dual_write_due` of a status, at a time by the monotonic clock."""
        tail = position.tail
        leader = None if tail is None or tail.is_control else (position.log, position.epoch)
        if leader != self._leader:
            self._leader = leader
            self._ends.clear()
        if leader is None:
            return None
        self._ends.add(now_s, position.next_offset)
        end = self._ends.due(now_s)
        return None if end is None else end - 1


class LiveFeed(Feed):
    """The follower of one cluster, its spool and its status file.

    `ring`: the follower calls it when there are new records other than no-op records.
    """

    def __init__(
        self, controllers: str, spool: Path, state: Path, ring: Callable[[], None]
    ) -> None:
        self._damage: str | None = None
        self._due = DueOffset()
        self._dual_write_due = DualWriteDue()
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
        status, now_s = self._follower.status(), time.monotonic()
        return replace(
            status,
            due_offset=self._due.of(status, now_s),
            dual_write_due=self._dual_write_due.of(self._spool.position, now_s),
            error=self._damage or status.error,
        )
