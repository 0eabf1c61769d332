"""The spool: what was seen of the committed log, on the local disk, in Kafka's layout.

In: committed batches and snapshots, in order. Out: files (`spool_files.py`) that stay readable
after kill -9 and power cuts, and a `position` that never runs ahead of what is fsynced. When the
controllers were provisioned anew another log begins, in a directory of its own; what is there of
the one before stays (`spool_info.py`).

One process writes a spool, under a lock; any number read its files, without one. A reader that
finds a listed file gone lists again: `retain` or a stretch of no-ops let go came in between.
"""

import itertools
import logging
import os
import threading
from dataclasses import dataclass, field, replace
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from streams.kafka.errors import ReplyDamaged
from streams.kafka.messages import OffsetAndEpoch
from streams.metadata import spool_files, spool_info
from streams.metadata.batches import Survey, starts_with_no_op, survey
from streams.metadata.errors import SpoolInUse
from streams.metadata.log_marks import Mark
from streams.metadata.redaction import redacted
from streams.metadata.spool_files import Checkpoint, Segment
from streams.metadata.spool_info import About
from streams.state.files import open_unbuffered, sync_directory, try_lock, write_all
from streams.wire.batches import read_batches
from streams.wire.errors import DamagedBatch

_log = logging.getLogger(__name__)

SEGMENT_BYTES: Final = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Position:
    """Where the spool ends.

    Attributes:
        next_offset: First metadata offset that is not in the spool; everything below it is
            committed, and fsynced or covered by a checkpoint.
        epoch: Leader epoch of the record before it; None when that is not known (nothing yet).
        log: Which of the cluster's metadata logs it is in, counted from 1.
        head: The mark of that log's beginning; None while it was not seen.
        tail: The mark of the batch before it; None when that is not in the spool.
        busy_until: From here up to `next_offset` there is nothing but no-op records; None: of none
            before it is that known.
    """

    next_offset: int
    epoch: int | None
    log: int = 1
    head: Mark | None = field(default=None, compare=False)
    tail: Mark | None = field(default=None, compare=False)
    busy_until: int | None = field(default=None, compare=False)

    @property
    def reach(self) -> tuple[int, int]:
        """Log and offset: what lies beyond what."""
        return self.log, self.next_offset


