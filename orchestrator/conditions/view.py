"""What is known of a cluster now, as conditions look at it: the one place for what is current."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, TypeVar

from migration.assessment.conditions import DataSource, View
from migration.assessment.currency import Currency
from migration.assessment.hazards import hazards
from migration.observed.probed import Maybe, Unknown
from migration.observed.source_status import (
    NO_STATUS,
    STALE_AFTER_MS,
    SourceStatus,
    is_current,
    is_silent,
)
from migration.values.durations import duration_text
from orchestrator.conditions.asked import NOTHING_ASKED, Asked
from orchestrator.config_models import ClusterEntry
from orchestrator.following import Snapshot

ASKED_MS_MAX: Final = 30_000
"""An answer that is older says nothing of the present."""
CHECKED_MS_MAX: Final = 1_800_000
"""The checks before the window are many, and what they look at changes slowly."""
_NOTHING: Final[Mapping[DataSource, str]] = MappingProxyType({})

T = TypeVar("T")


def view_of(
    one: Snapshot,
    entry: ClusterEntry,
    now_ms: int,
    *,
    stall_after_ms: int,
    unread: Mapping[DataSource, str] = _NOTHING,
    asked: Asked = NOTHING_ASKED,
    satisfied_since_ms: int | None = None,
) -> View:
    """All that a condition may look at.

    Args:
        one: What was followed.
        entry: What is configured of this cluster.
        now_ms: By the wall clock.
        stall_after_ms: So long without progress, and a held broker needs a person.
        unread: The sources of which something is yet to be read (`Horizons`).
        asked: What was asked for beside it.
        satisfied_since_ms: For `soak`.
    """
    currency = currency_of(one, entry, now_ms, unread)
    return View(
        summary=one.summary,
        now_ms=now_ms,
        stall_after_ms=stall_after_ms,
        not_current={**currency.not_current, **dict(_asked_for(asked, now_ms))},
        limits={
            DataSource.METADATA_LOG: one.status.limits,
            DataSource.ZOOKEEPER: one.zookeeper.limits,
            DataSource.LOG_DIRS: one.log_dirs.limits,
        },
        hazards=hazards(one.summary, now_ms, currency, finalize_is_near=one.finalize_is_near),
        topics=_known(asked.topics),
        settings=_known(asked.settings),
        quorum=_known(asked.quorum),
        preflight=_known(asked.preflight),
        external=asked.external,
        satisfied_since_ms=satisfied_since_ms,
    )


def currency_of(
    one: Snapshot,
    entry: ClusterEntry,
    now_ms: int,
    unread: Mapping[DataSource, str] = _NOTHING,
) -> Currency:
    """Which of the followed sources show the present, and when each last answered.

    `unread`: as for `view_of`.
    """
    not_current = {**unread, **dict(followed_not_current(one, entry, now_ms))}
    said = {
        DataSource.METADATA_LOG: one.status,
        DataSource.ZOOKEEPER: one.zookeeper,
        DataSource.LOG_DIRS: one.log_dirs,
        DataSource.JMX: one.jmx,
    }
    return Currency(
        not_current=not_current,
        last_ms={
            source: status.last_reply_ms
            for source, status in said.items()
            if status.last_reply_ms is not None
        },
    )


def followed_not_current(
    one: Snapshot, entry: ClusterEntry, now_ms: int
) -> Iterator[tuple[DataSource, str]]:
    """Yield what is followed and not current, with the reason; in words that stay the same."""
    why = _why_not(entry.controllers is not None, "controllers", one.status, now_ms)
    if why is None and one.status.log != one.summary.metadata_log:
        why = "another metadata log has begun, and is yet to be read"
    if why is not None:
        yield DataSource.METADATA_LOG, why
    for source, configured, key, status in (
        (DataSource.ZOOKEEPER, entry.zookeeper is not None, "zookeeper", one.zookeeper),
        (DataSource.LOG_DIRS, entry.brokers is not None, "brokers", one.log_dirs),
        (DataSource.JMX, entry.jmx is not None, "jmx", one.jmx),
    ):
        if source is DataSource.JMX and not configured:
            continue
        why = _why_not(configured, key, status, now_ms) or _unprocessed(one, source, now_ms)
        if why is None and source is DataSource.ZOOKEEPER:
            why = _not_seen(one)
        if why is not None:
            yield source, why


def _unprocessed(one: Snapshot, source: DataSource, now_ms: int) -> str | None:
    """Why the store is behind what the source has observed; None: it is not, or by a moment."""
    journal = one.journals.get(str(source))
    if journal is None or journal.unread_ms is None:
        return None
    late = now_ms - journal.unread_ms > STALE_AFTER_MS
    return "journaled facts have not been processed yet" if late else None


def _not_seen(one: Snapshot) -> str | None:
    """Why the store's image of ZooKeeper is not of the present view of it."""
    seen, since_ms = one.summary.zookeeper, one.zookeeper.whole_since_ms
    if seen is None or seen.seen_ms is None:
        return "not read yet"
    if seen.blind_since_ms is not None:
        return "it is not seen: changes may have been missed"
    if since_ms is not None and seen.seen_ms < since_ms:
        return "it was connected again, and what was read since has not been processed yet"
    return None


def _why_not(configured: bool, key: str, status: SourceStatus, now_ms: int) -> str | None:
    if not configured:
        return f"`{key}` is not configured"
    if status.error is not None:
        return status.error
    if status == NO_STATUS:
        return "nothing was observed yet: does `kraftgate run` run?"
    if is_silent(status, now_ms):
        return "`kraftgate run` does not report any more: does it run?"
    if not is_current(status, now_ms):
        return status.waiting or "no answer comes any more"
    return None


def _asked_for(asked: Asked, now_ms: int) -> Iterator[tuple[DataSource, str]]:
    if isinstance(asked.log_dirs, Unknown):
        yield DataSource.LOG_DIRS, asked.log_dirs.why
    for source, answer, oldest_ms in (
        (DataSource.TOPICS, asked.topics, ASKED_MS_MAX),
        (DataSource.SETTINGS, asked.settings, ASKED_MS_MAX),
        (DataSource.QUORUM, asked.quorum, ASKED_MS_MAX),
        (DataSource.PREFLIGHT, asked.preflight, CHECKED_MS_MAX),
    ):
        if isinstance(answer, Unknown):
            yield source, answer.why
        elif now_ms - answer.at_ms > oldest_ms:
            yield source, f"the last answer is older than {duration_text(oldest_ms)}"


def _known(answer: Maybe[T]) -> T | None:
    return None if isinstance(answer, Unknown) else answer
