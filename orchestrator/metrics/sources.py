"""How well a cluster is seen: each source's word on itself, and what of it is taken in."""

from collections.abc import Iterator
from typing import Final

from migration.assessment.conditions import DataSource
from migration.observed.source_status import NO_STATUS, behind
from orchestrator.following import ClusterRead
from orchestrator.metrics.exposition import Exposition, Subject
from orchestrator.run.assessed import Assessed

SOURCE: Final = Subject("kraftgate_source", "cluster", "source")

_CURRENT: Final = SOURCE.gauge(
    "current",
    "Whether what is known from this source is the present; of those that are configured and that"
    " the cluster still has.",
)
_REPLY: Final = SOURCE.gauge("last_reply_timestamp_seconds", "When it last got an answer.")
_ERROR: Final = SOURCE.gauge(
    "error", "Whether it cannot follow the cluster until a person mends something."
)
_UNREAD: Final = SOURCE.gauge(
    "unread", "Records, or facts, that were seen and are yet to be taken in."
)


def tell_sources(into: Exposition, one: Assessed) -> None:
    """Give each source that is configured."""
    name, unread = one.entry.name, dict(unread_of(one.read))
    for source, status in one.configured.items():
        into.value(_CURRENT, one.assessment.is_source_current(source), name, source)
        into.time(_REPLY, status.last_reply_ms, name, source)
        if status != NO_STATUS:
            into.value(_ERROR, status.error is not None, name, source)
        into.value(_UNREAD, unread.get(source), name, source)


def unread_of(one: ClusterRead) -> Iterator[tuple[DataSource, int]]:
    """Yield how much each source has seen that is yet to be taken in."""
    if one.status.high_watermark is not None:
        yield DataSource.METADATA_LOG, behind(one.status, one.summary.metadata_offset)
    for source in (DataSource.ZOOKEEPER, DataSource.LOG_DIRS, DataSource.JMX):
        journal = one.journals.get(source)
        if journal is not None and journal.last is not None:
            yield source, max(0, journal.last - journal.read)
