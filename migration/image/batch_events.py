"""The events of one batch, in metadata order."""

from migration.image.brokers import Moment
from migration.metadata.event_kinds import EventKind
from migration.metadata.events import Event
from migration.shard.report import Note


class Events:
    """Collects events."""

    def __init__(self) -> None:
        self._events: list[Event] = []

    def add(self, at: Moment, kind: EventKind, broker: int | None = None, **fields: object) -> None:
        """Add an event."""
        self._events.append(
            Event(
                offset=at.offset,
                timestamp_ms=at.timestamp_ms,
                kind=kind,
                broker=broker,
                fields=fields,
            )
        )

    def note(self, note: Note) -> None:
        """Add the event of a shard."""
        self._events.append(
            Event(
                offset=note.offset,
                timestamp_ms=note.timestamp_ms,
                kind=note.kind,
                fields=note.fields,
            )
        )

    def in_order(self) -> tuple[Event, ...]:
        """Return the events in metadata order.

        Records of a transaction take effect at its end; their events have the records' offsets.
        """
        return tuple(sorted(self._events, key=lambda event: event.offset or 0))
