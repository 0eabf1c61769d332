"""Publishes the events and transitions of the followed clusters to a Kafka topic, exactly once.

A thread reads the store, so a topic that cannot be written delays nothing. The position is part of
each transaction (`streams.kafka.topic_writer`): after a crash, or in another process, the next
writer continues from there. Kafka deletes a position that was not renewed for
`offsets.retention.minutes` (7 days): then a copy in the state directory counts. A new state
directory is published from its beginning.
"""

import hashlib
import json
import logging
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final, Self

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from migration.metadata.events import Event
from orchestrator.config.load import Config
from orchestrator.config.models import Publish
from orchestrator.config.targets import endpoints, security_of
from orchestrator.errors import PublishingError
from orchestrator.run.identity import FollowedIds
from orchestrator.run.reader import STORE_FILE
from streams.kafka.topic_writer import TopicWriter, WriterFenced
from streams.net.errors import LiveError
from streams.process.background import BackgroundThread
from streams.state.files import make_parents, replace_file
from streams.state.store import Store, StoreError, StoreNotMade

RECORDS_MAX: Final = 10_000
"""The limit of one transaction."""
PUBLISHED_FILE: Final = "published.json"
_LOOK_S: Final = 0.5
_AGAIN_S: Final = 10.0
_QUIET_S: Final = 1.0
_STOP_S: Final = 10.0
"""The next start aborts a transaction that was cut off, and publishes its records again."""
_KNOWN_S_MAX: Final = 30.0
"""A cluster id is known after the first answer of the cluster; before that it is no error."""
_log: Final = logging.getLogger(__name__)

Record = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """The published part of a cluster's data.

    Attributes:
        store: the store's query, which a new state directory has of its own.
        sequence: of the last event.
        files: the number of files of transitions that were published whole.
        rows: the number of rows that were published of the next file.
        last: a digest of the last event and file; None: an earlier release wrote the position.
    """

    store: str
    sequence: int = 0
    files: int = 0
    rows: int = 0
    last: str | None = None

    def to_text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, text: str, store: str) -> Self:
        """Return the position of a store; the beginning if the text belongs to another store.

        Raises:
            StoreError: Kraftgate did not write the text.
        """
        try:
            found = TypeAdapter(cls).validate_json(text)
        except ValidationError as error:
            raise StoreError(
                "the position in the topic's cluster was not written by Kraftgate: delete the group"
                " kraftgate-publish-NAME of this cluster there, if nothing else uses it"
            ) from error
        return found if found.store == store else cls(store=store)


class _Stored(BaseModel):
    model_config = ConfigDict(extra="ignore")
    cluster_id: str
    topic: str
    topic_id: str | None = None
    """None: an earlier release wrote the file."""
    position: Position


class PublishedFile:
    """The copy of a cluster's position in a topic, for the time after Kafka has deleted its own.

    It is written after each transaction: it is never ahead of Kafka's position, and after a crash
    it may be one transaction behind it.
    """

    def __init__(self, path: Path, cluster_id: str, topic: str, topic_id: str) -> None:
        """Prepare the copy; `cluster_id` is that of the topic's cluster."""
        self._path, self._cluster_id = path, cluster_id
        self._topic, self._topic_id = topic, topic_id

    def read(self, store: str) -> Position:
        """Return the position; the beginning if there is none of this topic and store.

        Raises:
            StoreError: the file does not contain a position, or the topic was created again.
            OSError: it cannot be read.
        """
        try:
            found = _Stored.model_validate_json(self._path.read_bytes())
        except FileNotFoundError:
            return Position(store=store)
        except ValidationError as error:
            raise StoreError(
                f"{self._path} is damaged, and Kafka has no position of this store: restore the"
                " file, or delete it to publish everything again"
            ) from error
        place = (found.cluster_id, found.topic, found.position.store)
        if place != (self._cluster_id, self._topic, store):
            return Position(store=store)
        if found.topic_id not in (None, self._topic_id):
            raise StoreError(
                f"the topic {self._topic} was deleted and created again: what was published before"
                f" is not in it. Delete {self._path} to publish everything again"
            )
        return found.position

    def write(self, position: Position) -> None:
        """Store a position that Kafka has, so that it survives a power cut.

        Raises:
            OSError: the file cannot be written.
        """
        stored = _Stored(
            cluster_id=self._cluster_id,
            topic=self._topic,
            topic_id=self._topic_id,
            position=position,
        )
        make_parents(self._path, 2)
        replace_file(self._path, stored.model_dump_json())


