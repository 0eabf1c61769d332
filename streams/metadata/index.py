"""The index of a log: the place of each whole record batch, and the transaction open after it.

The planner uses the index, which is built by reading headers and CRCs once. Its size grows with the
part of the log that Spark has not committed: `forget` drops committed entries, and a run of batches
with only no-op records is one entry.
"""

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Final, NamedTuple

from migration.metadata.records import AbortTransaction, BeginTransaction, EndTransaction, NoOp
from migration.metadata.transactions import IllegalTransaction, Transaction, admit
from streams.metadata.log_files import Checkpoint, Idle, Segment, list_log
from streams.metadata.offsets import NONE, StreamOffset
from streams.wire.batches import Batch, read_file
from streams.wire.errors import DamagedBatch, WireError
from streams.wire.records import read_record

_NO_OP: Final = 20
_OF_PARTITIONS: Final = (3, 5)
_FRAME: Final = 3
"""The bytes of a value's frame: its version, the record's type, and the type's version."""
_TRANSACTION_MARKS: Final = (23, 24, 25)


class IndexEntry(NamedTuple):
    """One batch, or a run of idle batches, and the stream offset after it.

    Attributes:
        next: the stream offset after the entry.
        timestamp_ms: the latest timestamp of its records, ms since 1970.
        idle: whether it holds only no-op records.
    """

    path: Path
    position: int
    size: int
    base_offset: int
    next: StreamOffset
    timestamp_ms: int
    idle: bool


