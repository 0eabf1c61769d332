"""A live source's report of its own state, and the age of that report.

The source writes a `SourceStatus` next to the store (`source.json`). Each display of a number shows
the age with it, and each gate checks `is_current` first. A file source that reached its end never
becomes stale.
"""

from dataclasses import dataclass
from typing import Final

from migration.values.timestamps import within

STALE_AFTER_MS: Final = 15_000
"""Older data does not show the present: an idle controller writes a no-op every 500 ms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceStatus:
    """One live source at one moment.

    Attributes:
        observed_ms: wall-clock time of this report; 0: there is none.
        last_reply_ms: wall-clock time of a controller's last answer; None before the first.
        log: number of the cluster's metadata log that is followed, counted from 1.
        next_offset: the metadata offset to fetch next.
        busy_until: only no-op records follow from here up to `next_offset`; the job makes no batch
            for them until there are many. None: unknown.
        record_ms: timestamp of the record before `next_offset`. None: unknown.
        record_seen_ms: wall-clock time at which that record arrived, if it had just been written.
            None: unknown.
        high_watermark: the first uncommitted offset, from the last reply.
        due_offset: the store must include all records below it: they have been available for
            `STALE_AFTER_MS`, or since this process began to follow. None: unknown.
        dual_write_due: the metadata offset that `/migration` must have in dual write: that record
            was in the log `BEACON_STALE_MS` ago. None: unknown, or a leader's first record is the
            last one: what precedes it is written at the takeover, and the offset is not.
        active_controller: the node id that leads the metadata quorum.
        leader_epoch: that leader's epoch.
        led_since_ms: since when that leader has answered without a break. None: unknown.
        endpoint: host:port of the last reply.
        cluster_id: as the source's servers reported or accepted it, now or to an earlier process.
        waiting: a description of the pending condition; None while data flows.
        error: why it cannot follow this cluster at all (another cluster id, no authorization).
        finished: a file source that reached its end.
        limits: descriptions of the data that it cannot read although it follows the cluster.
        whole_since_ms: since when its data is complete without a gap; facts that were applied
            before do not show the present. None: not reported.
        migration_mzxid: transaction of the last observed write of a `/migration` that marks the
            copy as complete: a heartbeat of dual write, which is not worth a fact each time.
        migration_version: that write's version of the znode's data.
        migration_offset: the metadata offset in it.
        migration_written_ms: when it was written (`MigrationZnode.written_ms`).
    """

    observed_ms: int
    last_reply_ms: int | None = None
    log: int = 1
    next_offset: int | None = None
    busy_until: int | None = None
    record_ms: int | None = None
    record_seen_ms: int | None = None
    high_watermark: int | None = None
    due_offset: int | None = None
    dual_write_due: int | None = None
    active_controller: int | None = None
    leader_epoch: int | None = None
    led_since_ms: int | None = None
    endpoint: str | None = None
    cluster_id: str | None = None
    waiting: str | None = None
    error: str | None = None
    finished: bool = False
    limits: tuple[str, ...] = ()
    whole_since_ms: int | None = None
    migration_mzxid: int | None = None
    migration_version: int | None = None
    migration_offset: int | None = None
    migration_written_ms: int | None = None


NO_STATUS: Final = SourceStatus(observed_ms=0)
"""No source has ever written a status."""


def stale_ms(status: SourceStatus, now_ms: int) -> int | None:
    """Return the time since a controller last answered; None: none ever did. Never negative."""
    if status.last_reply_ms is None:
        return None
    return max(0, now_ms - status.last_reply_ms)


def is_silent(status: SourceStatus, now_ms: int) -> bool:
    """Return whether the process that follows the cluster stopped writing its status.

    A report with a time in the future was written before the clock was set back.
    """
    return not status.finished and abs(now_ms - status.observed_ms) > STALE_AFTER_MS


def is_current(status: SourceStatus, now_ms: int) -> bool:
    """Return whether the delivered data shows the present; False unless that is known."""
    if status.error is not None:
        return False
    if status.finished:
        return True
    replied_ms = status.last_reply_ms
    if replied_ms is None or is_silent(status, now_ms):
        return False
    return abs(now_ms - replied_ms) <= STALE_AFTER_MS


def controllers_now_ms(status: SourceStatus, now_ms: int) -> int:
    """Return the present by the controllers' clock, whose timestamps the records have.

    Without a record that arrived as soon as it was written, both clocks count as equal.
    """
    if status.record_ms is None or status.record_seen_ms is None:
        return now_ms
    return now_ms - (status.record_seen_ms - within(status.record_ms))


def meaningful_end(status: SourceStatus) -> int | None:
    """Return the offset up to which the metadata log holds more than no-op records.

    The job commits the no-op records at a log's end many at once; they change nothing. None: no
    high watermark is known.
    """
    end, fetched, busy_until = status.high_watermark, status.next_offset, status.busy_until
    if end is None or fetched is None or busy_until is None or fetched < end:
        return end
    return min(end, busy_until)


def behind(status: SourceStatus, metadata_offset: int | None) -> int:
    """Return the number of committed records not yet read; 0 if no high watermark is known."""
    if status.high_watermark is None:
        return 0
    read = 0 if metadata_offset is None else metadata_offset + 1
    return max(0, status.high_watermark - read)


def over_no_ops(status: SourceStatus, metadata_offset: int | None) -> int | None:
    """Return the metadata offset after the no-op records that the job has not committed yet.

    `metadata_offset` itself if another record has not been read, or if that is unknown. Records
    that are committed and not fetched yet may be of any kind.
    """
    end, fetched, busy_until = status.high_watermark, status.next_offset, status.busy_until
    if metadata_offset is None or end is None or fetched is None or busy_until is None:
        return metadata_offset
    if metadata_offset + 1 < min(end, busy_until):
        return metadata_offset
    return max(metadata_offset, min(end, fetched) - 1)