def event_record(cluster: str, store: str, sequence: int, event: Event) -> Record:
    value = {
        "type": "event",
        "cluster": cluster,
        "store": store,
        "sequence": sequence,
        "source": event.source,
        "kind": event.kind,
        "broker": event.broker,
        "metadata_offset": event.offset,
        "timestamp_ms": event.timestamp_ms,
        "seen_ms": event.seen_ms,
        "fields": dict(event.fields),
    }
    return cluster.encode(), json.dumps(value).encode()


def transition_record(
    cluster: str, store: str, path: str, row: int, columns: dict[str, object]
) -> Record:
    """Return the key and value of a transition; file and row identify it."""
    value = {"type": "transition", "cluster": cluster, "store": store, "file": path, "row": row}
    return cluster.encode(), json.dumps(value | columns).encode()


class ClusterRecords:
    """The records of one cluster, in chunks for transactions."""

    def __init__(self, cluster: str, state_dir: Path) -> None:
        self._cluster, self._state_dir = cluster, state_dir
        self._file: tuple[str, list[dict[str, object]]] = ("", [])

    def store(self) -> str | None:
        """Return the store's query; None: there is no store yet.

        Raises:
            StoreError: the store cannot be read.
        """
        try:
            with Store.open_readonly(self._state_dir / STORE_FILE) as store:
                return store.query()
        except StoreNotMade:
            return None

    def after(self, position: Position) -> tuple[list[Record], Position]:
        """Return the next records, events first, and the position behind them.

        Raises:
            StoreError: the store or a file of transitions cannot be read.
        """
        with Store.open_readonly(self._state_dir / STORE_FILE) as store:
            events = store.events(self._cluster, position.sequence, RECORDS_MAX)
            files = [each.path for each in store.transition_files(self._cluster)]
        found = [
            event_record(self._cluster, position.store, sequence, event)
            for sequence, event in events
        ]
        if events:
            position = replace(position, sequence=events[-1][0])
        while len(found) < RECORDS_MAX and position.files < len(files):
            more, position = self._transitions(
                files[position.files], position, RECORDS_MAX - len(found)
            )
            found += more
        return found, replace(position, last=self._last(position)) if found else position

    def check(self, position: Position) -> None:
        """Check that the store has the last published event and file.

        Raises:
            StoreError: the store is older than they are, has others, or cannot be read.
        """
        last = self._last(position)
        if last is None or position.last not in (None, last):
            raise StoreError(
                f"the last event or file that was published of {self._cluster} is not in the"
                " store: the state directory was restored from a backup. Delete the group"
                f" kraftgate-publish-{self._cluster} in the topic's cluster to continue after the"
                f" position in {PUBLISHED_FILE}; to publish everything again, delete that file, too"
            )

    def _last(self, position: Position) -> str | None:
        """Return the digest of the last event and file; None: the store does not have them."""
        started = position.files + bool(position.rows)
        with Store.open_readonly(self._state_dir / STORE_FILE) as store:
            events = dict(store.events(self._cluster, position.sequence - 1, 1))
            files = store.transition_files(self._cluster)[:started]
        event = events.get(position.sequence)
        if len(files) < started or (event is None and position.sequence):
            return None
        named = [each.path for each in files[-1:]]
        if event is not None:
            named += [event.kind, str(event.offset), str(event.seen_ms)]
        return hashlib.sha256(json.dumps(named).encode()).hexdigest()[:16]

    def _transitions(
        self, path: str, position: Position, count_max: int
    ) -> tuple[list[Record], Position]:
        if self._file[0] != path:
            # Imported when it is needed: this reads Parquet.
            from streams.spark.transition_files import TransitionsUnreadable, transition_rows

            try:
                self._file = path, transition_rows(self._state_dir / "transitions", path)
            except TransitionsUnreadable as error:
                raise StoreError(str(error)) from error
        rows = self._file[1]
        until = min(position.rows + count_max, len(rows))
        found = [
            transition_record(self._cluster, position.store, path, row, rows[row])
            for row in range(position.rows, until)
        ]
        if until == len(rows):
            return found, replace(position, files=position.files + 1, rows=0)
        return found, replace(position, rows=until)


