"""Events from all sources, and their order."""

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter

from migration.metadata.event_kinds import EventKind


class Source(enum.StrEnum):
    """The source of a fact."""

    KRAFT_METADATA = "kraft_metadata"
    ZOOKEEPER = "zookeeper"
    LOG_DIRS = "log_dirs"
    JMX = "jmx"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened.

    Attributes:
        offset: its metadata offset; None: another source reported it.
        timestamp_ms: the cluster's time of the event; None: the cluster does not report one.
        kind: an `EventKind`, unless another version stored it.
        fields: JSON values, by kind.
        seen_ms: when Kraftgate saw it, by Kraftgate's clock; None: it was read from a file.
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
        """The cluster's time; if there is none, the time at which Kraftgate saw it."""
        return self.seen_ms if self.timestamp_ms is None else self.timestamp_ms


def in_time_order(events: Iterable[Event]) -> list[Event]:
    """Return the events in the order of their cluster time, as `timed` has it."""
    return [event for _, event in sorted(timed(events), key=itemgetter(0))]


def timed(events: Iterable[Event]) -> Iterator[tuple[int, Event]]:
    """Yield each event with the time (ms) by which it is sorted.

    Each source's events keep their order: the clock of a new leader may be behind, and ZooKeeper
    has a time for a write, but none for a deletion. An event without a time follows the event
    before it.
    """
    at_ms, last_ms = 0, dict.fromkeys(Source, 0)
    for event in events:
        at_ms = at_ms if event.moment_ms is None else event.moment_ms
        at_ms = last_ms[event.source] = max(last_ms[event.source], at_ms)
        yield at_ms, event


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A record's metadata offset and its timestamp (ms since the epoch)."""

    offset: int
    timestamp_ms: int


class EventCollector:
    """Collects the events of one fact, or of one batch of the metadata log.

    Attributes:
        at_ms: the cluster's time of the fact; None: unknown.
    """

    def __init__(self, source: Source, seen_ms: int | None = None) -> None:
        self._event = partial(Event, source=source, seen_ms=seen_ms)
        self._events: list[Event] = []
        self.at_ms: int | None = None

    @property
    def events(self) -> tuple[Event, ...]:
        return tuple(self._events)

    def add(self, kind: EventKind, broker: int | None = None, /, **fields: object) -> None:
        """Add an event of the fact."""
        event = self._event(
            offset=None, timestamp_ms=self.at_ms, kind=kind, broker=broker, fields=fields
        )
        self._events.append(event)

    def add_before(self, offset: int, kind: str, /, **fields: object) -> None:
        """Add an event that precedes the snapshot that ends there; its time is unknown."""
        event = self._event(offset=offset, timestamp_ms=None, kind=kind, fields=fields)
        self._events.append(event)

    def add_at(self, at: Moment, kind: str, broker: int | None = None, /, **fields: object) -> None:
        """Add an event of a record."""
        event = self._event(
            offset=at.offset, timestamp_ms=at.timestamp_ms, kind=kind, broker=broker, fields=fields
        )
        self._events.append(event)
