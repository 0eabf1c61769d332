"""Decides the currency of each source of one snapshot."""

from collections.abc import Mapping
from typing import Final

from migration.assessment.currency import (
    UNREAD_FACTS,
    Currency,
    SourceCurrency,
    SourceState,
    log_currency,
    reported,
)
from migration.assessment.data_source import FOLLOWED, DataSource
from migration.assessment.snapshot import Snapshot
from migration.image.summary import ClusterSummary
from migration.observed.probed import Unknown
from migration.observed.source_status import STALE_AFTER_MS, SourceStatus
from migration.values.durations import duration_text

POLLED_MS_MAX: Final = 30_000
"""An older answer is stale."""
CHECKED_MS_MAX: Final = 1_800_000
"""There are many preflight checks, and their data changes slowly."""
_RESUMING: Final = "it is not followed again yet"


def source_currencies(snapshot: Snapshot) -> Mapping[DataSource, SourceCurrency]:
    """Return the currency of each followed source."""
    return {source: _currency_of(snapshot, source) for source in FOLLOWED}


def currency_of(snapshot: Snapshot, sources: Mapping[DataSource, SourceCurrency]) -> Currency:
    """Return the currency of the followed and the polled sources together.

    JMX that is not configured is left out: nothing depends on it.
    """
    not_current = {
        source: each.why
        for source, each in sources.items()
        if each.why is not None
        and (source is not DataSource.JMX or each.state is not SourceState.NOT_CONFIGURED)
    }
    return Currency(
        not_current={**not_current, **_polled_not_current(snapshot)},
        last_ms={
            source: each.status.last_reply_ms
            for source, each in sources.items()
            if each.status.last_reply_ms is not None
        },
    )


def _currency_of(snapshot: Snapshot, source: DataSource) -> SourceCurrency:
    status, now_ms = snapshot.status(source), snapshot.now_ms
    configured = source in snapshot.configured
    unread = snapshot.not_followed
    if source in snapshot.resuming and not status.finished:
        unread = unread or _RESUMING
    if source is DataSource.METADATA_LOG:
        return log_currency(snapshot.summary, status, now_ms, unread, configured=configured)
    state, why = reported(status, now_ms, _KEYS[source], configured=configured)
    if state is SourceState.CURRENT and (unread := unread or _unprocessed(snapshot, source)):
        state, why = SourceState.BEHIND, unread
    if state is SourceState.CURRENT and source is DataSource.ZOOKEEPER:
        why = _not_seen(snapshot.summary, status)
        state = SourceState.CURRENT if why is None else SourceState.BLIND
    return SourceCurrency(state=state, status=status, why=why)


_KEYS: Final = {
    DataSource.ZOOKEEPER: "zookeeper",
    DataSource.LOG_DIRS: "brokers",
    DataSource.JMX: "jmx",
}


def _unprocessed(snapshot: Snapshot, source: DataSource) -> str | None:
    """Return that the store is behind the source's facts; None: it is not, or only for a moment."""
    journal = snapshot.journals.get(source)
    if journal is None:
        return None
    late = journal.unread_ms is not None and snapshot.now_ms - journal.unread_ms > STALE_AFTER_MS
    return UNREAD_FACTS if late or journal.last is None else None


def _not_seen(summary: ClusterSummary, status: SourceStatus) -> str | None:
    """Return why the store's image of ZooKeeper is not current; None: it is."""
    seen, since_ms = summary.zookeeper, status.whole_since_ms
    if seen is None or seen.seen_ms is None:
        return "not read yet"
    if seen.blind_since_ms is not None:
        return "its connection was lost: changes may have been missed"
    if since_ms is not None and seen.seen_ms < since_ms:
        return "it is connected again, and the facts read since have not been processed yet"
    return None


def _polled_not_current(snapshot: Snapshot) -> Mapping[DataSource, str]:
    polled, found = snapshot.polled, {}
    if isinstance(polled.log_dirs, Unknown):
        found[DataSource.LOG_DIRS] = polled.log_dirs.why
    for source, answer, oldest_ms in (
        (DataSource.TOPICS, polled.topics, POLLED_MS_MAX),
        (DataSource.SETTINGS, polled.settings, POLLED_MS_MAX),
        (DataSource.QUORUM, polled.quorum, POLLED_MS_MAX),
        (DataSource.PREFLIGHT, polled.preflight, CHECKED_MS_MAX),
    ):
        if isinstance(answer, Unknown):
            found[source] = answer.why
        elif snapshot.now_ms - answer.at_ms > oldest_ms:
            found[source] = f"the last answer is older than {duration_text(oldest_ms)}"
    return found
