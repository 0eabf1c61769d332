"""The store in SQLite: the driver of the job writes it, screens and commands read it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import msgpack
from pydantic import TypeAdapter, ValidationError

from migration.image.cluster import ClusterImage
from migration.image.summary import BrokerSummary, ClusterSummary
from migration.metadata import records
from migration.metadata.events import Event, Source
from migration.metadata.records import Record, Stamped
from migration.values.timestamps import within
from streams.state import sqlite
from streams.state.recovery import NEW_STORE
from streams.state.sqlite import (
    Connection,
    connect,
    connect_readonly,
    errors_as,
    format_of,
    schema,
    transaction,
)

FORMAT: Final = 3
"""The format of the tables and of the values that are packed in them."""
_OTHER_VERSION: Final = f"finish with the version that began, or {NEW_STORE}"
KEPT_BATCHES: Final = 1000
"""Spark repeats only the newest batch; the others remain for inspection."""
_OLD_BATCHES: Final = """
DELETE FROM batches WHERE batch_id < ? AND (batch_id, cluster) NOT IN (
    SELECT max(batch_id), cluster FROM batches, json_each(place) GROUP BY cluster, key
)
"""
"""All but the last batch of each source: `place` reads it, however long the source is quiet."""
_DELETED_EVERY: Final = 100
"""Batches; finding the last ones reads all that are kept."""
EVENT: Final = "sequence, metadata_offset, timestamp_ms, kind, broker, fields, source, seen_ms"
EventRow: TypeAlias = tuple[int, int | None, int | None, str, int | None, str, str, int | None]


class StoreError(Exception):
    """The store is absent, not a store, of another query, damaged or not writable."""


class StoreNotMade(StoreError):
    """The file exists, but another process has not created its tables yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransitionFile:
    """A Parquet file of replica transitions."""

    path: str
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResult:
    """The result of one batch for one cluster.

    Attributes:
        brokers: the broker summaries that changed.
        gone: ids of the brokers that no longer exist.
        place: the position up to which each source was read, by the name of the source.
    """

    cluster: str
    image: ClusterImage
    summary: ClusterSummary
    brokers: Sequence[BrokerSummary]
    gone: Sequence[int]
    place: Mapping[str, int]
    events: Sequence[Event]
    files: Sequence[TransitionFile]