class Publisher(BackgroundThread):
    """Publishes all clusters until it is stopped."""

    def __init__(
        self, config: Config, publish: Publish, followed: Callable[[], FollowedIds]
    ) -> None:
        super().__init__("publisher", _QUIET_S)
        self._bootstrap = endpoints(publish)
        self._security = security_of(publish, "publish.security")
        self._topic = publish.topic
        self._homes = config.state_dir / "clusters"
        self._followed = followed
        self._records = {
            each.name: ClusterRecords(each.name, config.state_dir) for each in config.clusters
        }
        self._writers: dict[str, tuple[TopicWriter, Position]] = {}
        self._files: dict[str, PublishedFile] = {}
        self._targets: set[str] = set()
        self._failing: str | None = None
        self._refused: PublishingError | None = None
        self._began_s = time.monotonic()

    def check(self) -> None:
        """Check that it may publish there.

        Raises:
            PublishingError: it may not.
        """
        if self._refused is not None:
            raise self._refused

    def stop(self) -> None:
        """Stop the thread after a last round, which may take `_STOP_S`."""
        super().stop()
        if self._thread.is_alive():
            _log.warning(
                "waiting up to %.0f s for the topic %s;"
                " what is not published follows at the next start",
                _STOP_S,
                self._topic,
            )
            self._thread.join(_STOP_S)

    def _run(self) -> None:
        pause_s = _LOOK_S
        try:
            while not self._stopping.wait(pause_s):
                pause_s = self._round()
            self._round()
        except PublishingError as error:
            self._refused = error
        except WriterFenced as error:
            _log.error("nothing more is published: %s", error)  # no traceback
        except Exception:  # noqa: BLE001  # a window must not end because of its readers
            _log.exception("nothing more is published")
        finally:
            self._close(self._records)

    def _round(self) -> float:
        """Publish what is new; return how long to wait for the next round."""
        unknown = self._followed().unknown
        if unknown:  # the topic may be in any of them
            if time.monotonic() - self._began_s >= _KNOWN_S_MAX:
                self._hold(f"the cluster id of {', '.join(unknown)} is not known yet; `id` sets it")
            return _LOOK_S
        failed = []
        for cluster in self._records:
            try:
                self._publish(cluster)
            except (StoreError, OSError) as error:  # of this cluster's files
                self._close([cluster])
                failed.append(str(error))
            except LiveError as error:  # of the topic that all are published to
                self._close(self._records)
                failed.append(str(error))
                break
        if failed:
            self._hold(f"{'; '.join(failed)}; next attempt in {_AGAIN_S:.0f} s")
            return _AGAIN_S
        if self._failing is not None:
            _log.warning("publishing to %s works again", self._topic)
            self._failing = None
        return _LOOK_S

    def _hold(self, why: str) -> None:
        if why != self._failing:
            _log.warning("not published: %s", why)
        self._failing = why

    def _publish(self, cluster: str) -> None:
        records = self._records[cluster]
        store = records.store()
        if store is None:
            return
        writer, position = self._writers.get(cluster) or self._connect(cluster, store)
        while True:
            found, position = records.after(position)
            if not found:
                return
            self._check_target()
            writer.write(found, position.to_text(), position.sequence)
            self._files[cluster].write(position)
            self._writers[cluster] = writer, position

    def _connect(self, cluster: str, store: str) -> tuple[TopicWriter, Position]:
        writer = TopicWriter(
            self._bootstrap, self._security, self._topic, f"kraftgate-publish-{cluster}"
        )
        self._writers[cluster] = writer, Position(store=store)
        cluster_id = writer.cluster_id()
        self._targets.add(cluster_id)
        self._check_target()
        path = self._homes / cluster / PUBLISHED_FILE
        file = PublishedFile(path, cluster_id, self._topic, writer.topic_id())
        text = writer.connect()
        position = Position(store=store) if text is None else Position.of(text, store)
        if position == Position(store=store):  # Kafka has none of this store
            position = file.read(store)
        self._records[cluster].check(position)
        file.write(position)  # after a crash it is behind
        self._files[cluster] = file
        self._writers[cluster] = writer, position
        return writer, position

    def _check_target(self) -> None:
        """Check before each write: a source may report another id later.

        Raises:
            PublishingError: the topic is in a cluster that is followed.
        """
        for found in sorted(self._targets & self._followed().ids):
            raise PublishingError(
                f"`publish` names a cluster that is followed (its id is {found}): Kraftgate writes"
                " nothing to it; choose a topic of another cluster"
            )

    def _close(self, clusters: Iterable[str]) -> None:
        for cluster in clusters:
            found = self._writers.pop(cluster, None)
            if found is not None:
                found[0].close()


def publishing(
    config: Config, followed: Callable[[], FollowedIds]
) -> AbstractContextManager["Publisher | None"]:
    """Return the publisher of the configuration, if any; it runs until the block ends."""
    if config.publish is None:
        return nullcontext()
    return Publisher(config, config.publish, followed)
