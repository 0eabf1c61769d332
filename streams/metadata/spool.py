"""The spool: the local copy of the committed metadata log, in Kafka's layout.

In: committed batches and snapshots, in order. Out: files (`log_files.py`) that stay readable
after kill -9 and power cuts, and a `position` that is never ahead of the fsynced data. If the
controllers were provisioned again, another log begins in a directory of its own; the files of the
log before stay (`spool_info.py`).

One process writes a spool and holds its lock; any number of processes read its files without a
lock. If a listed file no longer exists, the reader lists the files again: `retain` or the deletion
of a range of no-op records removed it in the meantime.
"""

import itertools
import logging
import os
import threading
from dataclasses import dataclass, field, replace
from io import FileIO
from pathlib import Path
from typing import Final, Self

from streams.kafka.errors import ReplyDamaged
from streams.kafka.messages import OffsetAndEpoch
from streams.metadata import log_files, spool_info
from streams.metadata.batches import Mark, Survey, redacted, starts_with_no_op, survey
from streams.metadata.errors import SpoolInUse
from streams.metadata.log_files import Segment
from streams.metadata.spool_info import SpoolInfo
from streams.state.files import open_unbuffered, sync_directory, try_lock, write_all
from streams.wire.batches import read_batches, read_snapshot
from streams.wire.errors import DamagedBatch, WireError

_log = logging.getLogger(__name__)

SEGMENT_BYTES: Final = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Position:
    """The end of the spool.

    Attributes:
        next_offset: First metadata offset that is not in the spool; all records below it are
            committed, and fsynced or covered by a checkpoint.
        epoch: Leader epoch of the record before it; None while unknown (no record yet).
        log: Number of the cluster's metadata log, counted from 1.
        head: The mark of that log's beginning; None while unknown.
        tail: The mark of the batch before `next_offset`; None if that is not in the spool.
        busy_until: From this offset to `next_offset` there are only no-op records; None: not known
            for any record.
    """

    next_offset: int
    epoch: int | None
    log: int = 1
    head: Mark | None = field(default=None, compare=False)
    tail: Mark | None = field(default=None, compare=False)
    busy_until: int | None = field(default=None, compare=False)

    @property
    def record_ms(self) -> int | None:
        """The timestamp of the record before `next_offset`; None: unknown."""
        return None if self.tail is None else self.tail.timestamp_ms

    @property
    def reach(self) -> tuple[int, int]:
        """Log and offset, by which positions are ordered."""
        return self.log, self.next_offset


