"""Decides whether the store includes everything that a source had to read a moment ago.

A batch takes its time, so the store trails the high watermark by a few records; a rule that allows
none would never be met. So everything that was there when watching began must be read, and nothing
may stay unread for longer than data may be stale. No-op records do not count: the job commits them
late. The same rule applies to the journals of ZooKeeper and of the disks: their sources keep
writing while a query that hangs commits nothing.
"""

from collections import deque
from collections.abc import Mapping
from typing import Final

from migration.assessment.conditions import DataSource
from migration.image.summary import ClusterSummary
from migration.observed.source_status import STALE_AFTER_MS, SourceStatus, meaningful_end
from orchestrator.following import Snapshot


class Backlog:
    """What is yet to be read of one thing that is numbered, and when each number was seen."""

    def __init__(self) -> None:
        self._seen: int | None = None
        self._begun = False
        self._unread: deque[tuple[int, int]] = deque()

    def is_read(self, there: int, read: int, now_ms: int) -> bool:
        """Take note of how much is there and how much of it is read, and judge."""
        if there != self._seen:
            if self._seen is not None and there < self._seen:
                # It was said to be more than it is: while it could not be read, say.
                self._unread = deque(each for each in self._unread if each[1] <= there)
            self._seen = there
            self._unread.append((now_ms, there))
        while self._unread and self._unread[0][1] <= read:
            self._unread.popleft()
            self._begun = True
        oldest = self._unread[0][0] if self._unread else now_ms
        return self._begun and now_ms - oldest <= STALE_AFTER_MS


class Horizon:
    """The high watermarks of one cluster that are yet to be read."""

    def __init__(self) -> None:
        self._log = 1
        self._backlog = Backlog()

    def is_caught_up(self, summary: ClusterSummary, source: SourceStatus, now_ms: int) -> bool:
        """Record the source's high watermark and judge; False before one is known."""
        if source.finished:
            return True
        if source.log != self._log:
            self._log, self._backlog = source.log, Backlog()
        end = meaningful_end(source)
        if end is None or summary.metadata_log != source.log:
            return False
        read = 0 if summary.metadata_offset is None else summary.metadata_offset + 1
        return self._backlog.is_read(end, read, now_ms)


_JOURNALS: Final = {
    DataSource.ZOOKEEPER: "zookeeper",
    DataSource.LOG_DIRS: "log_dirs",
    DataSource.JMX: "jmx",
}


class Horizons:
    """All that is followed of one cluster: its metadata log, and the journals beside it."""

    def __init__(self) -> None:
        self._log = Horizon()
        self._journals = {name: Backlog() for name in _JOURNALS.values()}

    def unread(self, one: Snapshot, now_ms: int) -> Mapping[DataSource, str]:
        """Take note of a look at the cluster: the sources of which something is yet to be read."""
        found = {}
        if not self._log.is_caught_up(one.summary, one.status, now_ms):
            found[DataSource.METADATA_LOG] = "committed records have not been read yet"
        for source, name in _JOURNALS.items():
            journal = one.journals.get(name)
            if journal is None:
                continue
            if not self._journals[name].is_read(journal.last, journal.read, now_ms):
                found[source] = "journaled facts have not been processed yet"
        return found