class Spool:
    """A directory that mirrors a committed metadata log. Any thread may call its methods."""

    def __init__(self, directory: Path, *, segment_bytes: int = SEGMENT_BYTES) -> None:
        """Open or create the spool, lock it, and mend what a crash left (`recover`).

        Raises:
            SpoolInUse: another process has it open.
            OSError: the directory cannot be written.
        """
        self.directory = directory
        self._segment_bytes = segment_bytes
        self._mutex = threading.RLock()
        self._segment: FileIO | None = None
        self._segment_no_op_only = True
        self._torn = False
        self._part: tuple[OffsetAndEpoch, FileIO] | None = None
        self._part_rest = b""
        directory.mkdir(parents=True, exist_ok=True)
        self._lock = FileIO(str(directory / spool_files.LOCK_NAME), "a")
        if not try_lock(self._lock.fileno()):
            self._lock.close()
            raise SpoolInUse(
                f"the spool {directory} is written by another process: end it, or give this one"
                " another directory"
            )
        try:
            self._about = spool_info.load(directory)
            self._home.mkdir(exist_ok=True)
            self._position = self.recover()
        except BaseException:
            self._lock.close()
            raise

    @property
    def position(self) -> Position:
        """Where the spool ends: up to here Spark may read."""
        with self._mutex:
            return self._position

    @property
    def cluster_id(self) -> str | None:
        """The cluster this spool was made from; None while nobody could tell."""
        return self._about.cluster_id

    def bind(self, cluster_id: str) -> None:
        """Remember the cluster, the first time; afterwards refuse any other.

        Raises:
            WrongCluster: the spool was made from another cluster.
        """
        with self._mutex:
            self._tell(self._about.bound(cluster_id, self.directory))

    def keep_head(self, head: Mark) -> None:
        """Remember how the present log begins."""
        with self._mutex:
            self._tell(self._about.headed(head))
            self._position = replace(self._position, head=head)

    def restart(self, head: Mark) -> Position:
        """Leave the present log as it is, and begin the next one, at offset 0.

        Raises:
            CommittedLogDiverged: the one that begins so was left behind before.
        """
        with self._mutex:
            if self._torn:
                self.recover()
            self.drop_snapshot()
            then = self._about.restarted(head, self.directory)
            spool_files.log_directory(self.directory, then.log).mkdir(exist_ok=True)
            sync_directory(self.directory)
            self._close_segment()
            self._tell(then)
            self._position = self.recover()
            return self._position

    def began_ms(self, log: int) -> int:
        """When a log began, by its own clock, ms since 1970; 0: its beginning was not seen."""
        with self._mutex:
            head = self._about.heads[log - 1]
        return 0 if head is None else head.timestamp_ms

    @property
    def _home(self) -> Path:
        """Where the present log's files are."""
        return spool_files.log_directory(self.directory, self._about.log)

    def _tell(self, told: About) -> None:
        if told != self._about:
            spool_info.save(self.directory, told)
            self._about = told

    def recover(self) -> Position:
        """Make the files whole again and find where they end.

        A half-fetched snapshot is dropped. The newest segment may end in a torn batch: it is cut
        before the first one that fails its check. What a crash tore was never offered; if it was
        offered (a bad disk), the follower fetches it again, and when the cluster has trimmed it
        meanwhile a gap without a certificate is left, which a reader refuses.
        Stretches of no-ops that were not let go before the crash are let go now.
        """
        with self._mutex:
            self._torn = False
            self._close_segment()
            for part in self._home.glob(f"*{spool_files.PART_SUFFIX}"):
                part.unlink()
            files = spool_files.listing(self._home)
            position = self._at(0, None)
            if files.checkpoints:
                newest = files.checkpoints[-1]
                position = self._at(newest.end_offset, newest.epoch)
            if files.segments:
                position = self._recover_segment(files.segments, position)
            self._position = position
            for older, newer in itertools.pairwise(files.segments):
                if starts_with_no_op(older.path):
                    read = _survey(older)
                    if read.no_op_only and read.next_offset == newer.base_offset:
                        self._let_go(older, newer.base_offset)
            return position

    def _recover_segment(self, segments: tuple[Segment, ...], before: Position) -> Position:
        segment = segments[-1]
        read = _survey(segment)
        ends = segment.base_offset if read.next_offset is None else read.next_offset
        self._segment_no_op_only = read.no_op_only
        self._segment = open_unbuffered(segment.path)
        if read.whole_bytes < self._segment.tell():
            cut = self._segment.tell() - read.whole_bytes
            _log.warning("%s: cut %d torn bytes after offset %d", segment.path, cut, ends)
            self._segment.truncate(read.whole_bytes)
            os.fsync(self._segment.fileno())
            self._segment.seek(read.whole_bytes)
        epoch = read.epoch
        if epoch is None and len(segments) > 1 and before.next_offset < ends:
            older = _survey(
                segments[-2]
            )  # a crash came between opening a segment and its first batch
            epoch = older.epoch if older.next_offset == ends else None
        if ends < before.next_offset:
            # The checkpoint is ahead: a crash came before the segment behind it was opened. What
            # comes next does not go on from this segment's last batch.
            self._close_segment()
            return before
        if (ends, read.whole_bytes) == (before.next_offset, 0):
            return before
        return self._at(ends, epoch, read.tail)

    def _at(self, next_offset: int, epoch: int | None, tail: Mark | None = None) -> Position:
        return Position(next_offset, epoch, self._about.log, self._about.heads[-1], tail)

    def append(self, records: bytes, position: Position) -> None:
        """Add whole committed batches and fsync them; only then does `position` move.

        Args:
            records: Batches that go on where the spool ends, as fetched; secrets are overwritten.
            position: Where they end.

        Raises:
            ValueError: `position` does not lie beyond the present one.
            OSError: the disk is full or failing. `position` stays; the next call mends the file.
        """
        with self._mutex:
            if self._torn:
                self.recover()
            here = self._position
            if position.log != here.log or position.next_offset <= here.next_offset:
                raise ValueError(f"{position} does not lie beyond {here}")
            segment = self._writable_segment()
            try:
                write_all(segment, redacted(records))
                os.fdatasync(segment.fileno())
            except OSError:
                self._torn = True
                raise
            if self._segment_no_op_only:
                self._segment_no_op_only = survey(records, "the reply").no_op_only
            self._position = position

    def _writable_segment(self) -> FileIO:
        if self._segment is not None and self._segment.tell() >= self._segment_bytes:
            sealed = Segment(_base_offset(self._segment), Path(str(self._segment.name)))
            idle = self._segment_no_op_only
            self._close_segment()
            opened = self._open_segment()
            if idle:
                self._let_go(sealed, self._position.next_offset)
            return opened
        return self._segment if self._segment is not None else self._open_segment()

    def _open_segment(self) -> FileIO:
        path = spool_files.segment_path(self._home, self._position.next_offset)
        path.touch()
        self._segment = open_unbuffered(path)
        self._segment_no_op_only = True
        sync_directory(self._home)
        return self._segment

    def _let_go(self, sealed: Segment, ends: int) -> None:
        """Delete a sealed segment of nothing but no-ops, leaving a certificate in its place.

        An idle cluster writes two NoOpRecords a second for ever (13 MB a day), and Spark commits
        nothing meanwhile. The certificate is on disk before the segment goes; one that adjoins an
        older one replaces it, so that their number grows with the data, not with time.
        """
        certified = spool_files.listing(self._home).idle
        adjoining = [idle for idle in certified if idle.to_offset == sealed.base_offset]
        starts = min((i.from_offset for i in adjoining), default=sealed.base_offset)
        spool_files.idle_path(self._home, starts, ends).touch()
        sync_directory(self._home)
        for path in [*(idle.path for idle in adjoining), sealed.path]:
            path.unlink(missing_ok=True)

    def begin_snapshot(self, snapshot: OffsetAndEpoch) -> None:
        """Start to write the snapshot; one begun before and not completed is dropped."""
        with self._mutex:
            self.drop_snapshot()
            name = spool_files.checkpoint_path(self._home, snapshot.end_offset, snapshot.epoch).name
            path = self._home / (name + spool_files.PART_SUFFIX)
            path.write_bytes(b"")
            self._part = (snapshot, open_unbuffered(path))

    def append_snapshot(self, content: bytes) -> int:
        """Add the next bytes of the snapshot that was begun; return its size so far.

        Only whole batches are written, without their secrets; the rest waits for more bytes.

        Raises:
            ReplyDamaged: a batch is damaged; the snapshot is dropped.
        """
        with self._mutex:
            _, file = self._begun()
            found = self._part_rest + content
            whole = self._whole_bytes(found, file.tell())
            write_all(file, redacted(found[:whole]))
            self._part_rest = found[whole:]
            return file.tell() + len(self._part_rest)

    def _whole_bytes(self, content: bytes, position: int) -> int:
        """Return the size of the whole batches that a part of the snapshot begins with."""
        whole = 0
        try:
            for batch in read_batches(content, file="the snapshot", allow_partial_tail=True):
                whole = batch.position + batch.size
        except DamagedBatch as error:
            self.drop_snapshot()
            raise ReplyDamaged(
                f"the snapshot is damaged at byte {position + whole}: {error.reason}"
            ) from error
        return whole

    def complete_snapshot(self) -> Position:
        """Check the snapshot, fsync it, give it its name, and go on behind it.

        Raises:
            ReplyDamaged: it is not a sequence of whole batches; it is dropped.
        """
        with self._mutex:
            snapshot, file = self._begun()
            path = Path(str(file.name))
            whole = survey(path.read_bytes(), path.name).whole_bytes
            if whole != file.tell() or whole == 0 or self._part_rest:
                self.drop_snapshot()
                raise ReplyDamaged(f"the snapshot {path.name} is cut or damaged at byte {whole}")
            os.fsync(file.fileno())
            file.close()
            self._part = None
            path.replace(
                spool_files.checkpoint_path(self._home, snapshot.end_offset, snapshot.epoch)
            )
            self._close_segment()
            self._position = self._at(snapshot.end_offset, snapshot.epoch)
            self._open_segment()
            return self._position

    def drop_snapshot(self) -> None:
        """Forget a snapshot that was begun."""
        with self._mutex:
            if self._part is not None:
                _, file = self._part
                self._part = None
                self._part_rest = b""
                file.close()
                Path(str(file.name)).unlink(missing_ok=True)

    def _close_segment(self) -> None:
        if self._segment is not None:
            self._segment.close()
            self._segment = None

    def _begun(self) -> tuple[OffsetAndEpoch, FileIO]:
        if self._part is None:
            raise ValueError("no snapshot was begun")
        return self._part

    def retain(self, below_offset: int, log: int = 1) -> None:
        """Delete what lies wholly below an offset of a log that Spark has committed.

        Of a log that was left behind everything stays that is there still. The newest segment stays
        whatever its age. A checkpoint stays as long as the log right behind it does: the two are
        one whole, from which everything can be built anew.
        """
        with self._mutex:
            if log != self._about.log:
                return
            files = spool_files.listing(self._home)
            ends = [s.base_offset for s in files.segments[1:]]
            doomed = [
                s for s, end in zip(files.segments, ends, strict=False) if end <= below_offset
            ]
            kept = files.segments[len(doomed) :]
            starts = kept[0].base_offset if kept else self._position.next_offset
            floor = min(below_offset, starts)
            for segment in doomed:
                segment.path.unlink()
            for checkpoint in _below(files.checkpoints, floor):
                checkpoint.path.unlink()
            for idle in files.idle:
                if idle.to_offset <= floor:
                    idle.path.unlink()

    def close(self) -> None:
        """Close the files and let the lock go."""
        with self._mutex:
            self.drop_snapshot()
            self._close_segment()
            self._lock.close()

    def __enter__(self) -> Self:
        """Return itself; `close` follows."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()


def _below(checkpoints: tuple[Checkpoint, ...], floor: int) -> list[Checkpoint]:
    """Pick the checkpoints that end below `floor`: the kept log does not go on from them."""
    return [checkpoint for checkpoint in checkpoints if checkpoint.end_offset < floor]


def _survey(segment: Segment) -> Survey:
    return survey(segment.path.read_bytes(), str(segment.path))


def _base_offset(segment: FileIO) -> int:
    return int(Path(str(segment.name)).stem)
