"""`zookeeper`: the PySpark Python Data Source over what a ZooKeeper shows.

Options: those of `streams.journal.source`, and `connect` ("host:port,host:port/chroot").
"""

from collections.abc import MutableMapping
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from migration.source_status import SourceStatus
from streams.journal.source import JournalOptions, JournalReader, Watcher
from streams.source.kraft_metadata import SCHEMA
from streams.source.shards import ZOOKEEPER

if TYPE_CHECKING:
    from streams.journal.journal import Journal
    from streams.zookeeper.content import ContentReader
    from streams.zookeeper.watcher import ZooKeeperWatcher


class ZooKeeperSource(DataSource):
    """Registers as `zookeeper`."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._options = JournalOptions.parse(options, watched="connect")

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "zookeeper"

    def schema(self) -> str:
        """Rows are facts, packed."""
        return SCHEMA

    def streamReader(self, schema: StructType) -> "ZooKeeperReader":  # noqa: ARG002, N802
        """The reader; nothing is opened yet."""
        return ZooKeeperReader(self._options, ZOOKEEPER, self.name())


class ZooKeeperReader(JournalReader):
    """Offers what was seen in ZooKeeper."""

    def watch(self, journal: "Journal") -> Watcher:
        """Begin to watch from where the journal's facts end."""
        from streams.source.status_file import now_ms
        from streams.zookeeper.config import WatcherConfig
        from streams.zookeeper.content import ContentReader
        from streams.zookeeper.content_when import is_written_by_kraft
        from streams.zookeeper.known import Known
        from streams.zookeeper.watcher import ZooKeeperWatcher

        config = WatcherConfig(connect=self.options.watched)
        watcher = ZooKeeperWatcher(config, Known(journal.kept()), journal.append, now_ms)
        content = ContentReader(
            config,
            self.options.cluster,
            journal.append,
            now_ms,
            should_read=lambda: is_written_by_kraft(watcher.known, now_ms()),
        )
        return _Watching(watcher.start(), content.start())


class _Watching:
    """A watcher and a reader of all content, as every journalled source has it."""

    def __init__(self, watcher: "ZooKeeperWatcher", content: "ContentReader") -> None:
        self._watcher = watcher
        self._content = content

    def status(self) -> SourceStatus:
        from streams.zookeeper.status import source_status

        said = source_status(self._watcher.status())
        abandoned = self._content.status().error
        if abandoned is None or said.waiting is not None:
            return said
        # No error of the source: without comparisons everything else is still seen.
        words = f"the next reading of ZooKeeper's content; the last one failed: {abandoned.detail}"
        return replace(said, waiting=words)

    def stop(self) -> None:
        self._content.stop()
        self._watcher.stop()
