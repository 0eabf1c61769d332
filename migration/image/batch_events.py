"""The events of one batch, as they are told."""

from migration.image.brokers import Moment
from migration.metadata.event_kinds import EventKind
from migration.metadata.events import Event
from migration.shard.report import Note


class Events:
    """Collects events."""

    def __init__(self) -> None:
        self._told: list[Event] = []

    def tell(
        self, at: Moment, kind: EventKind, broker: int | None = None, **fields: object
    ) -> None:
        """Something happened."""
        self._told.append(
            Event(
                offset=at.offset,
                timestamp_ms=at.timestamp_ms,
                kind=kind,
                broker=broker,
                fields=fields,
            )
        )

    def note(self, note: Note) -> None:
        """A shard noted something."""
        self._told.append(
            Event(
                offset=note.offset,
                timestamp_ms=note.timestamp_ms,
                kind=note.kind,
                fields=note.fields,
            )
        )

    def in_order(self) -> tuple[Event, ...]:
        """All, in metadata order.

        Held-back records take effect at their transaction's end but stand where they were.
        """
        return tuple(sorted(self._told, key=lambda event: event.offset or 0))
