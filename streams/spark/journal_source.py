"""The data sources with a journal: `zookeeper`, `log_dirs` and `jmx`; their offset is its sequence.

The rows have the form of `streams.spark.rows`: cluster, the source's own negative number in place
of a shard, the first fact's sequence number, the packed facts. They pass the shards unchanged.

Options: `cluster` (name), `state` (directory of the journal and of the file with the source's
status), `bell` and `waits` (`streams.state.doorbell`), and the configuration of what is observed;
empty: there is nothing to observe yet.
"""

import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from migration.observed.source_status import SourceStatus
from migration.shard.placement import JMX, LOG_DIRS, ZOOKEEPER
from streams.spark.metadata_source import SCHEMA, WAIT_S

# Spark unpickles the source in half a dozen processes that never open a journal; the modules that
# observe something are imported where they are used.
if TYPE_CHECKING:
    from streams.state.doorbell import Doorbell
    from streams.state.journal import Journal

FACTS_A_BATCH: Final = 10_000


@dataclass(frozen=True)
class JournalOptions:
    """The options of a source; `watched` empty: there is nothing to observe yet."""

    cluster: str
    state: Path
    bell: Path
    waits: bool
    watched: str

    @classmethod
    def parse(cls, options: Mapping[str, str], watched: str) -> "JournalOptions":
        """Return the validated options; `watched`: the name of the one with the configuration.

        Raises:
            ValueError: one is missing.
        """
        missing = [each for each in ("cluster", "state", "bell") if not options.get(each)]
        if missing:
            raise ValueError(f"the source needs the option(s) {', '.join(missing)}")
        return cls(
            cluster=options["cluster"],
            state=Path(options["state"]),
            bell=Path(options["bell"]),
            waits=options.get("waits") == "true",
            watched=options.get(watched, ""),
        )


class _Facts(InputPartition):
    """A part of a journal: its file, the number before the first fact, the last fact's number."""

    def __init__(self, value: tuple[str, int, int]) -> None:
        super().__init__(value)


class JournalReader(DataSourceStreamReader):
    """Reads the content of the journal, which is opened at the first use."""

    def __init__(self, source: "type[JournalSource]", options: JournalOptions) -> None:
        self._source = source
        self._options = options
        self._journal: Journal | None = None
        self._bell: Doorbell | None = None
        self._held = ExitStack()

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"sequence": 0}

    def latestOffset(  # noqa: N802
        self,
        start: Mapping[str, Any],
        limit: Any,  # noqa: ANN401, ARG002
    ) -> dict[str, int]:
        """Return the offset of the last fact; wait for one only if the option `waits` is set."""
        journal = self._open()
        at = int(start["sequence"])
        if self._bell is not None and self._options.waits:
            self._bell.wait(lambda timeout_s: journal.wait_beyond(at, timeout_s), WAIT_S)
        return {"sequence": min(journal.last, at + FACTS_A_BATCH)}

    def partitions(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> list[_Facts]:
        path = str(self._open().path)
        after, until = int(start["sequence"]), int(end["sequence"])
        return [_Facts((path, after, until))] if until > after else []

    def read(self, partition: InputPartition) -> Iterator[tuple[str, int, int, bytes]]:
        """Yield a row for each shard's fact, and one with all others; runs on an executor.

        Raises:
            JournalError: the facts are no longer in the journal.
        """
        from streams.spark.rows import ChunkKind, ShardChunk
        from streams.state.fact_codec import pack_row
        from streams.state.journal import read

        path, after, until = partition.value
        cluster = self._options.cluster
        about_cluster = []
        for sequence, shard, packed in read(Path(path), after, until):
            if shard is None:
                about_cluster.append(packed)
            else:
                chunk = ShardChunk(ChunkKind.SEEN, 0, sequence, 0, [(sequence, 0, packed)])
                yield cluster, shard, sequence, chunk.pack()
        yield cluster, self._source.shard, after + 1, pack_row(until, about_cluster)

    def commit(self, end: Mapping[str, Any]) -> None:
        """Compact the journal up to `end`, which has been processed."""
        if self._journal is not None:
            self._journal.compact(int(end["sequence"]))

    def stop(self) -> None:
        self._held.close()

    def _open(self) -> "Journal":
        if self._journal is None:
            from streams.state.doorbell import Doorbell
            from streams.state.journal import Journal
            from streams.state.source_status import StatusWriter

            options, name = self._options, self._source.name()
            self._bell = Doorbell(options.bell)
            bell = None if options.waits else self._bell
            journal = Journal(options.state / f"{name}.db", bell)
            self._journal = self._held.enter_context(closing(journal))
            if options.watched:
                status = self._source.watch(options, journal, self._held)
                self._held.enter_context(StatusWriter(options.state / f"{name}.json", status))
        return self._journal


class JournalSource(DataSource):
    """A data source with a journal, which has the name of Spark's format, as has the status file.

    Attributes:
        format: that name.
        shard: the negative number of the source in place of a shard.
        option: the name of the option with the configuration of what is observed.
    """

    format: ClassVar[str]
    shard: ClassVar[int]
    option: ClassVar[str]

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._options = JournalOptions.parse(options, watched=self.option)

    @staticmethod
    @abstractmethod
    def watch(
        options: JournalOptions, journal: "Journal", held: ExitStack
    ) -> Callable[[], SourceStatus]:
        """Start observing, until `held` is closed; return the function that returns the status.

        Called once, in the process that owns the reader. All facts are in the journal once `held`
        is closed.
        """

    @classmethod
    def name(cls) -> str:
        return cls.format

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: StructType) -> JournalReader:  # noqa: ARG002, N802
        """Return the reader; nothing is opened yet."""
        return JournalReader(type(self), self._options)


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
        from streams.state.source_status import now_ms
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
            now_ms,
            touched=lambda names: dirty.touch(names, time.monotonic()),
        )
        content = ContentReader(
            config,
            options.cluster,
            journal.append,
            now_ms,
            should_read=lambda: is_written_by_kraft(watcher.known, now_ms()),
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
        from streams.state.source_status import now_ms

        listener = parse_listener(options.watched)
        config = LogDirsConfig(
            brokers=listener.endpoints,
            cluster_id=listener.cluster_id,
            security=listener.security,
            cluster=options.cluster,
        )
        memory = held.enter_context(closing(Memory(options.state / MEMORY_FILE)))
        return held.enter_context(LogDirsPoller(config, memory, journal.append, now_ms)).status


class JmxSource(JournalSource):
    """The JMX numbers that operators collect already; `asked`: see `streams.jmx.config`."""

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
        from streams.state.source_status import now_ms

        poller = JmxPoller(parse_jmx(options.watched), journal.append, now_ms)
        return held.enter_context(poller).status
