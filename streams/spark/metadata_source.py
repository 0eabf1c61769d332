"""The source `kraft_metadata`: a cluster's metadata log, growing or finished.

A live log is first copied to a spool directory (`streams.metadata`), durably and before its offset
is offered; the same code then reads a live log and a file. After the controllers were provisioned
again, the next log is read after the whole previous one; the step between the two is a batch of its
own.

Options: `cluster` (name), `path` (a log's directory or file; for a live source the spool), `state`
(directory of the source's status), `controllers` (JSON of `streams.net.listener`;
absent: there are only the files; empty: there are no controllers yet), `until` (the metadata offset
at which reading ends).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from migration.observed.source_status import SourceStatus
from streams.metadata.offsets import START, StreamOffset, beginning
from streams.process.clocks import wall_clock_ms
from streams.process.feed import Feed, Offset
from streams.spark.source import Source
from streams.state.source_status import STATUS_FILE, write_status

# Spark unpickles the sources in half a dozen processes that never read a byte of a log; the modules
# that read it are imported where they are used, since their import takes longer than a batch.
if TYPE_CHECKING:
    from streams.metadata.index import LogIndex
    from streams.metadata.plan import Planner, Slice
    from streams.spark.rows import Row

_MAX_BATCH_BYTES: Final = 64 * 2**20
"""The maximum size of the log's part in one micro-batch."""
_MAX_BATCH_BYTES_OF_FILES: Final = 256 * 2**20
"""The same for a finished log, which nobody waits for: each batch writes every shard's state."""


@dataclass(frozen=True)
class SourceOptions:
    """The options of the source."""

    cluster: str
    path: Path
    state: Path
    controllers: str | None
    until: int | None

    @property
    def max_batch_bytes(self) -> int:
        return _MAX_BATCH_BYTES_OF_FILES if self.controllers is None else _MAX_BATCH_BYTES

    @property
    def absent(self) -> bool:
        """Whether there is nothing to follow yet."""
        return self.controllers is not None and not self.controllers

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> "SourceOptions":
        until = options.get("until")
        return cls(
            cluster=options["cluster"],
            path=Path(options["path"]),
            state=Path(options["state"]),
            controllers=options.get("controllers"),
            until=None if until is None else int(until),
        )


class _FileFeed(Feed):
    """A finished log: its files do not change, and belong to the operator."""

    def __init__(self, status_file: Path) -> None:
        self._file = status_file
        write_status(self._file, SourceStatus(observed_ms=wall_clock_ms(), finished=True))

    def note_damage(self, damage: str) -> None:
        status = SourceStatus(observed_ms=wall_clock_ms(), error=damage, finished=True)
        write_status(self._file, status)


