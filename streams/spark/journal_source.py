"""The sources with a journal: `zookeeper`, `log_dirs` and `jmx`; their offset is its sequence.

The rows have the form of `streams.spark.rows`: cluster, the source's own negative number in place
of a shard, the first fact's sequence number, the packed facts. They pass the shards unchanged.

Options: `cluster` (name), `state` (directory of the journal and of the file with the source's
status), and the configuration of what is observed; empty: there is nothing to observe yet, but the
facts of an earlier run are still read.
"""

import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

from migration.observed.source_status import SourceStatus
from migration.shard.placement import JMX, LOG_DIRS, ZOOKEEPER
from streams.process.feed import Feed, Offset
from streams.spark.source import Source

# Spark unpickles the sources in half a dozen processes that never open a journal; the modules that
# observe something are imported where they are used.
if TYPE_CHECKING:
    from streams.spark.rows import Row
    from streams.state.journal import Journal

FACTS_A_BATCH: Final = 10_000
_FACT_BYTES: Final = 200
"""The approximate size of a fact."""
_Facts: TypeAlias = tuple[str, int, int]
"""A part of a journal: its file, the number before the first fact, the last fact's number."""


@dataclass(frozen=True)
class JournalOptions:
    """The options of a source; `watched` empty: there is nothing to observe yet."""

    cluster: str
    state: Path
    watched: str


class _JournalFeed(Feed):
    """The journal of a source, and the observer of that source."""

    def __init__(
        self, source: "type[JournalSource]", options: JournalOptions, ring: Callable[[], None]
    ) -> None:
        from streams.state.journal import Journal
        from streams.state.source_status import StatusWriter

        self._damage: str | None = None
        with ExitStack() as held:
            journal = Journal(source.file(options), ring)
            self._journal = held.enter_context(closing(journal))
            if options.watched:
                watched = source.watch(options, journal, held)
                file = source.status_file(options.state)
                held.enter_context(StatusWriter(file, lambda: self._status(watched())))
            self._held = held.pop_all()

    def end(self) -> Offset:
        return {"sequence": self._journal.last}

    def retain(self, done: Mapping[str, int]) -> None:
        self._journal.compact(done["sequence"])

    def note_damage(self, damage: str) -> None:
        self._damage = damage

    def _status(self, status: SourceStatus) -> SourceStatus:
        return status if self._damage is None else replace(status, error=self._damage)

    def stop(self) -> None:
        self._held.close()


class JournalSource(Source):
    """A source with a journal. The journal and the status file are named after its format.

    Attributes:
        shard: the negative number of the source in place of a shard.
        option: the name of the option with the configuration of what is observed.
    """

    shard: ClassVar[int]
    option: ClassVar[str]

    def __init__(self, options: Mapping[str, str], feed: Callable[[], Feed]) -> None:
        super().__init__(options, feed)
        self._options = self._parse(options)
        self._readable = 0

    @classmethod
    def open_feed(cls, options: Mapping[str, str], ring: Callable[[], None]) -> Feed:
        """Open the journal, and start observing.

        Raises:
            JournalError: the file is not a journal, or cannot be created.
        """
        return _JournalFeed(cls, cls._parse(options), ring)

    @classmethod
    def status_file(cls, state: Path) -> Path:
        return state / f"{cls.format}.json"

    @classmethod
    def file(cls, options: JournalOptions) -> Path:
        return options.state / f"{cls.format}.db"

    @classmethod
    def _parse(cls, options: Mapping[str, str]) -> JournalOptions:
        return JournalOptions(
            cluster=options["cluster"],
            state=Path(options["state"]),
            watched=options.get(cls.option, ""),
        )

    @staticmethod
    @abstractmethod
    def watch(
        options: JournalOptions, journal: "Journal", held: ExitStack
    ) -> Callable[[], SourceStatus]:
        """Start observing, until `held` is closed; return the function that returns the status.

        Called once. All facts are in the journal once `held` is closed.
        """

    def initial(self) -> Offset:
        return {"sequence": 0}

    def latest(self, start: Mapping[str, int], *, along: bool = False) -> Offset:  # noqa: ARG002
        """Return the end of the next batch, whose facts were read once.

        Raises:
            JournalError: a fact is missing or damaged, or the journal was replaced: Spark would
                repeat a batch that cannot be read, or plan one back to the journal's end.
        """
        if self._feed is None:
            self._feed = self._open_feed()
        end = self._feed.end() or self.initial()
        if end["sequence"] < start["sequence"]:
            from streams.state.journal import JournalError
            from streams.state.recovery import NEW_STORE

            raise JournalError(
                f"{self.file(self._options)} ends with fact {end['sequence']}, but the job has read"
                f" up to {start['sequence']}: it is not the journal that the job read: {NEW_STORE}"
            )
        until = min(end["sequence"], start["sequence"] + FACTS_A_BATCH)
        after = max(start["sequence"], self._readable)
        if until > after:
            from streams.state.journal import require_readable

            require_readable(self.file(self._options), after, until)
            self._readable = until
        return {"sequence": until}

    def has_more(self, start: Mapping[str, int], end: Mapping[str, int]) -> bool:
        return end["sequence"] - start["sequence"] >= FACTS_A_BATCH

    def plan(self, start: Mapping[str, int], end: Mapping[str, int]) -> list[_Facts]:
        return [(str(self.file(self._options)), start["sequence"], end["sequence"])]

    def size(self, part: _Facts) -> int:
        _, after, until = part
        return (until - after) * _FACT_BYTES

    def read(self, part: _Facts) -> "Iterator[Row]":
        """Yield a row for each shard's fact, and one with all others.

        Raises:
            JournalError: the facts are no longer in the journal.
        """
        from streams.spark.rows import ChunkKind, ShardChunk
        from streams.state.fact_codec import pack_row
        from streams.state.journal import read

        path, after, until = part
        cluster = self._options.cluster
        about_cluster = []
        for sequence, shard, packed in read(Path(path), after, until):
            if shard is None:
                about_cluster.append(packed)
            else:
                chunk = ShardChunk(ChunkKind.SEEN, 0, sequence, 0, [(sequence, 0, packed)])
                yield cluster, shard, sequence, chunk.pack()
        yield cluster, self.shard, after + 1, pack_row(until, about_cluster)

    def commit(self, end: Mapping[str, int]) -> None:
        if self._feed is not None:
            self._feed.retain(end)


