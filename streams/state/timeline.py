"""Queries events by their time: counts for the axis of a timeline, and pages for a list.

Tens of thousands of events stay in the file; the cost of a query grows with its result.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from migration.metadata.events import Event, Source
from streams.state.recovery import NEW_STORE
from streams.state.sqlite import errors_as
from streams.state.store import EVENT, StoreError, open_to_read, read_event

STORE_ORIGIN: Final = 0
"""Among events of the same moment, those of the store sort before events of other origins."""
_MOMENT: Final = "coalesce(timestamp_ms, seen_ms)"
_WITHIN: Final = (
    f"cluster = :cluster AND {_MOMENT} >= :from_ms AND {_MOMENT} < :to_ms"
    " AND (:kind IS NULL OR kind = :kind) AND (:broker IS NULL OR broker = :broker)"
)


class EventPosition(NamedTuple):
    """The position of an event on the axis; origin and sequence order events of one moment."""

    moment_ms: int
    origin: int
    sequence: int


class EventCount(NamedTuple):
    """The number of events of one kind in one interval (`stretch`, from 0) and lane.

    Attributes:
        lane: for events of the store, the name of their source.
    """

    stretch: int
    lane: str
    kind: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """A filter for events: from_ms <= moment < to_ms; None selects every kind or broker."""

    cluster: str
    from_ms: int
    to_ms: int
    kind: str | None = None
    broker: int | None = None

    def parameters(self) -> dict[str, object]:
        return {
            "cluster": self.cluster,
            "from_ms": self.from_ms,
            "to_ms": self.to_ms,
            "kind": self.kind,
            "broker": self.broker,
        }


class EventTimeline:
    """Reads one store. Every method raises StoreError if the file cannot be read."""

    def __init__(self, path: Path) -> None:
        """Open the store for reading.

        Raises:
            StoreError: there is no store at `path`, or it cannot be read.
        """
        self._path = path
        self._db = open_to_read(path)

    def close(self) -> None:
        self._db.close()

    def span(self, cluster: str) -> tuple[int, int] | None:
        """Return the moments of the first and the last event, ms since 1970; None: no events."""
        ((first, last),) = self._rows(
            f"SELECT min({_MOMENT}), max({_MOMENT}) FROM events WHERE cluster = :cluster",  # noqa: S608
            {"cluster": cluster},
        )
        return None if first is None else (first, last)

    def counts(
        self, window: EventFilter, stretch_ms: int, sources: set[Source]
    ) -> Iterator[EventCount]:
        """Yield the number of events by interval of `stretch_ms`, source and kind."""
        parameters = window.parameters() | {"stretch": stretch_ms}
        query = (
            f"SELECT ({_MOMENT} - :from_ms) / :stretch, source, kind, count(*) FROM events"  # noqa: S608
            f" WHERE {_WITHIN} AND {_of(sources)} GROUP BY 1, 2, 3 ORDER BY 1"
        )
        yield from map(EventCount._make, self._rows(query, parameters))

    def page(
        self,
        window: EventFilter,
        sources: set[Source],
        limit: int,
        *,
        newest: bool,
        behind: EventPosition | None = None,
    ) -> list[tuple[EventPosition, Event]]:
        """Return at most `limit` events in order, after the place `behind` if it is given."""
        parameters = window.parameters() | {"limit": limit}
        beyond = ""
        if behind is not None:
            parameters |= behind._asdict()
            sign = "<" if newest else ">"
            place = ":moment_ms, :origin, :sequence"
            beyond = f" AND ({_MOMENT}, {STORE_ORIGIN}, sequence) {sign} ({place})"
        order = "DESC" if newest else "ASC"
        query = (
            f"SELECT {EVENT} FROM events WHERE {_WITHIN} AND {_of(sources)}{beyond}"  # noqa: S608
            f" ORDER BY {_MOMENT} {order}, sequence {order} LIMIT :limit"
        )
        return [_placed(row[0], read_event(row)) for row in self._rows(query, parameters)]

    def _rows(self, query: str, parameters: dict[str, object]) -> list[Any]:
        with errors_as(StoreError, f"{self._path} cannot be read", if_damaged=NEW_STORE):
            return self._db.execute(query, parameters).fetchall()


def _placed(sequence: int, event: Event) -> tuple[EventPosition, Event]:
    return EventPosition(event.moment_ms or 0, STORE_ORIGIN, sequence), event


def _of(sources: set[Source]) -> str:
    """Return the SQL condition; only names of `Source` get into it."""
    named = ", ".join(f"'{Source(each)}'" for each in sorted(sources))
    return f"source IN ({named})"
