"""Whether what was read includes everything that was committed a moment ago.

A controller writes no-ops twice a second and a batch takes its time, so the store trails the
high watermark always by a few records; asking for none would never be met. So: everything that
was committed when watching began must be read, and nothing committed may stay unread for longer
than data may be stale.
"""

from collections import deque

from migration.source_status import STALE_AFTER_MS, SourceStatus
from migration.summary import ClusterSummary


class Horizon:
    """The high watermarks of one cluster that are yet to be read, and when each was seen."""

    def __init__(self) -> None:
        self._seen: int | None = None
        self._begun = False
        self._unread: deque[tuple[int, int]] = deque()

    def is_caught_up(self, summary: ClusterSummary, source: SourceStatus, now_ms: int) -> bool:
        """Take note of the source's high watermark and judge; False before one is known."""
        if source.finished:
            return True
        if source.high_watermark is None:
            return False
        if source.high_watermark != self._seen:
            self._seen = source.high_watermark
            self._unread.append((now_ms, source.high_watermark))
        read = 0 if summary.metadata_offset is None else summary.metadata_offset + 1
        while self._unread and self._unread[0][1] <= read:
            self._unread.popleft()
            self._begun = True
        oldest = self._unread[0][0] if self._unread else now_ms
        return self._begun and now_ms - oldest <= STALE_AFTER_MS
