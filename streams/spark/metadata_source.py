"""`kraft_metadata`: the PySpark Python Data Source over a metadata log, growing or finished.

Spark asks one long-lived process for offsets and partitions (`KraftMetadataReader`), and workers
for rows. That process may pickle the reader, so nothing is opened before the first call. A live log
is first copied to a spool directory (`streams.metadata`), durably and before its offset is offered;
the same code then reads a live log and a file. After the controllers were provisioned again, the
next log is read after the whole previous one; the step between the two is a batch of its own.

Options: `cluster` (name), `path` (a log's directory or file; for a live source the spool), `state`
(directory of the source's status), `controllers` (JSON of `streams.net.listener`;
absent: there are only the files; empty: there are no controllers yet), `bell` and `waits`
(`streams.state.doorbell`), `until` (the metadata offset at which reading ends), `max.batch.bytes`.
"""

import time
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from streams.metadata.offsets import START, StreamOffset, beginning

# Spark unpickles the source in half a dozen processes that never read a byte of the log; the
# modules that read it are imported where they are used, since their import takes longer than a
# batch.
if TYPE_CHECKING:
    from streams.metadata.feed import Feed, Reach
    from streams.metadata.index import LogIndex
    from streams.metadata.plan import Planner, Slice
    from streams.spark.rows import Row
    from streams.state.doorbell import Doorbell

SCHEMA: Final = "cluster STRING, shard INT, ordinal BIGINT, chunk BINARY"
"""The rows of `streams.spark.rows`."""
MAX_BATCH_BYTES: Final = 64 * 2**20
"""The maximum size of the log's part in one micro-batch."""
WAIT_S: Final = 0.8
"""How long one call for the latest offset waits for new records, instead of spinning."""


class InvalidOption(ValueError):
    """The source's options are not valid; raised before the query starts."""


@dataclass(frozen=True)
class SourceOptions:
    """The options of the source."""

    cluster: str
    path: Path
    state: Path
    controllers: str | None
    bell: Path | None
    waits: bool
    until: int | None
    max_batch_bytes: int

    @property
    def absent(self) -> bool:
        """Whether there is nothing to follow yet."""
        return self.controllers is not None and not self.controllers

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> "SourceOptions":
        """Return the validated options.

        Raises:
            InvalidOption: one is missing, or is not the required number.
        """
        missing = [each for each in ("cluster", "path", "state") if not options.get(each)]
        if missing:
            raise InvalidOption(f"kraft_metadata needs the option(s) {', '.join(missing)}")
        until = options.get("until")
        try:
            return cls(
                cluster=options["cluster"],
                path=Path(options["path"]),
                state=Path(options["state"]),
                controllers=options.get("controllers"),
                bell=Path(options["bell"]) if "bell" in options else None,
                waits=options.get("waits") == "true",
                until=None if until is None else int(until),
                max_batch_bytes=int(options.get("max.batch.bytes", str(MAX_BATCH_BYTES))),
            )
        except ValueError as error:
            raise InvalidOption(f"kraft_metadata: {error}") from error


class SlicePartition(InputPartition):
    """One slice of the log for one task."""

    def __init__(self, value: "Slice") -> None:
        super().__init__(value)


