"""`log_dirs`: the PySpark Python Data Source over the log directories of the brokers.

Options: those of `streams.spark.journal_source`, and `brokers` (JSON of `streams.net.listener`).
The directory `disks/` next to the journal contains the stored state of the disks, and the requests
for an immediate poll.
"""

from collections.abc import MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from migration.observed.source_status import SourceStatus
from migration.shard.placement import LOG_DIRS
from streams.log_dirs.places import MEMORY_FILE
from streams.spark.journal_source import JournalOptions, JournalReader, Watcher
from streams.spark.metadata_source import SCHEMA

if TYPE_CHECKING:
    from streams.log_dirs.memory import Memory
    from streams.log_dirs.poller import LogDirsPoller
    from streams.state.journal import Journal

REQUESTS: Final = Path("disks", "requests.db")
"""In the cluster's directory."""


class LogDirsSource(DataSource):
    """The data source with the format `log_dirs`."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._options = JournalOptions.parse(options, watched="brokers")

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return "log_dirs"

    def schema(self) -> str:
        """Return the schema: rows are packed facts."""
        return SCHEMA

    def streamReader(self, schema: StructType) -> "LogDirsReader":  # noqa: ARG002, N802
        """Return the reader; nothing is opened yet."""
        return LogDirsReader(self._options, LOG_DIRS, self.name())


class LogDirsReader(JournalReader):
    """Reads the state of the brokers' disks."""

    def watch(self, journal: "Journal") -> Watcher:
        """Start polling, with the stored state."""
        from streams.log_dirs.memory import Memory
        from streams.log_dirs.poll import LogDirsConfig
        from streams.log_dirs.poller import LogDirsPoller
        from streams.net.listener import parse_listener
        from streams.state.source_status import now_ms

        asked = parse_listener(self.options.watched)
        config = LogDirsConfig(
            brokers=asked.endpoints,
            cluster_id=asked.cluster_id,
            security=asked.security,
            cluster=self.options.cluster,
        )
        memory = Memory(self.options.state / MEMORY_FILE)
        return _Watching(LogDirsPoller(config, memory, journal.append, now_ms).start(), memory)


class _Watching:
    """A poller and its memory, as one `Watcher`."""

    def __init__(self, poller: "LogDirsPoller", memory: "Memory") -> None:
        self._poller = poller
        self._memory = memory

    def status(self) -> SourceStatus:
        return self._poller.status()

    def stop(self) -> None:
        self._poller.stop()
        self._memory.close()