class Store:
    """One store. Use `open` to write and `open_readonly` to read."""

    def __init__(self, connection: Connection, path: Path) -> None:
        self._db = connection
        self._path = path

    @classmethod
    def open(cls, path: Path) -> "Store":
        """Open the store for writing; create it if it is missing.

        Raises:
            StoreError: the file is not a database, has another format, or cannot be created.
        """
        with errors_as(StoreError, f"{path} cannot be opened as the store", if_damaged=NEW_STORE):
            db = connect(path)
            _check_format(db, path)
            made = resources.files("streams.state").joinpath("schema.sql").read_text("utf-8")
            # In one transaction: no reader sees tables without a format.
            db.executescript(f"BEGIN;{made}PRAGMA user_version = {FORMAT};COMMIT;")
        return cls(db, path)

    @classmethod
    def open_readonly(cls, path: Path) -> "Store":
        """Open an existing store for reading.

        Raises:
            StoreError: there is no store at `path`, or it has another format.
            StoreNotMade: another process is creating the store.
        """
        return cls(open_to_read(path), path)

    def close(self) -> None:
        sqlite.close(self._db)

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def claim(self, query_id: str) -> None:
        """Bind the store to one Spark checkpoint: batch ids are valid only for that checkpoint.

        Raises:
            StoreError: another query filled the store.
        """
        found = self.query()
        if found is None:
            with self._failing("written"), transaction(self._db):
                self._db.execute("INSERT INTO meta VALUES ('query', ?)", (query_id,))
        elif found != query_id:
            raise StoreError(
                "the store and the Spark checkpoint of this state directory belong to different "
                f"queries (store {found}, checkpoint {query_id}): {NEW_STORE}"
            )

    def query(self) -> str | None:
        """Return the query that fills the store; None: none has begun."""
        rows = self._rows("SELECT value FROM meta WHERE key = 'query'")
        return str(rows[0][0]) if rows else None

    def applied(self, batch_id: int) -> dict[str, dict[str, int]]:
        """Return the place by cluster of a batch; empty: the batch is not in the store."""
        rows = self._rows("SELECT cluster, place FROM batches WHERE batch_id = ?", (batch_id,))
        return {cluster: json.loads(place) for cluster, place in rows}

    def place(self, cluster: str, source: str) -> int:
        """Return the position up to which a source was read; 0: it was not read yet."""
        with self._failing("read"):  # row by row: almost always the first row has it
            rows = self._db.execute(
                "SELECT place FROM batches WHERE cluster = ? ORDER BY batch_id DESC", (cluster,)
            )
            found = (json.loads(place) for (place,) in rows)
            return next((int(each[source]) for each in found if source in each), 0)

    def image(self, cluster: str) -> ClusterImage:
        """Return the latest image of a cluster; an empty image before the first batch."""
        rows = self._rows("SELECT image FROM clusters WHERE cluster = ?", (cluster,))
        return unpack_image(rows[0][0]) if rows else ClusterImage()

    def commit(self, batch_id: int, results: Sequence[BatchResult], now_ms: int) -> None:
        """Write the results of a batch for all clusters in one transaction.

        Raises:
            StoreError: the disk is full, or the file is not writable.
        """
        what = f"batch {batch_id} cannot be written"
        with errors_as(StoreError, what, if_damaged=NEW_STORE), transaction(self._db):
            for result in results:
                self._write(batch_id, result, now_ms)
            if batch_id % _DELETED_EVERY == 0:
                self._db.execute(_OLD_BATCHES, (batch_id - KEPT_BATCHES,))

    def clusters(self) -> list[str]:
        return [row[0] for row in self._rows("SELECT cluster FROM clusters ORDER BY cluster")]

    def summary(self, cluster: str) -> ClusterSummary | None:
        """Return the cluster as of its last committed batch; None before the first batch."""
        with self._failing("read"), transaction(self._db, "BEGIN"):
            rows = self._rows("SELECT summary FROM clusters WHERE cluster = ?", (cluster,))
            brokers = self._rows(
                "SELECT summary FROM brokers WHERE cluster = ? ORDER BY id", (cluster,)
            )
        return read_summary(rows[0][0], [each[0] for each in brokers]) if rows else None

    def events(
        self, cluster: str, after: int = 0, limit: int | None = None, *, newest: bool = False
    ) -> list[tuple[int, Event]]:
        """Return events with their sequence numbers, oldest first.

        Args:
            cluster: the name of the cluster.
            after: only events with a higher sequence number.
            limit: the most events to return; None: all.
            newest: return the newest events up to the limit, instead of the oldest.
        """
        order = "DESC" if newest else "ASC"
        rows = self._rows(
            f"SELECT {EVENT} FROM events "  # noqa: S608
            f"WHERE cluster = ? AND sequence > ? ORDER BY sequence {order} LIMIT ?",
            (cluster, after, -1 if limit is None else limit),
        )
        return [(int(row[0]), read_event(row)) for row in sorted(rows, key=lambda row: int(row[0]))]

    def counts(self, cluster: str, after: int = 0) -> tuple[int, dict[str, int]]:
        """Return the sequence number of the last event, and the number of events by kind.

        `after`: count only events with a higher sequence number; returned if there is none.
        """
        rows = self._rows(
            "SELECT kind, count(*), max(sequence) FROM events "
            "WHERE cluster = ? AND sequence > ? GROUP BY kind",
            (cluster, after),
        )
        last = max((sequence for _, _, sequence in rows), default=after)
        return last, {kind: count for kind, count, _ in rows}

    def of_kinds(self, cluster: str, kinds: Sequence[str]) -> list[Event]:
        """Return the events of these kinds, oldest first."""
        rows = self._rows(
            f"SELECT {EVENT} FROM events "  # noqa: S608
            f"WHERE cluster = ? AND kind IN ({', '.join('?' * len(kinds))}) ORDER BY sequence",
            (cluster, *kinds),
        )
        return [read_event(row) for row in rows]

    def transition_files(self, cluster: str) -> list[TransitionFile]:
        """Return the Parquet files of committed batches, in the order of batch and path."""
        rows = self._rows(
            "SELECT path, rows FROM transition_files WHERE cluster = ? ORDER BY batch_id, path",
            (cluster,),
        )
        return [TransitionFile(path=path, rows=count) for path, count in rows]

    def _write(self, batch_id: int, result: BatchResult, now_ms: int) -> None:
        cluster = result.cluster
        self._db.execute(
            "INSERT INTO batches VALUES (?, ?, ?, ?)",
            (batch_id, cluster, json.dumps(dict(result.place)), now_ms),
        )
        self._db.execute(
            "INSERT OR REPLACE INTO clusters VALUES (?, ?, ?, ?)",
            (cluster, batch_id, pack_image(result.image), summary_json(result.summary)),
        )
        self._db.executemany(
            "INSERT OR REPLACE INTO brokers VALUES (?, ?, ?)",
            [(cluster, each.id, broker_json(each)) for each in result.brokers],
        )
        self._db.executemany(
            "DELETE FROM brokers WHERE cluster = ? AND id = ?",
            [(cluster, each) for each in result.gone],
        )
        self._db.executemany(
            "INSERT INTO events (cluster, batch_id, source, metadata_offset, timestamp_ms, "
            "seen_ms, kind, broker, fields) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    cluster,
                    batch_id,
                    event.source,
                    event.offset,
                    event.timestamp_ms,
                    now_ms if event.seen_ms is None else event.seen_ms,
                    event.kind,
                    event.broker,
                    json.dumps(dict(event.fields)),
                )
                for event in result.events
            ],
        )
        self._db.executemany(
            "INSERT OR REPLACE INTO transition_files VALUES (?, ?, ?, ?)",
            [(each.path, cluster, batch_id, each.rows) for each in result.files],
        )

    def _rows(self, query: str, parameters: Sequence[object] = ()) -> list[Any]:
        with self._failing("read"):
            return self._db.execute(query, parameters).fetchall()

    def _failing(self, what: str) -> AbstractContextManager[None]:
        return errors_as(StoreError, f"{self._path} cannot be {what}", if_damaged=NEW_STORE)


