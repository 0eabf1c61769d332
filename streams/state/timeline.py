"""Queries rows by their time: counts for the axis of a timeline, and pages for a list.

Tens of thousands of events stay in the file; the cost of a query grows with its result.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from migration.metadata.events import Event, Source
from streams.state.recovery import NEW_STORE
from streams.state.sqlite import Connection, errors_as
from streams.state.store import EVENT, StoreError, open_to_read, read_event

T = TypeVar("T")


class EventPosition(NamedTuple):
    """The position of a row on the axis; origin and sequence order rows of one moment."""

    moment_ms: int
    origin: int
    sequence: int


class EventCount(NamedTuple):
    """The number of rows of one kind in one interval (`stretch`, from 0) and lane."""

    stretch: int
    lane: str
    kind: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """A filter for rows: from_ms <= moment < to_ms; None selects every kind or broker."""

    cluster: str
    from_ms: int
    to_ms: int
    lanes: frozenset[str]
    kind: str | None = None
    broker: int | None = None

    def parameters(self) -> dict[str, object]:
        """Return the parameters of a query; the lanes are `lane0`, `lane1` and so on."""
        return {
            "cluster": self.cluster,
            "from_ms": self.from_ms,
            "to_ms": self.to_ms,
            "kind": self.kind,
            "broker": self.broker,
            **{f"lane{number}": each for number, each in enumerate(sorted(self.lanes))},
        }


class TimedRows(Generic[T]):
    """Reads the rows of one table by their time. A subclass names its columns, in SQL.

    Attributes:
        lanes: the lanes that its rows may have.
        origin: orders the rows of one moment among those of other tables.
        table, columns: what a page selects; the first column is the sequence number.
        moment: ms since the epoch.
        lane: of a row.
        of_broker: whether a row concerns `:broker`.
        read: returns the value of a row of `columns`.
    """

    lanes: ClassVar[frozenset[str]]
    origin: ClassVar[int]
    table: ClassVar[str]
    columns: ClassVar[str]
    moment: ClassVar[str]
    lane: ClassVar[str]
    of_broker: ClassVar[str]
    read: Callable[[Any], T]

    def __init__(self, db: Connection, reading: Callable[[], AbstractContextManager[None]]) -> None:
        """Keep the open file; `reading`: translates the errors of a query."""
        self._db = db
        self._reading = reading

    def close(self) -> None:
        self._db.close()

    def span(self, cluster: str) -> tuple[int, int] | None:
        """Return the moments of the first and the last row, ms since 1970; None: no rows."""
        ((first, last),) = self._rows(
            f"SELECT min({self.moment}), max({self.moment}) FROM {self.table}"  # noqa: S608
            " WHERE cluster = :cluster",
            {"cluster": cluster},
        )
        return None if first is None else (first, last)

    def counts(self, window: EventFilter, stretch_ms: int) -> Iterator[EventCount]:
        """Yield the number of rows by interval of `stretch_ms`, lane and kind."""
        query = (
            f"SELECT ({self.moment} - :from_ms) / :stretch, {self.lane}, kind, count(*)"  # noqa: S608
            f" FROM {self.table} WHERE {self._within(window)} GROUP BY 1, 2, 3 ORDER BY 1"
        )
        parameters = window.parameters() | {"stretch": stretch_ms}
        yield from map(EventCount._make, self._rows(query, parameters))

    def page(
        self, window: EventFilter, limit: int, *, newest: bool, behind: EventPosition | None = None
    ) -> list[tuple[EventPosition, T]]:
        """Return at most `limit` rows in order, after the place `behind` if it is given."""
        parameters = window.parameters() | {"limit": limit}
        beyond = ""
        if behind is not None:
            parameters |= behind._asdict()
            sign = "<" if newest else ">"
            place = ":moment_ms, :origin, :sequence"
            beyond = f" AND ({self.moment}, {self.origin}, sequence) {sign} ({place})"
        order = "DESC" if newest else "ASC"
        query = (
            f"SELECT {self.moment}, {self.columns} FROM {self.table}"  # noqa: S608
            f" WHERE {self._within(window)}{beyond}"
            f" ORDER BY {self.moment} {order}, sequence {order} LIMIT :limit"
        )
        return [
            (EventPosition(moment_ms, self.origin, row[0]), self.read(row))
            for moment_ms, *row in self._rows(query, parameters)
        ]

    def _rows(self, query: str, parameters: Mapping[str, object]) -> list[Any]:
        with self._reading():
            return self._db.execute(query, parameters).fetchall()

    def _within(self, window: EventFilter) -> str:
        lanes = ", ".join(f":lane{number}" for number in range(len(window.lanes)))
        return (
            f"cluster = :cluster AND {self.moment} >= :from_ms AND {self.moment} < :to_ms"
            f" AND (:kind IS NULL OR kind = :kind) AND (:broker IS NULL OR {self.of_broker})"
            f" AND {self.lane} IN ({lanes})"
        )


class EventTimeline(TimedRows[Event]):
    """Reads one store. Every method raises StoreError if the file cannot be read."""

    lanes = frozenset(map(str, Source))
    origin = 0
    table = "events"
    columns = EVENT
    moment = "coalesce(timestamp_ms, seen_ms)"
    lane = "source"
    of_broker = "broker = :broker"
    read = staticmethod(read_event)

    def __init__(self, path: Path) -> None:
        """Open the store for reading.

        Raises:
            StoreError: there is no store at `path`, or it cannot be read.
        """
        reading = partial(errors_as, StoreError, f"{path} cannot be read", if_damaged=NEW_STORE)
        super().__init__(open_to_read(path), reading)