class LogIndex:
    """The batches of one log, from a stream offset.

    `entries` are in the order of offsets, without overlaps; only a checkpoint can fill a gap.
    `damage` is the first error that makes the rest of the log unreadable; the index ends before it.

    Args:
        decodes: Whether to decode the values, too, except those of known kinds of which a log has
            millions. A job with other clusters must not begin a batch that it cannot read.
    """

    def __init__(self, path: Path, start: StreamOffset, *, decodes: bool = False) -> None:
        self._known: set[bytes] | None = set() if decodes else None
        self._path = path
        self._start = start
        self._end = start
        self.entries: list[IndexEntry] = []
        self._read_until: dict[Path, int] = {}
        self._transaction = None if start.transaction == NONE else Transaction(start.transaction)
        self._covered: int | None = None
        self.damage: WireError | IllegalTransaction | None = None

    def checkpoint_for(self, offset: int) -> Checkpoint | None:
        """Return the earliest checkpoint that ends after `offset` and from which the log continues.

        If the log continues from none of them, return the latest one; None: no checkpoint ends
        after `offset`.
        """
        files = list_log(self._path)
        behind = [each for each in files.checkpoints if each.end_offset > offset]
        if not behind:
            return None
        bases = [segment.base_offset for segment in files.segments]
        usable = [each for each in behind if not bases or any(b <= each.end_offset for b in bases)]
        # A later one is correct as well; the earliest leaves the most records to read.
        return min(usable or behind[-1:], key=lambda each: each.end_offset)

    def refresh(self, below: int | None = None) -> None:
        """Add the appended batches; `below`: only those before this offset (None: all)."""
        if self.damage is not None:
            return
        files = list_log(self._path)
        parts: list[Segment | Idle] = sorted((*files.segments, *files.idle), key=_begins)
        for part, behind in zip_longest(parts, parts[1:]):
            if behind is not None and _begins(behind) <= self._start.offset:
                continue
            try:
                if isinstance(part, Idle):
                    self._skip(part)
                elif below is None or part.base_offset < below:
                    self._read(part, below)
            except (WireError, IllegalTransaction) as error:
                self.damage = error
                return
            except FileNotFoundError:
                if part in list_log(self._path).segments:
                    raise
                # The spool deleted it meanwhile; each further attempt needs another deletion.
                self.refresh(below)
                return

    def forget(self, before: int) -> None:
        """Drop the entries that end at or before the committed offset `before`."""
        self.entries = [each for each in self.entries if each.next.offset > before]
        present = {segment.path for segment in list_log(self._path).segments}
        self._read_until = {path: at for path, at in self._read_until.items() if path in present}

    def from_offset(self, offset: int) -> Iterator[IndexEntry]:
        """Yield the entries from `offset` to the first gap."""
        at = offset
        for entry in self.entries:
            if entry.next.offset <= at:
                continue
            if entry.base_offset > at:
                return
            yield entry
            at = entry.next.offset

    def _skip(self, idle: Idle) -> None:
        """Add a deleted range, which held only no-op records."""
        last = self._end
        if idle.from_offset <= last.offset < idle.to_offset:
            self._end = last._replace(offset=idle.to_offset)
            entry = IndexEntry(idle.path, 0, 0, last.offset, self._end, 0, idle=True)
            self.entries.append(entry)

    def _read(self, segment: Segment, below: int | None) -> None:
        """Add the batches of a segment; the bytes after `below` may be half written.

        Raises:
            DamagedBatch: as `read_file`, or a batch begins before the segment.
        """
        if below is not None and self._end.offset >= below:
            return
        path, begins = segment.path, segment.base_offset
        position = self._read_until.get(path, 0)
        for batch in read_file(path, position):
            if below is not None and batch.last_offset >= below:
                return
            if batch.base_offset < begins:
                flaw = f"offset {batch.base_offset} is below {begins}, at which the file begins"
                raise DamagedBatch(f"{flaw} by its name", file=str(path), position=batch.position)
            if batch.last_offset >= self._start.offset and not self._is_covered(batch):
                self._add(path, batch)
            self._read_until[path] = batch.position + batch.size
            if batch.last_offset + 1 == below:
                return

    def _is_covered(self, batch: Batch) -> bool:
        """Return whether the checkpoint that fills the gap before the batch includes it.

        The segment may begin within a transaction, which only the checkpoint has as a whole.
        """
        if batch.base_offset <= self._end.offset:
            return False
        if self._covered is None:
            checkpoint = self.checkpoint_for(self._end.offset)
            self._covered = 0 if checkpoint is None else checkpoint.end_offset
        return batch.last_offset < self._covered

    def _add(self, path: Path, batch: Batch) -> None:
        self._covered = None
        if batch.base_offset > self._end.offset:
            # Only a checkpoint fills the gap, and none is made within a transaction.
            self._transaction = None
        idle = self._scan(batch)
        transaction = self._transaction
        entry = IndexEntry(
            path,
            batch.position,
            batch.size,
            batch.base_offset,
            StreamOffset(
                self._start.log,
                batch.leader_epoch,
                batch.last_offset + 1,
                NONE if transaction is None else transaction.begin_offset,
            ),
            batch.max_timestamp,
            idle,
        )
        last = self.entries[-1] if self.entries else None
        if last is not None and _joins(last, entry):
            self.entries[-1] = entry._replace(
                position=last.position,
                size=last.size + entry.size,
                base_offset=last.base_offset,
            )
        else:
            self.entries.append(entry)
        self._end = entry.next

    def _scan(self, batch: Batch) -> bool:
        """Track the transactions in the batch; return whether the batch is idle.

        Raises:
            IllegalTransaction: a transaction mark is not allowed in the current state.
            WireError: the records cannot be decoded.
        """
        if self._known is not None:
            _decode(batch, self._known)
        if batch.is_control:
            return False
        if any(batch.mentions(mark) for mark in _TRANSACTION_MARKS):
            _, starts, ends = batch.places()
            for row, (start, end) in enumerate(zip(starts, ends, strict=True)):
                if end - start > 1 and batch.buffer[start + 1] in _TRANSACTION_MARKS:
                    record, offset = read_record(batch.buffer[start:end]), batch.base_offset + row
                    if isinstance(record, BeginTransaction | EndTransaction | AbortTransaction):
                        self._transaction, _ = admit(self._transaction, offset, record)
            return False
        if not batch.mentions(_NO_OP):
            return False
        return all(isinstance(read_record(value), NoOp) for _, _, value in batch.records())


def _decode(batch: Batch, known: set[bytes]) -> None:
    """Decode the values of a batch; of partition records, one for each frame in `known`.

    Raises:
        WireError: one cannot be decoded.
    """
    if batch.is_control:
        batch.control_records()
        return
    _, starts, ends = batch.places()
    for row, (start, end) in enumerate(zip(starts, ends, strict=True)):
        frame = bytes(batch.buffer[start : start + _FRAME])
        if frame in known:
            continue
        try:
            read_record(batch.buffer[start:end])
        except WireError as error:
            offset = batch.base_offset + row
            error.locate(file=batch.file, position=batch.position, offset=offset)
            raise
        if frame[1] in _OF_PARTITIONS:
            known.add(frame)


def _joins(last: IndexEntry, entry: IndexEntry) -> bool:
    return (
        last.idle
        and entry.idle
        and last.path == entry.path
        and last.position + last.size == entry.position
        and last.next.epoch == entry.next.epoch
        and last.next.transaction == entry.next.transaction
    )


def _begins(part: Segment | Idle) -> int:
    return part.base_offset if isinstance(part, Segment) else part.from_offset
