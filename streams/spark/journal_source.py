"""The common part of the sources with a journal: their offset is its sequence number.

The rows have the form of `streams.spark.rows`: cluster, the source's own negative number in place
of a shard, the first fact's sequence number, the packed facts. They pass the shards unchanged.

Options: `cluster` (name), `state` (directory of the journal and of the file with the source's
status), `bell` and `waits` (`streams.state.doorbell`), and the configuration of the watcher; empty:
there is nothing to watch yet.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from migration.observed.source_status import SourceStatus
from streams.spark.metadata_source import SCHEMA, WAIT_S

# Spark unpickles the source in half a dozen processes that never open a journal.
if TYPE_CHECKING:
    from streams.state.doorbell import Doorbell
    from streams.state.journal import Journal
    from streams.state.source_status import StatusWriter

FACTS_A_BATCH: Final = 10_000


class Watcher(Protocol):
    """Observes a source, and appends its facts to the journal."""

    def status(self) -> SourceStatus:
        """Return the current status."""

    def stop(self) -> None:
        """Stop observing; all facts are in the journal."""


@dataclass(frozen=True)
class JournalOptions:
    """The options of a source with a journal; `watched` empty: there is nothing to watch yet."""

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
    """Reads the content of the journal, which is opened at the first use.

    Attributes:
        format: the name of Spark's format, which is that of the journal and the status file.
        shard: the negative number of the source in place of a shard.
        option: the name of the option with the configuration of the watcher.
    """

    format: ClassVar[str]
    shard: ClassVar[int]
    option: ClassVar[str]

    def __init__(self, options: JournalOptions) -> None:
        self.options = options
        self._journal: Journal | None = None
        self._watcher: Watcher | None = None
        self._bell: Doorbell | None = None
        self._writer: StatusWriter | None = None

    @abstractmethod
    def watch(self, journal: "Journal") -> Watcher:
        """Start observing; called once, in the process that owns the reader."""

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
        if self._bell is not None and self.options.waits:
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
        from streams.spark.chunks import ChunkKind, ShardChunk
        from streams.state.fact_codec import pack_row
        from streams.state.journal import read

        path, after, until = partition.value
        cluster = self.options.cluster
        about_cluster = []
        for sequence, shard, packed in read(Path(path), after, until):
            if shard is None:
                about_cluster.append(packed)
            else:
                chunk = ShardChunk(ChunkKind.SEEN, 0, sequence, 0, [(sequence, 0, packed)])
                yield cluster, shard, sequence, chunk.pack()
        yield cluster, self.shard, after + 1, pack_row(until, about_cluster)

    def commit(self, end: Mapping[str, Any]) -> None:
        """Compact the journal up to `end`, which has been processed."""
        if self._journal is not None:
            self._journal.compact(int(end["sequence"]))

    def stop(self) -> None:
        if self._writer is not None:
            self._writer.stop()
        if self._watcher is not None:
            self._watcher.stop()
        if self._journal is not None:
            self._journal.close()

    def _open(self) -> "Journal":
        if self._journal is None:
            from streams.state.doorbell import Doorbell
            from streams.state.journal import Journal
            from streams.state.source_status import StatusWriter

            self._bell = Doorbell(self.options.bell)
            path = self.options.state / f"{self.format}.db"
            self._journal = Journal(path, None if self.options.waits else self._bell)
            if self.options.watched:
                self._watcher = self.watch(self._journal)
                file = self.options.state / f"{self.format}.json"
                self._writer = StatusWriter(file, self._watcher.status).start()
        return self._journal


class JournalSource(DataSource):
    """A data source with a journal: a subclass names its reader."""

    reader_type: ClassVar[type[JournalReader]]

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._options = JournalOptions.parse(options, watched=self.reader_type.option)

    @classmethod
    def name(cls) -> str:
        return cls.reader_type.format

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: StructType) -> JournalReader:  # noqa: ARG002, N802
        """Return the reader; nothing is opened yet."""
        return self.reader_type(self._options)
