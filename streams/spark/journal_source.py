"""What the journalled sources have in common: a reader whose offset is a journal's sequence number.

The rows have the shape of `streams.spark.rows`: cluster, the source's own negative number for a
shard, the first fact's sequence number, the facts packed. They pass the shards unchanged.

Options: `cluster` (name), `state` (directory of the journal and of the file in which the source
says how it is), `bell` and `waits` (`streams.state.doorbell`), and what to watch; empty: nothing
is there to watch yet.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from migration.observed.source_status import SourceStatus
from streams.spark.metadata_source import WAIT_S

# Spark unpickles the source in half a dozen processes that never open a journal.
if TYPE_CHECKING:
    from streams.state.doorbell import Doorbell
    from streams.state.journal import Journal
    from streams.state.source_status import StatusTeller

FACTS_A_BATCH: Final = 10_000


class Watcher(Protocol):
    """Sees what there is to see, and appends it to the journal."""

    def status(self) -> SourceStatus:
        """How it fares."""

    def stop(self) -> None:
        """Stop seeing; what was seen is in the journal."""


@dataclass(frozen=True)
class JournalOptions:
    """What a journalled source was asked for; `watched` empty: nothing is there to watch yet."""

    cluster: str
    state: Path
    bell: Path
    waits: bool
    watched: str

    @classmethod
    def parse(cls, options: Mapping[str, str], watched: str) -> "JournalOptions":
        """Check the options; `watched`: the name of the one that says what to watch.

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
    """A stretch of a journal: its file, the number before the first fact, the last one's."""

    def __init__(self, value: tuple[str, int, int]) -> None:
        super().__init__(value)


class JournalReader(DataSourceStreamReader):
    """Offers what the journal holds. Nothing is opened before the first question."""

    def __init__(self, options: JournalOptions, shard: int, name: str) -> None:
        self.options = options
        self._shard = shard
        self._name = name
        self._journal: Journal | None = None
        self._watcher: Watcher | None = None
        self._bell: Doorbell | None = None
        self._teller: StatusTeller | None = None

    @abstractmethod
    def watch(self, journal: "Journal") -> Watcher:
        """Begin to see; runs once, in the process that owns the reader."""

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Before the first fact."""
        return {"sequence": 0}

    def latestOffset(  # noqa: N802
        self,
        start: Mapping[str, Any],
        limit: Any,  # noqa: ANN401, ARG002
    ) -> dict[str, int]:
        """The last fact there is; waits for one only if it is this source's part to wait."""
        journal = self._open()
        at = int(start["sequence"])
        if self._bell is not None and self.options.waits:
            self._bell.wait(lambda timeout_s: journal.wait_beyond(at, timeout_s), WAIT_S)
        return {"sequence": min(journal.last, at + FACTS_A_BATCH)}

    def partitions(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> list[_Facts]:
        """One stretch of the journal."""
        path = str(self._open().path)
        after, until = int(start["sequence"]), int(end["sequence"])
        return [_Facts((path, after, until))] if until > after else []

    def read(self, partition: InputPartition) -> Iterator[tuple[str, int, int, bytes]]:
        """A row for each shard's fact, and one with all the others; runs on an executor.

        Raises:
            JournalError: they are not there any more.
        """
        from streams.spark.chunks import Kind, ShardChunk
        from streams.state.journal import read
        from streams.state.journal_row import pack_row

        path, after, until = partition.value
        cluster = self.options.cluster
        about_cluster = []
        for sequence, shard, packed in read(Path(path), after, until):
            if shard is None:
                about_cluster.append(packed)
            else:
                chunk = ShardChunk(Kind.SEEN, 0, sequence, 0, [(sequence, 0, packed)])
                yield cluster, shard, sequence, chunk.pack()
        yield cluster, self._shard, after + 1, pack_row(until, about_cluster)

    def commit(self, end: Mapping[str, Any]) -> None:
        """Everything up to `end` has taken effect."""
        if self._journal is not None:
            self._journal.compact(int(end["sequence"]))

    def stop(self) -> None:
        """The query ended."""
        if self._teller is not None:
            self._teller.stop()
        if self._watcher is not None:
            self._watcher.stop()
        if self._journal is not None:
            self._journal.close()

    def _open(self) -> "Journal":
        if self._journal is None:
            from streams.state.doorbell import Doorbell
            from streams.state.journal import Journal
            from streams.state.source_status import StatusTeller

            self._bell = Doorbell(self.options.bell)
            path = self.options.state / f"{self._name}.db"
            self._journal = Journal(path, None if self.options.waits else self._bell)
            if self.options.watched:
                self._watcher = self.watch(self._journal)
                file = self.options.state / f"{self._name}.json"
                self._teller = StatusTeller(file, self._watcher.status)
        return self._journal
