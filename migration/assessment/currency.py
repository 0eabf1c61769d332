"""Decides whether a followed source shows the present: the only place that does."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from migration.assessment.data_source import DataSource
from migration.image.summary import ClusterSummary, Phase
from migration.observed.source_status import (
    BEHIND_RECORDS,
    NO_STATUS,
    SourceStatus,
    behind,
    is_current,
    is_silent,
)

UNREAD_RECORDS: Final = "committed records have not been read yet"
UNREAD_FACTS: Final = "journaled facts have not been processed yet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Currency:
    """The currency of a cluster's sources at one moment.

    Attributes:
        not_current: a source -> why it does not show the present; an absent source does.
        last_ms: when a source last answered, by the wall clock; absent: not known.
    """

    not_current: Mapping[DataSource, str] = field(default_factory=dict)
    last_ms: Mapping[DataSource, int] = field(default_factory=dict)

    def is_current(self, source: DataSource) -> bool:
        """Whether the source shows the present."""
        return source not in self.not_current


CURRENT: Final = Currency()
"""Every source shows the present."""


class SourceState(enum.StrEnum):
    """Whether a source shows the present, and why not."""

    CURRENT = "current"
    NOT_CONFIGURED = "not_configured"
    ERROR = "error"  # it cannot follow the cluster until an operator fixes something
    NOT_STARTED = "not_started"  # it never reported
    SILENT = "silent"  # `kraftgate run` does not report any more
    UNANSWERED = "unanswered"  # the cluster does not answer it
    OVER = "over"  # nobody writes the metadata log any more
    BEHIND = "behind"  # the store does not include all that it has
    BLIND = "blind"  # ZooKeeper: changes may have been missed


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCurrency:
    """One followed source at one moment.

    Attributes:
        status: what it reports of itself.
        why: why it does not show the present, in words that stay the same; None: it does.
    """

    state: SourceState
    status: SourceStatus = NO_STATUS
    why: str | None = None

    @property
    def answers(self) -> bool:
        """Whether the cluster answers it, also where the store does not include all of it yet."""
        return self.state in (SourceState.CURRENT, SourceState.BEHIND, SourceState.BLIND)


def log_currency(
    summary: ClusterSummary,
    status: SourceStatus,
    now_ms: int,
    unread: str | None = None,
    *,
    configured: bool = True,
) -> SourceCurrency:
    """Decide it for the metadata log.

    `unread`: why the store does not include all of it; None: it does, as far as is known.
    """
    state, why = reported(status, now_ms, "controllers", configured=configured)
    if state is SourceState.UNANSWERED and is_log_over(summary):
        state = SourceState.OVER
    if state is SourceState.CURRENT:
        if status.log != summary.metadata_log:
            why = "another metadata log has begun, and is yet to be read"
        else:
            why = unread
        state = SourceState.CURRENT if why is None else SourceState.BEHIND
    return SourceCurrency(state=state, status=status, why=why)


def is_log_over(summary: ClusterSummary) -> bool:
    """Whether nobody writes the metadata log any more, as ZooKeeper shows now."""
    seen = summary.zookeeper
    shown = seen is not None and seen.seen_ms is not None and seen.blind_since_ms is None
    return shown and summary.phase is Phase.ROLLED_BACK


def unread_records(status: SourceStatus, metadata_offset: int | None) -> str | None:
    """Say that the store does not include the metadata log, by the number of unread records.

    For a reader that has no history: a store that is followed is always some records behind. How
    far the log goes must be known, unless it was read to its end.
    """
    known = status.high_watermark is not None or status.finished
    read = known and behind(status, metadata_offset) <= BEHIND_RECORDS
    return None if read else UNREAD_RECORDS


def reported(
    status: SourceStatus, now_ms: int, key: str, *, configured: bool
) -> tuple[SourceState, str | None]:
    """Decide it by what the source reports of itself."""
    if not configured:
        return SourceState.NOT_CONFIGURED, f"`{key}` is not configured"
    if status.error is not None:
        return SourceState.ERROR, status.error
    if status == NO_STATUS:
        return SourceState.NOT_STARTED, "nothing was observed yet: does `kraftgate run` run?"
    if is_silent(status, now_ms):
        return SourceState.SILENT, "`kraftgate run` does not report any more: does it run?"
    if not is_current(status, now_ms):
        return SourceState.UNANSWERED, status.waiting or "no answer comes any more"
    return SourceState.CURRENT, None
