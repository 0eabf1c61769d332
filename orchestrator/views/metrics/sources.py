"""The metrics of a cluster's sources: whether their data is current, and what is unprocessed."""

from typing import Final

from migration.observed.source_status import NO_STATUS
from orchestrator.run.assessed import Assessed
from orchestrator.views.metrics.exposition import Exposition, Subject

SOURCE: Final = Subject("kraftgate_source", "cluster", "source")

_CURRENT: Final = SOURCE.gauge(
    "current",
    "Whether the data of this source is current. Only for configured sources that the "
    "cluster still has.",
)
_REPLY: Final = SOURCE.gauge("last_reply_timestamp_seconds", "When the source last got an answer.")
_ERROR: Final = SOURCE.gauge("error", "Whether the source has an error that an operator must fix.")
_UNREAD: Final = SOURCE.gauge(
    "unread", "Records or facts that were received and not processed yet."
)


def tell_sources(into: Exposition, one: Assessed) -> None:
    """Add each configured source."""
    name, unread = one.entry.name, one.unread
    for source, status in one.configured.items():
        into.value(_CURRENT, one.assessment.current[source], name, source)
        into.time(_REPLY, status.last_reply_ms, name, source)
        if status != NO_STATUS:
            into.value(_ERROR, status.error is not None, name, source)
        into.value(_UNREAD, unread.get(source), name, source)
