"""The watcher's status: plain values, and their store."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from migration.observed.source_status import SourceStatus
from streams.state.source_status import Reason, dated


@dataclass(frozen=True, slots=True, kw_only=True)
class WatcherStatus:
    """The watcher's status. Times are Kraftgate's clock in ms since the epoch.

    Attributes:
        observed_ms: When this status was made.
        last_reply_ms: When ZooKeeper last answered; None before the first answer.
        server: host:port of the connected server; None while not connected.
        session: The session's id; None while there is none.
        sees: Whether the watcher receives every change.
        sees_since_ms: Since when, without a break; None while it does not.
        blind_since_ms: When the view was lost; None while it is current, or when there never was
            one.
        notifications_seen: Log directory notifications read since the start.
        notifications_missed: Those since the start that were deleted unread.
        waiting: Why the view is not current although there may be no error: `starting`,
            `no_zookeeper_reachable`, `reading` or `chroot_missing`.
        error: The problem that an operator must fix: `refused`, `facts_not_kept` or `unexpected`.
        limits: Facts that this watcher cannot observe even without an error, as sentences.
    """

    observed_ms: int
    last_reply_ms: int | None = None
    server: str | None = None
    session: int | None = None
    sees: bool = False
    sees_since_ms: int | None = None
    blind_since_ms: int | None = None
    notifications_seen: int = 0
    notifications_missed: int = 0
    waiting: Reason | None = None
    error: Reason | None = None
    limits: tuple[str, ...] = ()


def source_status(status: WatcherStatus) -> SourceStatus:
    """Return the status in the form common to all sources; fields of a metadata log stay None.

    While the view is not complete, no received data is known to be current.
    """
    return SourceStatus(
        observed_ms=status.observed_ms,
        last_reply_ms=status.last_reply_ms,
        endpoint=status.server,
        waiting=None if status.waiting is None else status.waiting.detail,
        error=None if status.error is None else status.error.detail,
        limits=status.limits,
        whole_since_ms=status.observed_ms if status.sees_since_ms is None else status.sees_since_ms,
    )


class StatusBoard:
    """Holds the status: the watcher's thread writes it, any thread reads it."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        now = clock()
        starting = Reason("starting", "the watcher has not begun yet", now)
        self._status = WatcherStatus(observed_ms=now, waiting=starting)
        self._not_stored: Reason | None = None

    def read(self, not_stored: str | None = None) -> WatcherStatus:
        """Return the current status; `not_stored` (why facts are not stored) is its error."""
        now = self._clock()
        with self._lock:
            reason = None if not_stored is None else ("facts_not_kept", not_stored)
            self._not_stored = reason and dated(*reason, self._not_stored, now)
            error = self._not_stored or self._status.error
            return replace(self._status, observed_ms=now, error=error)

    def settle(self, waiting: tuple[str, str] | None) -> None:
        """Record that everything was read, which ends any error, and any wait but this one."""
        now = self._clock()
        with self._lock:
            still = None if waiting is None else dated(*waiting, self._status.waiting, now)
            self._status = replace(self._status, waiting=still, error=None)

    def update(
        self,
        *,
        answered: bool,
        waiting: tuple[str, str] | None,
        error: tuple[str, str] | None,
        **fields: Any,  # noqa: ANN401 WatcherStatus names and types them
    ) -> None:
        """Update the status; a wait or an error (name and detail) that is not given remains.

        `answered`: whether ZooKeeper answered just now.
        """
        now = self._clock()
        with self._lock:
            was = self._status
            self._status = WatcherStatus(
                observed_ms=now,
                last_reply_ms=now if answered else was.last_reply_ms,
                waiting=dated(*waiting, was.waiting, now) if waiting else was.waiting,
                error=dated(*error, was.error, now) if error else was.error,
                **fields,
            )