def open_to_read(path: Path) -> Connection:
    """Open the file for reading, as `Store.open_readonly` does.

    Raises:
        StoreError: there is no store at `path`, or it has another format.
        StoreNotMade: another process is creating the store.
    """
    if not path.exists():
        raise StoreError(f"{path} does not exist: nothing has been followed with this state yet")
    with errors_as(StoreError, f"{path} cannot be read as the store", if_damaged=NEW_STORE):
        db = connect_readonly(path)
        if not schema(db):
            raise StoreNotMade(f"{path} is being created")
        db.execute("SELECT 1 FROM clusters LIMIT 1").fetchall()
        _check_format(db, path)
    return db


def read_event(row: EventRow) -> Event:
    _, offset, timestamp_ms, kind, broker, fields, source, seen_ms = row
    return Event(
        offset=offset,
        timestamp_ms=None if timestamp_ms is None else within(timestamp_ms),
        kind=kind,
        broker=broker,
        fields=json.loads(fields),
        source=Source(source),
        seen_ms=seen_ms,
    )


def _check_format(db: Connection, path: Path) -> None:
    found = format_of(db)
    if schema(db) and found != FORMAT:
        raise StoreError(
            f"{path} has format {found}, but this Kraftgate reads {FORMAT}: {_OTHER_VERSION}"
        )


# Images and summaries as bytes: pydantic derives the format from their types. A later version may
# read the bytes, so fields have names, and no pickle is used.
@cache
def _image() -> TypeAdapter[ClusterImage]:
    """Return the adapter; to make it takes longer than to read a summary."""
    return TypeAdapter(ClusterImage)


_CLUSTER: Final = TypeAdapter(ClusterSummary)
_BROKER: Final = TypeAdapter(BrokerSummary)


def pack_image(image: ClusterImage) -> bytes:
    held_back = [
        (each.offset, each.timestamp_ms, type(each.record).__name__, tuple(each.record))
        for each in image.held_back
    ]
    fields = _image().dump_python(replace(image, held_back=()))
    return cast(bytes, msgpack.packb(fields | {"held_back": held_back}, default=_plain))


@contextmanager
def _of_this_version() -> Iterator[None]:
    try:
        yield
    except ValidationError as error:
        raise StoreError(
            f"the store was written by another version of Kraftgate: {_OTHER_VERSION}"
        ) from error


@_of_this_version()
def unpack_image(packed: bytes) -> ClusterImage:
    fields: dict[str, Any] = msgpack.unpackb(packed, strict_map_key=False, use_list=False)
    held_back = tuple(
        Stamped(offset, timestamp_ms, _record(name, values))
        for offset, timestamp_ms, name, values in fields.pop("held_back")
    )
    return replace(_image().validate_python(fields), held_back=held_back)


def summary_json(summary: ClusterSummary) -> str:
    """Return a cluster's summary as JSON, without its brokers, which have rows of their own."""
    return _CLUSTER.dump_json(replace(summary, brokers=())).decode()


def broker_json(summary: BrokerSummary) -> str:
    return _BROKER.dump_json(summary).decode()


@_of_this_version()
def read_summary(cluster: str, brokers: list[str]) -> ClusterSummary:
    """Return a cluster's summary with its brokers, from the JSON of both."""
    read = tuple(_BROKER.validate_json(each) for each in brokers)
    return replace(_CLUSTER.validate_json(cluster), brokers=read)


def _record(name: str, values: tuple[object, ...]) -> Record:
    kind: Any = getattr(records, name)
    return cast(Record, kind(*values))


def _plain(value: object) -> object:
    if isinstance(value, frozenset | set):
        return sorted(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"an image holds no {type(value).__name__}")
