"""Decides whether the store includes everything that a source had to read a moment ago.

A batch takes time, so the store trails the high watermark by a few records; a rule that allows no
unread record would never be satisfied. So everything that was available at the first tick must be
read, and nothing may stay unread for longer than data may be stale. No-op records do not count: the
job commits them late. The same rule applies to the journals of the other sources: they continue to
grow while a query that hangs commits nothing.
"""

from collections import deque
from collections.abc import Mapping

from migration.assessment.currency import UNREAD_FACTS, UNREAD_RECORDS
from migration.assessment.data_source import JOURNALED, DataSource
from migration.image.summary import ClusterSummary
from migration.observed.source_status import STALE_AFTER_MS, SourceStatus, meaningful_end
from orchestrator.run.cluster_read import ClusterRead


class Backlog:
    """The unread part of one numbered sequence, and when each number was first observed."""

    def __init__(self) -> None:
        self._last: int | None = None
        self._begun = False
        self._unread: deque[tuple[int, int]] = deque()

    def is_read(self, there: int, read: int, now_ms: int) -> bool:
        """Record the end of the sequence and the position read; return whether that is enough."""
        if there != self._last:
            if self._last is not None and there < self._last:
                self._unread = deque(each for each in self._unread if each[1] <= there)
            self._last = there
            self._unread.append((now_ms, there))
        while self._unread and self._unread[0][1] <= read:
            self._unread.popleft()
            self._begun = True
        oldest = self._unread[0][0] if self._unread else now_ms
        return self._begun and now_ms - oldest <= STALE_AFTER_MS


class Backlogs:
    """The backlogs of one cluster: that of its metadata log and those of its journals."""

    def __init__(self) -> None:
        self._log_number = 1
        self._log = Backlog()
        self._journals = {source: Backlog() for source in JOURNALED}

    def unread(self, one: ClusterRead, now_ms: int) -> Mapping[DataSource, str]:
        """Record a tick; return the sources with data that the store lacks, with the reason."""
        found = {}
        if not self._is_log_read(one.summary, one.status, now_ms):
            found[DataSource.METADATA_LOG] = UNREAD_RECORDS
        for source, backlog in self._journals.items():
            journal = one.journals.get(source)
            if journal is None or journal.last is None:
                continue  # the assessment handles an unreadable journal
            if not backlog.is_read(journal.last, journal.read, now_ms):
                found[source] = UNREAD_FACTS
        return found

    def _is_log_read(self, summary: ClusterSummary, source: SourceStatus, now_ms: int) -> bool:
        if source.finished:
            return True
        if source.log != self._log_number:
            self._log_number, self._log = source.log, Backlog()
        end = meaningful_end(source)
        if end is None or summary.metadata_log != source.log:
            return False
        read = 0 if summary.metadata_offset is None else summary.metadata_offset + 1
        return self._log.is_read(end, read, now_ms)
