"""Something that happened, wherever it was seen."""

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter

from migration.metadata.event_kinds import EventKind


class Source(enum.StrEnum):
    """Where a fact was seen."""

    KRAFT_METADATA = "kraft_metadata"
    ZOOKEEPER = "zookeeper"
    LOG_DIRS = "log_dirs"
    JMX = "jmx"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened.

    Attributes:
        offset: its metadata offset; None: it was seen beside the metadata log.
        timestamp_ms: when the cluster says that it happened; None: it does not say.
        kind: an `EventKind`, unless another version stored it.
        fields: JSON values, by kind.
        seen_ms: when Kraftgate saw it, by its own clock; None: it was read from a file.
    """

    offset: int | None
    timestamp_ms: int | None
    kind: str
    broker: int | None = None
    fields: Mapping[str, object] = field(default_factory=dict)
    source: Source = Source.KRAFT_METADATA
    seen_ms: int | None = None

    @property
    def moment_ms(self) -> int | None:
        """When it happened, as well as is known."""
        return self.seen_ms if self.timestamp_ms is None else self.timestamp_ms


def in_time_order(events: Iterable[Event]) -> list[Event]:
    """Return the events in the order of their cluster time, whichever source told of them first.

    The metadata log's own events stay in the log's order, also where a new leader's clock is
    behind; an event without a time follows the one before it.
    """
    keyed: list[tuple[int, Event]] = []
    log_ms = at_ms = 0
    for event in events:
        at_ms = at_ms if event.moment_ms is None else event.moment_ms
        if event.source is Source.KRAFT_METADATA:
            at_ms = log_ms = max(log_ms, at_ms)
        keyed.append((at_ms, event))
    return [event for _, event in sorted(keyed, key=itemgetter(0))]


class Told:
    """Collects the events of one fact that was seen beside the metadata log.

    Attributes:
        at_ms: when the cluster says it happened; None while it does not say.
    """

    def __init__(self, source: Source, seen_ms: int) -> None:
        self._source = source
        self._seen_ms = seen_ms
        self.at_ms: int | None = None
        self.events: tuple[Event, ...] = ()

    def tell(self, kind: EventKind, broker: int | None = None, **fields: object) -> None:
        """Something happened."""
        event = Event(
            offset=None,
            timestamp_ms=self.at_ms,
            kind=kind,
            broker=broker,
            fields=fields,
            source=self._source,
            seen_ms=self._seen_ms,
        )
        self.events = (*self.events, event)