class ZooKeeperSource(JournalSource):
    """The state of a ZooKeeper ensemble; `ensemble`: see `streams.zookeeper.ensemble`."""

    format = "zookeeper"
    shard = ZOOKEEPER
    option = "ensemble"

    @staticmethod
    def watch(
        options: JournalOptions, journal: "Journal", held: ExitStack
    ) -> Callable[[], SourceStatus]:
        """Watch and read the content, from the end of the journal's facts."""
        from streams.process.clocks import wall_clock_ms
        from streams.zookeeper.content.reader import ContentReader, is_written_by_kraft
        from streams.zookeeper.dirty_topics import DirtyTopics
        from streams.zookeeper.ensemble import parse_ensemble
        from streams.zookeeper.known import Known
        from streams.zookeeper.watcher import ZooKeeperWatcher

        config = parse_ensemble(options.watched)
        dirty = DirtyTopics()
        watcher = ZooKeeperWatcher(
            config,
            Known(journal.kept()),
            journal.append,
            wall_clock_ms,
            touched=lambda names: dirty.touch(names, time.monotonic()),
        )
        content = ContentReader(
            config,
            options.cluster,
            journal.append,
            wall_clock_ms,
            watcher.known.require_cluster,
            should_read=lambda: is_written_by_kraft(watcher.known, wall_clock_ms()),
            dirty=dirty,
        )
        held.enter_context(watcher)
        held.enter_context(content)

        def status() -> SourceStatus:
            status = watcher.status()
            status = replace(status, limits=(*status.limits, *content.limits))
            if content.error is None or status.waiting is not None:
                return status
            # Not an error of the source: without comparisons all other data is still current.
            words = f"the next reading of ZooKeeper's content; the last one failed: {content.error}"
            return replace(status, waiting=words)

        return status


class LogDirsSource(JournalSource):
    """The log directories of the brokers; `brokers`: see `streams.net.listener`.

    The directory `disks/` next to the journal contains the stored state of the disks, and the
    requests for an immediate poll.
    """

    format = "log_dirs"
    shard = LOG_DIRS
    option = "brokers"

    @staticmethod
    def watch(
        options: JournalOptions, journal: "Journal", held: ExitStack
    ) -> Callable[[], SourceStatus]:
        """Poll the brokers, with the stored state."""
        from streams.log_dirs.memory import MEMORY_FILE, Memory
        from streams.log_dirs.poll import LogDirsConfig
        from streams.log_dirs.poller import LogDirsPoller
        from streams.net.listener import parse_listener
        from streams.process.clocks import wall_clock_ms

        config = LogDirsConfig(listener=parse_listener(options.watched), cluster=options.cluster)
        memory = held.enter_context(closing(Memory(options.state / MEMORY_FILE)))
        poller = LogDirsPoller(config, memory, journal.append, wall_clock_ms)
        return held.enter_context(poller).status


class JmxSource(JournalSource):
    """The JMX numbers that operators already collect; `asked`: see `streams.jmx.config`."""

    format = "jmx"
    shard = JMX
    option = "asked"

    @staticmethod
    def watch(
        options: JournalOptions, journal: "Journal", held: ExitStack
    ) -> Callable[[], SourceStatus]:
        """Poll the nodes, or the Prometheus that scrapes them."""
        from streams.jmx.config import parse_jmx
        from streams.jmx.poller import JmxPoller
        from streams.process.clocks import wall_clock_ms

        poller = JmxPoller(parse_jmx(options.watched), journal.append, wall_clock_ms)
        return held.enter_context(poller).status
