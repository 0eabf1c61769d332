"""`zookeeper`: the PySpark Python Data Source over a ZooKeeper ensemble.

Options: those of `streams.spark.journal_source`, and `ensemble` (`streams.zookeeper.ensemble`).
"""

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from migration.observed.source_status import SourceStatus
from migration.shard.placement import ZOOKEEPER
from streams.spark.journal_source import JournalReader, JournalSource, Watcher

if TYPE_CHECKING:
    from streams.state.journal import Journal
    from streams.zookeeper.content.reader import ContentReader
    from streams.zookeeper.watcher import ZooKeeperWatcher


class ZooKeeperReader(JournalReader):
    """Reads the state of ZooKeeper."""

    format = "zookeeper"
    shard = ZOOKEEPER
    option = "ensemble"

    def watch(self, journal: "Journal") -> Watcher:
        """Start watching from the end of the journal's facts."""
        from streams.state.source_status import now_ms
        from streams.zookeeper.content.reader import ContentReader, is_written_by_kraft
        from streams.zookeeper.dirty_topics import DirtyTopics
        from streams.zookeeper.ensemble import parse_ensemble
        from streams.zookeeper.known import Known
        from streams.zookeeper.watcher import ZooKeeperWatcher

        config = parse_ensemble(self.options.watched)
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
            self.options.cluster,
            journal.append,
            now_ms,
            should_read=lambda: is_written_by_kraft(watcher.known, now_ms()),
            dirty=dirty,
        )
        return _Watchers(watcher.start(), content.start())


class _Watchers:
    """A watcher and a content reader, as one `Watcher`."""

    def __init__(self, watcher: "ZooKeeperWatcher", content: "ContentReader") -> None:
        self._watcher = watcher
        self._content = content

    def status(self) -> SourceStatus:
        status, content = self._watcher.status(), self._content
        status = replace(status, limits=(*status.limits, *content.limits))
        if content.error is None or status.waiting is not None:
            return status
        # Not an error of the source: without comparisons all other data is still current.
        words = f"the next reading of ZooKeeper's content; the last one failed: {content.error}"
        return replace(status, waiting=words)

    def stop(self) -> None:
        self._content.stop()
        self._watcher.stop()


class ZooKeeperSource(JournalSource):
    """The data source with the format `zookeeper`."""

    reader_type = ZooKeeperReader
