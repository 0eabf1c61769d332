"""Plans micro-batches: the end offset that is offered to Spark, and the slices to read.

The same start and end always give the same slices, because Spark repeats a batch whose outcome it
does not know.
"""

from pathlib import Path
from typing import Final, NamedTuple

from streams.metadata.index import IndexEntry, LogIndex
from streams.metadata.log_files import Checkpoint
from streams.metadata.offsets import NONE, StreamOffset
from streams.state.recovery import NEW_STORE

SLICE_BYTES: Final = 16 * 2**20
"""The size above which more than one task reads a batch."""
IDLE_RECORDS: Final = 240
"""The fewest no-op records that make a batch of their own: two minutes of an idle controller.

The source's status reports them meanwhile (`migration.assessment.currency.with_reports`).
"""


_COMPLETE: Final = (
    "replay a complete copy of __cluster_metadata-0: its latest .checkpoint and every .log after it"
)


class LogGap(Exception):
    """The log begins after the offset of the query, and no checkpoint fills the gap."""


class Slice(NamedTuple):
    """A run of whole batches in one file, for one task.

    Attributes:
        start: stream offset of its first record; for a snapshot, the start of the micro-batch.
        end: stream offset after its last record; for a snapshot, the end of the snapshot.
        timestamp_ms: timestamp of the last record; 0 if unknown.
        snapshot: the bytes are those of a checkpoint, in which offsets are only counts; or there
            are no bytes, and another log begins, whose content is unknown.
        ordinal: index among the slices of the micro-batch.
    """

    path: Path
    position: int
    size: int
    start: StreamOffset
    end: StreamOffset
    timestamp_ms: int
    snapshot: bool
    ordinal: int

    @property
    def is_restart(self) -> bool:
        """Whether another log begins, and there are no bytes."""
        return self.start.log != self.end.log


class Planner:
    """Plans the batches of one log, which is live (`finite` is False) or finished.

    `until`: plan no further than this metadata offset; None: no limit.
    """

    def __init__(self, index: LogIndex, *, finite: bool, until: int | None = None) -> None:
        self._index = index
        self._finite = finite
        self._until = until

    def latest(self, start: StreamOffset, max_bytes: int, *, idle: bool = False) -> StreamOffset:
        """Return the end of the next batch from `start`; `start` itself if there is no new data.

        If the log has the records from `start`, the batch consists of them; otherwise of the
        earliest checkpoint after it, alone. While the log is live, no-op records at the end stay
        for a later batch, unless `idle` requests them, or a checkpoint follows.

        Raises:
            LogGap: there are only later records, and no checkpoint.
        """
        entries = list(self._index.from_offset(start.offset))
        if not entries:
            return self._beyond_gap(start)
        end = start
        size = 0
        for entry in entries:
            if self._until is not None and entry.next.offset > self._until:
                break
            if size and size + entry.size > max_bytes:
                break
            size += entry.size
            is_long = entry.next.offset - end.offset >= IDLE_RECORDS
            if not entry.idle or self._finite or idle or is_long:
                end = entry.next
        if (
            end == start
            and not self._finite
            and self._index.checkpoint_for(entries[-1].next.offset)
        ):
            return entries[-1].next  # a gap follows: no further no-op records will join these
        return end

    def slices(self, start: StreamOffset, end: StreamOffset) -> list[Slice]:
        """Return the slices of the batch between two offsets that `latest` returned.

        Raises:
            LogGap: the log no longer has the bytes.
        """
        if start == end:
            return []
        entries = [
            entry
            for entry in self._index.from_offset(start.offset)
            if entry.base_offset < end.offset
        ]
        if entries and entries[-1].idle and entries[-1].next.offset > end.offset:
            # A run of idle batches may have grown since `latest` returned its end.
            entries[-1] = entries[-1]._replace(next=end)
        if entries and entries[-1].next.offset == end.offset:
            return _runs(entries, start)
        checkpoint = self._index.checkpoint_for(start.offset)
        if checkpoint is not None and checkpoint.end_offset == end.offset:
            return [_whole(checkpoint, start)]
        raise LogGap(
            f"the metadata log no longer has the records from {start.offset} to {end.offset}, with"
            f" which the last batch began: {self._fix()}"
        )

    def _beyond_gap(self, start: StreamOffset) -> StreamOffset:
        checkpoint = self._index.checkpoint_for(start.offset)
        if checkpoint is not None:
            if self._until is not None and checkpoint.end_offset > self._until:
                return start
            return StreamOffset(start.log, checkpoint.epoch, checkpoint.end_offset, NONE)
        later = [each for each in self._index.entries if each.base_offset > start.offset]
        if later:
            raise LogGap(
                f"the metadata log continues at metadata offset {later[0].base_offset}, but it"
                f" was read up to {start.offset}, and no checkpoint fills the gap: {self._fix()}"
            )
        return start

    def _fix(self) -> str:
        return _COMPLETE if self._finite else NEW_STORE


def _whole(checkpoint: Checkpoint, start: StreamOffset) -> Slice:
    end = StreamOffset(start.log, checkpoint.epoch, checkpoint.end_offset, NONE)
    size = checkpoint.path.stat().st_size
    return Slice(checkpoint.path, 0, size, start, end, 0, snapshot=True, ordinal=0)


def restart(path: Path, start: StreamOffset, end: StreamOffset, began_ms: int) -> Slice:
    """Return the slice from the end of a log to the start of the next; `path`: an existing file."""
    return Slice(path, 0, 0, start, end, began_ms, snapshot=True, ordinal=0)


def _runs(entries: list[IndexEntry], start: StreamOffset) -> list[Slice]:
    """Join adjacent entries of one file up to SLICE_BYTES; idle entries only move the end."""
    slices: list[Slice] = []
    at = start
    for entry in entries:
        last = slices[-1] if slices else None
        if last is not None and entry.idle:
            slices[-1] = last._replace(
                end=entry.next, timestamp_ms=entry.timestamp_ms or last.timestamp_ms
            )
        elif (
            last is not None
            and last.path == entry.path
            and entry.position + entry.size - last.position <= SLICE_BYTES
        ):
            # Idle batches in between are read too: another slice would cost more.
            slices[-1] = last._replace(
                size=entry.position + entry.size - last.position,
                end=entry.next,
                timestamp_ms=entry.timestamp_ms,
            )
        else:
            slices.append(
                Slice(
                    entry.path,
                    entry.position,
                    0 if entry.idle else entry.size,
                    at,
                    entry.next,
                    entry.timestamp_ms,
                    snapshot=False,
                    ordinal=len(slices),
                )
            )
        at = entry.next
    return slices
