"""Decides whether a followed source is current; no other module does."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from migration.assessment.data_source import DataSource
from migration.image.summary import ClusterSummary, Phase
from migration.observed.source_status import (
    NO_STATUS,
    SourceStatus,
    is_current,
    is_silent,
    meaningful_end,
    over_no_ops,
)
from migration.observed.zookeeper import with_heartbeat
from migration.values.timestamps import within

LogData: TypeAlias = Literal[
    "current", "reading", "stale", "no_data", "source_error", "over", "finished"
]
"""What the screens show of the metadata log."""
UNREAD_RECORDS: Final = "committed records have not been read yet"
RUN_IS_SILENT: Final = "`kraftgate run` no longer reports: is it running?"
UNREAD_FACTS: Final = "journaled facts have not been processed yet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Currency:
    """The currency of a cluster's sources at one moment.

    Attributes:
        not_current: a source -> why it is not current; an absent source is current.
        last_ms: when a source last answered, by the wall clock; absent: unknown.
        log_was_read: whether the store has all records that the metadata log had when a controller
            last answered.
        log: the report of the metadata log's source.
    """

    not_current: Mapping[DataSource, str] = field(default_factory=dict)
    last_ms: Mapping[DataSource, int] = field(default_factory=dict)
    log_was_read: bool = True
    log: SourceStatus = NO_STATUS

    def is_current(self, source: DataSource) -> bool:
        return source not in self.not_current


CURRENT: Final = Currency()
"""Each source is current."""


class SourceState(enum.StrEnum):
    """Whether a source is current, and why not."""

    CURRENT = "current"
    NOT_CONFIGURED = "not_configured"
    ERROR = "error"  # it cannot follow the cluster until an operator fixes the cause
    NOT_STARTED = "not_started"  # it never reported
    SILENT = "silent"  # `kraftgate run` no longer reports
    UNANSWERED = "unanswered"  # the cluster does not answer it
    OVER = "over"  # no controller writes the metadata log any more
    BEHIND = "behind"  # the store does not include all of its data
    BLIND = "blind"  # ZooKeeper: changes may have been missed


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCurrency:
    """One followed source at one moment.

    Attributes:
        status: its own report.
        why: why it is not current, in a constant text; None: it is current.
    """

    state: SourceState
    status: SourceStatus = NO_STATUS
    why: str | None = None

    @property
    def answers(self) -> bool:
        """Whether the cluster answers it, even if the store does not include all of its data."""
        return self.state in (SourceState.CURRENT, SourceState.BEHIND, SourceState.BLIND)

    @property
    def is_complete(self) -> bool:
        """Whether no data is missing: it is current, or no controller writes the metadata log."""
        return self.state in (SourceState.CURRENT, SourceState.OVER)


def log_currency(
    summary: ClusterSummary,
    status: SourceStatus,
    now_ms: int,
    unread: str | None = None,
    *,
    configured: bool = True,
    ended: str | None = None,
) -> SourceCurrency:
    """Return the currency of the metadata log.

    `unread`: why the store does not include all of its data, apart from unread records.
    `ended`: as for `reported`.
    """
    state, why = reported(status, now_ms, "controllers", configured=configured, ended=ended)
    skipped = skipped_records(summary)
    if state is SourceState.CURRENT and skipped is not None:
        status = replace(status, error=skipped)
        return SourceCurrency(state=SourceState.ERROR, status=status, why=skipped)
    if state is SourceState.UNANSWERED and is_log_over(summary):
        state = SourceState.OVER
    if state is SourceState.CURRENT:
        why = unread or unread_records(summary, status)
        state = SourceState.CURRENT if why is None else SourceState.BEHIND
    return SourceCurrency(state=state, status=status, why=why)


def skipped_records(summary: ClusterSummary) -> str | None:
    """Return which records the state lacks although they were read, and the fix; None: none.

    Kafka's controllers raise an error at each of them (MetadataDelta, ReplicationControlManager,
    ClusterControlManager), so it is unknown what the cluster's state is after them.
    """
    if summary.contradiction is not None:
        return (
            f"{summary.contradiction}; Kraftgate skipped it, and what it changes is unknown."
            f" {_NEW_STORE}"
        )
    if not summary.unknown_records:
        return None
    return (
        "the metadata log has records of a type that this version of Kraftgate does not know and"
        " skipped, and what they change is unknown. Install a version that knows the cluster's"
        f" metadata.version. {_NEW_STORE}"
    )


_NEW_STORE: Final = (
    "Start with a new store, which reads the state from the controllers again:"
    " `kraftgate help state-and-backup`"
)


def is_log_over(summary: ClusterSummary) -> bool:
    """Return whether ZooKeeper shows that no controller writes the metadata log any more."""
    seen = summary.zookeeper
    shown = seen is not None and seen.seen_ms is not None and seen.blind_since_ms is None
    return shown and summary.phase is Phase.ROLLED_BACK


def unread_records(summary: ClusterSummary, status: SourceStatus) -> str | None:
    """Return a reason if records have been unread for too long; None: they have not.

    A batch takes time, so the store is always some records behind the log. A status without
    `due_offset` is that of an older version: then no record may be unread.
    """
    if status.log != summary.metadata_log:
        return "another metadata log has begun and has not been read yet"
    if (skipped := skipped_records(summary)) is not None:
        return skipped
    if status.finished:
        return None
    due = meaningful_end(status) if status.due_offset is None else status.due_offset
    read = 0 if summary.metadata_offset is None else summary.metadata_offset + 1
    return None if due is not None and read >= due else UNREAD_RECORDS


def with_reports(
    summary: ClusterSummary, sources: Mapping[DataSource, SourceStatus]
) -> ClusterSummary:
    """Return the summary with the values that only a source's report has.

    They change twice a second: the no-op records at the end of the metadata log, and dual write's
    heartbeat.
    """
    log, zookeeper = sources[DataSource.METADATA_LOG], sources[DataSource.ZOOKEEPER]
    offset, at_ms, seen = summary.metadata_offset, summary.observed_ms, summary.zookeeper
    if log.log == summary.metadata_log:
        offset = over_no_ops(log, offset)
    if offset != summary.metadata_offset and log.record_ms is not None:
        at_ms = within(log.record_ms)
    return replace(
        summary,
        metadata_offset=offset,
        observed_ms=at_ms,
        zookeeper=None if seen is None else with_heartbeat(seen, zookeeper),
    )


def reported(
    status: SourceStatus, now_ms: int, key: str, *, configured: bool, ended: str | None = None
) -> tuple[SourceState, str | None]:
    """Return the state from the source's own report, and why it is not current.

    `ended`: why no `kraftgate run` reports, although its last report is recent.
    """
    if not configured:
        return SourceState.NOT_CONFIGURED, f"`{key}` is not configured"
    if status.error is not None:
        return SourceState.ERROR, status.error
    if status == NO_STATUS:
        return SourceState.NOT_STARTED, "nothing was observed yet: is `kraftgate run` running?"
    if is_silent(status, now_ms) or (ended is not None and not status.finished):
        return SourceState.SILENT, ended or RUN_IS_SILENT
    if not is_current(status, now_ms):
        return SourceState.UNANSWERED, status.waiting or "it no longer answers"
    return SourceState.CURRENT, None