class Spool:
    """A directory with a copy of a committed metadata log. Thread-safe."""

    def __init__(self, directory: Path, *, segment_bytes: int = SEGMENT_BYTES) -> None:
        """Open or create the spool, lock it, and repair it after a crash (`recover`).

        Raises:
            SpoolInUse: another process has it open.
            SpoolDamaged: `spool.json` cannot be read.
            OSError: the directory cannot be written.
        """
        self.directory = directory
        self._segment_bytes = segment_bytes
        self._mutex = threading.RLock()
        self._segment: FileIO | None = None
        self._segment_no_op_only = True
        self._torn_at: int | None = None
        self._part: tuple[OffsetAndEpoch, FileIO] | None = None
        self._part_rest = b""
        directory.mkdir(parents=True, exist_ok=True)
        self._lock = FileIO(str(directory / log_files.LOCK_NAME), "a")
        if not try_lock(self._lock.fileno()):
            self._lock.close()
            raise SpoolInUse(
                f"the spool {directory} is written by another process: end it, or give this one"
                " another directory"
            )
        try:
            self._info = spool_info.load(directory)
            self._home.mkdir(exist_ok=True)
            self._position = self.recover()
        except BaseException:
            self._lock.close()
            raise

    @property
    def position(self) -> Position:
        """The end of the spool, up to which Spark may read."""
        with self._mutex:
            return self._position

    @property
    def cluster_id(self) -> str | None:
        """The id of the cluster of this spool; None while unknown."""
        return self._info.cluster_id

    def bind(self, cluster_id: str) -> None:
        """Store the cluster id at the first call; later, reject any other id.

        Raises:
            WrongCluster: the spool was made from another cluster.
        """
        with self._mutex:
            self._save(self._info.bound(cluster_id, self.directory))

    def keep_head(self, head: Mark) -> None:
        """Store the mark of the current log's beginning."""
        with self._mutex:
            self._save(self._info.headed(head))
            self._position = replace(self._position, head=head)

    def restart(self, head: Mark) -> Position:
        """Begin the next log at offset 0; the files of the current log stay.

        Raises:
            CommittedLogDiverged: the log with this beginning is an earlier log of the spool.
        """
        with self._mutex:
            self._mend()
            self.drop_snapshot()
            then = self._info.restarted(head, self.directory)
            log_files.log_directory(self.directory, then.log).mkdir(exist_ok=True)
            sync_directory(self.directory)
            self._close_segment()
            self._save(then)
            self._position = self.recover()
            return self._position

    @property
    def _home(self) -> Path:
        """The directory of the current log's files."""
        return log_files.log_directory(self.directory, self._info.log)

    def _save(self, info: SpoolInfo) -> None:
        if info != self._info:
            spool_info.save(self.directory, info)
            self._info = info

    def recover(self) -> Position:
        """Repair the files after a crash, and return the end of the spool.

        A partly fetched snapshot is deleted. The newest segment may end in a torn batch: the
        segment is truncated before the first batch that fails its check. A batch that a crash tore
        was never offered to Spark. If it was offered (a faulty disk), the follower fetches it
        again; if the cluster has deleted it meanwhile, a gap without a certificate remains, which a
        reader rejects. Segments of only no-op records that were not deleted before the crash are
        deleted now.
        """
        with self._mutex:
            self._close_segment()
            for part in self._home.glob(f"*{log_files.PART_SUFFIX}"):
                part.unlink()
            files = log_files.listing(self._home)
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
                        self._replace_by_certificate(older, newer.base_offset)
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
            # The process crashed after it opened a segment, before its first batch.
            older = _survey(segments[-2])
            epoch = older.epoch if older.next_offset == ends else None
        if ends < before.next_offset:
            # The checkpoint is ahead: the process crashed before it opened the segment after the
            # checkpoint. The next records do not continue this segment's last batch.
            self._close_segment()
            return before
        if (ends, read.whole_bytes) == (before.next_offset, 0):
            return before
        return self._at(ends, epoch, read.tail)

    def _at(self, next_offset: int, epoch: int | None, tail: Mark | None = None) -> Position:
        return Position(next_offset, epoch, self._info.log, self._info.heads[-1], tail)

    def append(self, records: bytes, position: Position) -> None:
        """Append whole committed batches and fsync them; only then `position` moves.

        Args:
            records: Batches from the end of the spool on, as fetched; secrets are overwritten.
            position: The end of the batches.

        Raises:
            ValueError: `position` is not after the current one.
            OSError: the disk is full or failing. `position` does not change; the next call repairs
                the file.
        """
        with self._mutex:
            self._mend()
            here = self._position
            if position.log != here.log or position.next_offset <= here.next_offset:
                raise ValueError(f"{position} does not lie beyond {here}")
            segment = self._writable_segment()
            self._torn_at = segment.tell()
            write_all(segment, redacted(records))
            os.fdatasync(segment.fileno())
            self._torn_at = None
            if self._segment_no_op_only:
                self._segment_no_op_only = survey(records, "the reply").no_op_only
            self._position = position

    def _mend(self) -> None:
        """Cut off all that a failed append left: it will be fetched again."""
        if self._torn_at is not None and self._segment is not None:
            self._segment.truncate(self._torn_at)
            self._segment.seek(self._torn_at)
            os.fsync(self._segment.fileno())
        self._torn_at = None

    def _writable_segment(self) -> FileIO:
        if self._segment is not None and self._segment.tell() >= self._segment_bytes:
            path = Path(str(self._segment.name))
            sealed = Segment(int(path.stem), path)
            idle = self._segment_no_op_only
            self._close_segment()
            opened = self._open_segment()
            if idle:
                self._replace_by_certificate(sealed, self._position.next_offset)
            return opened
        return self._segment if self._segment is not None else self._open_segment()

    def _open_segment(self) -> FileIO:
        path = log_files.segment_path(self._home, self._position.next_offset)
        path.touch()
        self._segment = open_unbuffered(path)
        self._segment_no_op_only = True
        sync_directory(self._home)
        return self._segment

    def _replace_by_certificate(self, sealed: Segment, ends: int) -> None:
        """Replace a sealed segment of only no-op records by a certificate.

        An idle cluster writes two NoOpRecords a second (13 MB a day), and Spark commits nothing
        meanwhile. The certificate is on disk before the segment is deleted. A certificate that
        adjoins an older one replaces it, so that their number grows with the data, not with time.
        """
        certified = log_files.listing(self._home).idle
        adjoining = [idle for idle in certified if idle.to_offset == sealed.base_offset]
        starts = min((i.from_offset for i in adjoining), default=sealed.base_offset)
        log_files.idle_path(self._home, starts, ends).touch()
        sync_directory(self._home)
        for path in [*(idle.path for idle in adjoining), sealed.path]:
            path.unlink(missing_ok=True)

    def begin_snapshot(self, snapshot: OffsetAndEpoch) -> None:
        """Start to write a snapshot; an earlier incomplete one is deleted."""
        with self._mutex:
            self._mend()
            self.drop_snapshot()
            name = log_files.checkpoint_path(self._home, snapshot.end_offset, snapshot.epoch).name
            path = self._home / (name + log_files.PART_SUFFIX)
            path.write_bytes(b"")
            self._part = (snapshot, open_unbuffered(path))

    def append_snapshot(self, content: bytes) -> int:
        """Append bytes to the snapshot that was begun; return its size so far.

        Only whole batches are written, without their secrets; the rest is buffered.

        Raises:
            ReplyDamaged: a batch is damaged; the snapshot is deleted.
            ValueError: no snapshot was begun.
        """
        with self._mutex:
            _, file = self._begun()
            found = self._part_rest + content
            whole = self._whole_bytes(found, file.tell())
            write_all(file, redacted(found[:whole]))
            self._part_rest = found[whole:]
            return file.tell() + len(self._part_rest)

    def _whole_bytes(self, content: bytes, position: int) -> int:
        """Return the size of the whole batches at the start of a part of the snapshot."""
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
        """Check the snapshot, fsync it, rename it, and move the end of the spool to its end.

        Raises:
            ReplyDamaged: it is not a sequence of whole batches up to its footer; it is deleted.
            ValueError: no snapshot was begun.
        """
        with self._mutex:
            snapshot, file = self._begun()
            path = Path(str(file.name))
            rest = read_batches(self._part_rest, file=path.name, position=file.tell())
            try:
                for _ in itertools.chain(read_snapshot(path), rest):
                    pass
            except WireError as error:
                self.drop_snapshot()
                raise ReplyDamaged(
                    f"the snapshot {path.name} is damaged at byte {error.position}: {error.reason}"
                ) from error
            os.fsync(file.fileno())
            file.close()
            self._part = None
            path.replace(log_files.checkpoint_path(self._home, snapshot.end_offset, snapshot.epoch))
            self._close_segment()
            self._position = self._at(snapshot.end_offset, snapshot.epoch)
            self._open_segment()
            return self._position

    def drop_snapshot(self) -> None:
        """Delete a snapshot that was begun and not completed."""
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
        """Delete the files that are wholly below an offset of a log that Spark has committed.

        Files of earlier logs stay. The newest segment stays regardless of its age. A checkpoint
        stays as long as the log directly after it: from the two together the whole state can be
        rebuilt.
        """
        with self._mutex:
            if log != self._info.log:
                return
            files = log_files.listing(self._home)
            ends = [s.base_offset for s in files.segments[1:]]
            below = sum(end <= below_offset for end in ends)
            kept = files.segments[below:]
            starts = kept[0].base_offset if kept else self._position.next_offset
            floor = min(below_offset, starts)
            for path in (
                *(each.path for each in files.segments[:below]),
                # The remaining log does not continue these checkpoints.
                *(each.path for each in files.checkpoints if each.end_offset < floor),
                *(each.path for each in files.idle if each.to_offset <= floor),
            ):
                path.unlink()

    def close(self) -> None:
        """Delete an incomplete snapshot, close the files and release the lock."""
        with self._mutex:
            self.drop_snapshot()
            self._close_segment()
            self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _survey(segment: Segment) -> Survey:
    return survey(segment.path.read_bytes(), str(segment.path))