class KraftMetadata(Source):
    """Offers offsets, plans slices, reads rows."""

    format = "kraft_metadata"
    urgent = True

    def __init__(self, options: Mapping[str, str], feed: Callable[[], Feed]) -> None:
        super().__init__(options, feed)
        self._options = SourceOptions.parse(options)
        self._index: LogIndex | None = None
        self._planner: Planner | None = None
        self._log = 0
        self._is_first = True

    @classmethod
    def open_feed(cls, options: Mapping[str, str], ring: Callable[[], None]) -> Feed:
        """Follow the controllers, if there are any.

        Raises:
            SpoolInUse: another process writes the spool.
            SpoolDamaged: `spool.json` cannot be read.
            WrongCluster: the spool was made from another cluster.
        """
        parsed = SourceOptions.parse(options)
        if parsed.controllers is None:
            return _FileFeed(cls.status_file(parsed.state))
        if parsed.absent:  # nothing is deleted, and a batch that was begun can still be read
            return Feed()
        from streams.metadata.live_feed import LiveFeed

        return LiveFeed(parsed.controllers, parsed.path, parsed.state, ring)

    @classmethod
    def status_file(cls, state: Path) -> Path:
        return state / STATUS_FILE

    def initial(self) -> Offset:
        return START.to_json()

    def latest(self, start: Mapping[str, int], *, along: bool = False) -> Offset:
        """Return the end of the next batch; a file source ends where its files end or have a gap.

        Raises:
            LogGap: as `Planner.latest`, for a live log.
        """
        from streams.metadata.plan import LogGap

        at = StreamOffset.from_json(start)
        if self._options.absent:
            return at.to_json()
        # An earlier process fetched the first ones: whether they are no-ops is not known any more.
        first, self._is_first = self._is_first, False
        feed, index, planner = self._open(at)
        end = feed.end()
        index.refresh(_below(end, at.log))
        try:
            latest = planner.latest(at, self._options.max_batch_bytes, idle=along or first)
        except LogGap as gap:
            if self._options.controllers is not None:
                raise
            feed.note_damage(str(gap))
            return at.to_json()
        if index.damage is not None:
            feed.note_damage(str(index.damage))
        if latest == at and end is not None and end["log"] > at.log and index.damage is None:
            latest = beginning(at.log + 1)
        return latest.to_json()

    def has_more(self, start: Mapping[str, int], end: Mapping[str, int]) -> bool:  # noqa: ARG002
        return False  # its news is urgent: no batch waits with it

    def plan(self, start: Mapping[str, int], end: Mapping[str, int]) -> "list[Slice]":
        from streams.metadata.plan import restart

        at, until = StreamOffset.from_json(start), StreamOffset.from_json(end)
        feed, index, planner = self._open(at)
        if until.log != at.log:
            return [restart(self._options.path, at, until, self._began_ms(until.log))]
        index.refresh(_below(feed.end(), at.log))
        return planner.slices(at, until)

    def size(self, part: "Slice") -> int:
        return part.size

    def read(self, part: "Slice") -> "Iterator[Row]":
        from streams.spark.rows import rows

        return rows(self._options.cluster, part)

    def commit(self, end: Mapping[str, int]) -> None:
        done = StreamOffset.from_json(end)
        if self._feed is not None and self._index is not None:
            self._feed.retain(end)
            if self._log == done.log:
                self._index.forget(done.offset)

    def _open(self, start: StreamOffset) -> "tuple[Feed, LogIndex, Planner]":
        from streams.metadata.index import LogIndex
        from streams.metadata.log_files import log_directory
        from streams.metadata.plan import Planner

        options = self._options
        if self._feed is None:
            if options.controllers is not None:
                _require_copy(log_directory(options.path, start.log), start.offset)
            self._feed = self._open_feed()
        if self._index is None or self._planner is None or self._log != start.log:
            finite = options.controllers is None
            directory = log_directory(options.path, start.log)
            self._index = LogIndex(directory, start, decodes=not finite)
            self._planner = Planner(self._index, finite=finite, until=options.until)
            self._log = start.log
        return self._feed, self._index, self._planner

    def _began_ms(self, log: int) -> int:
        from streams.metadata.spool_info import began_ms

        return 0 if self._options.controllers is None else began_ms(self._options.path, log)


def _require_copy(directory: Path, offset: int) -> None:
    """Check that the log that the job has read up to `offset` exists; its newest part is kept.

    Raises:
        LogGap: it is gone, or was replaced by an empty one. Another cluster's log would otherwise
            be read from that offset.
    """
    from streams.metadata.log_files import list_log
    from streams.metadata.plan import LogGap
    from streams.state.recovery import NEW_STORE

    files = list_log(directory) if directory.is_dir() else None
    if offset and not (files and (files.segments or files.idle or files.checkpoints)):
        raise LogGap(
            f"{directory} has no metadata log, but the job has read one up to offset {offset}:"
            f" {NEW_STORE}"
        )


def _below(end: Offset | None, log: int) -> int | None:
    """Return the offset before which a log may be read, by its feed's end; None: to its end."""
    return end["offset"] if end is not None and end["log"] == log else None