class KraftMetadataSource(DataSource):
    """The data source with the format `kraft_metadata`."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._options = SourceOptions.parse(options)

    @classmethod
    def name(cls) -> str:
        return "kraft_metadata"

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: StructType) -> "KraftMetadataReader":  # noqa: ARG002, N802
        return KraftMetadataReader(self._options)


class KraftMetadataReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offers offsets, plans slices, reads rows."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._feed: Feed | None = None
        self._index: LogIndex | None = None
        self._planner: Planner | None = None
        self._log = 0
        self._bell: Doorbell | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Return the start of a new query: the log's beginning, or that of the only segment."""
        from streams.metadata.log_files import list_log

        path = self._options.path
        if self._options.controllers is None and path.is_file():
            segments = list_log(path).segments
            if segments:
                return START._replace(offset=segments[0].base_offset).to_json()
        return START.to_json()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Do nothing: a file source ends where its files end."""

    def latestOffset(  # noqa: N802
        self,
        start: Mapping[str, Any],
        limit: ReadLimit,  # noqa: ARG002
    ) -> dict[str, int]:
        """Return the end of the next batch; wait briefly for one while the log is live."""
        at = StreamOffset.from_json(dict(start))
        if self._options.absent:
            self._wait(_no_data, WAIT_S)
            return at.to_json()
        feed, index, planner = self._open(at)
        deadline = time.monotonic() + WAIT_S
        while True:
            reach = feed.available()
            index.refresh(_below(reach, at.log))
            latest = planner.latest(at, self._options.max_batch_bytes)
            feed.note_damage(index.damage)
            if latest == at and reach is not None and reach.log > at.log and index.damage is None:
                latest = beginning(at.log + 1)
            left = deadline - time.monotonic()
            if latest != at or left <= 0 or not self._wait(partial(_has_data, feed), left):
                return latest.to_json()

    def partitions(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> list[SlicePartition]:
        """Return the slices between two offsets; the same ones again after a crash."""
        from streams.metadata.plan import restart

        at, until = StreamOffset.from_json(dict(start)), StreamOffset.from_json(dict(end))
        if at == until:
            return []  # Spark plans the first batch of a source even without new records
        feed, index, planner = self._open(at)
        if until.log != at.log:
            step = restart(self._options.path, at, until, feed.began_ms(until.log))
            return [SlicePartition(step)]
        index.refresh(_below(feed.available(), at.log))
        return [SlicePartition(each) for each in planner.slices(at, until)]

    def read(self, partition: InputPartition) -> "Iterator[Row]":
        """Yield the rows of one slice; runs on an executor."""
        from streams.spark.rows import rows

        return rows(self._options.cluster, partition.value)

    def commit(self, end: Mapping[str, Any]) -> None:
        """Release everything before `end`."""
        from streams.metadata.feed import Reach

        done = StreamOffset.from_json(dict(end))
        if self._feed is not None and self._index is not None:
            self._feed.retain(Reach(done.log, done.offset))
            if self._log == done.log:
                self._index.forget(done.offset)

    def stop(self) -> None:
        if self._feed is not None:
            self._feed.stop()

    def _wait(self, has_data: Callable[[float], bool], timeout_s: float) -> bool:
        """Return whether this log has new records; the bell of another source ends the wait."""
        if not self._options.waits or self._options.bell is None:
            return False
        if self._bell is None:
            from streams.state.doorbell import Doorbell

            self._bell = Doorbell(self._options.bell)
        return self._bell.wait(has_data, timeout_s)

    def _open(self, start: StreamOffset) -> "tuple[Feed, LogIndex, Planner]":
        from streams.metadata.index import LogIndex
        from streams.metadata.log_files import log_directory
        from streams.metadata.plan import Planner

        options = self._options
        if self._feed is None:
            self._feed = _feed(options)
        if self._index is None or self._planner is None or self._log != start.log:
            self._index = LogIndex(log_directory(options.path, start.log), start)
            finite = options.controllers is None
            self._planner = Planner(self._index, finite=finite, until=options.until)
            self._log = start.log
        return self._feed, self._index, self._planner


def _feed(options: SourceOptions) -> "Feed":
    from streams.metadata.feed import AbsentFeed, FileFeed

    if options.controllers is None:
        return FileFeed(options.state)
    if options.absent:
        return AbsentFeed(options.path)
    from streams.metadata.live_feed import LiveFeed

    # A source that does not wait itself wakes the one that does.
    rings = None if options.waits else options.bell
    return LiveFeed(options.controllers, options.path, options.state, rings)


def _below(reach: "Reach | None", log: int) -> int | None:
    """Return the offset before which a log may be read; None: to its end."""
    return reach.offset if reach is not None and reach.log == log else None


def _no_data(timeout_s: float) -> bool:
    """Wait for the data of a source that has none."""
    time.sleep(timeout_s)
    return False


def _has_data(feed: "Feed", timeout_s: float) -> bool:
    return feed.wait_beyond(feed.available(), timeout_s)
