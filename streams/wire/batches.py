"""The one reader of record batches: for segments, `.checkpoint` files and fetched bytes.

In: bytes that start at a batch. Out: `Batch`es. Each batch is checked (magic 2, CRC-32C, lengths,
offsets without a gap to the batch before) before it is returned; its records are decoded only on
request, so the same iteration also serves to read only the headers. There are three outcomes: a
batch, a `DamagedBatch` error that names file and byte, or the end.

Layout: org.apache.kafka.common.record.DefaultRecordBatch. The CRC does not cover the base offset,
the length, the magic and the leader epoch, so these are compared with the batch before.

The records of a batch (DefaultRecord) are read by the rules of
org.apache.kafka.raft.internals.RecordsIterator: the offset of a record is that of the record before
plus 1, its length is exact, and it has no headers. Every length is compared with the remaining
bytes before it is used.
"""

import struct
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Final, NoReturn, TypeAlias

from crc32c import crc32c

from streams.wire.control import (
    ControlRecord,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    read_control,
)
from streams.wire.errors import DamagedBatch, DamagedValue, WireError
from streams.wire.structure import read_uvarint, write_uvarint

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
"""Base offset, length, leader epoch, magic, CRC, attributes, last offset delta, base and max
timestamp, producer id and epoch, base sequence, record count."""
MAGIC: Final = 2
MAGIC_AT: Final = 16
CRC_START: Final = 21
"""The CRC covers the bytes from here (the attributes) to the end of the batch."""
CONTROL_BIT: Final = 0x20
LENGTH_END: Final = 12
"""The length counts the bytes from here."""
_LENGTH_MIN: Final = HEADER.size - LENGTH_END
_FIELDS: Final = struct.Struct(">qiibIhi8xq14xi")
"""The fields of `HEADER` that a reader needs: base offset, length, leader epoch, magic, CRC,
attributes, last offset delta, max timestamp, record count."""
_COMPRESSION_MASK: Final = 0x07
_CODECS: Final = {1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
_BASE_TIMESTAMP_AT: Final = 27
_OFFSET_MAX: Final = 2**63 - 2
"""The next offset must fit 64 bits too."""

Entry: TypeAlias = tuple[int, bytes | None, bytes | None, int]
"""Timestamp in ms, key, value, position of the value after the batch's header."""

_ONE_BYTE: Final = 0x80
"""Varints below this value are one byte long."""
_TWO_BYTES: Final = 0x3FFF
"""The largest number that a varint of two bytes holds."""
_VARLONG_BYTES_MAX: Final = 10
_VARINT_BYTES_MAX: Final = 5
_NULL: Final = 1
"""A zigzag varint of -1, the length of an absent key or value."""
_ATTRIBUTES_BYTES: Final = 1
"""Kafka writes 0 and ignores the value."""
_PLAIN_MAX: Final = 10_000
"""The most records that a controller writes into one batch (QuorumController)."""
_INT64_MAX: Final = 2**63 - 1


class Batch:
    """One record batch whose header and CRC were checked; its records are decoded on request.

    Attributes:
        file: The origin of the bytes, for messages.
        position: Byte position of the batch in `file`.
        size: Bytes of the whole batch with its header; the next batch is at `position + size`.
        base_offset: Metadata offset of the first record. In a checkpoint: a count from 0.
        last_offset: Metadata offset of the last record.
        leader_epoch: The KRaft leader epoch in which the batch was written.
        max_timestamp: The latest timestamp of its records, ms since 1970.
        count: Number of records that the header announces.
        compression: Number of the codec; 0, none, in every batch that `read_batches` yields.
        is_control: Whether it holds control records (`control_records`) instead of data records.
        buffer: The bytes that it was read from, with other batches.
    """

    __slots__ = (
        "_start",
        "base_offset",
        "buffer",
        "compression",
        "count",
        "file",
        "is_control",
        "last_offset",
        "leader_epoch",
        "max_timestamp",
        "position",
        "size",
    )

    def __init__(
        self, file: str, position: int, buffer: bytes, start: int, header: tuple[int, ...]
    ) -> None:
        """Create the batch from the fields that `_FIELDS` unpacked at `start` of the buffer."""
        base_offset, length, self.leader_epoch, _, _, attributes, last_delta = header[:7]
        self.max_timestamp, self.count = header[7:]
        self.file = file
        self.position = position
        self.size = LENGTH_END + length
        self.base_offset = base_offset
        self.last_offset = base_offset + last_delta
        self.is_control = attributes & CONTROL_BIT != 0
        self.compression = attributes & _COMPRESSION_MASK
        self.buffer = buffer
        self._start = start

    def __repr__(self) -> str:
        kind = "control batch" if self.is_control else "batch"
        offsets = f"{self.base_offset}..{self.last_offset}"
        return f"<{kind} {offsets} of {self.file}, byte {self.position}>"

    def raw(self) -> bytes:
        """Return a copy of the bytes of the batch."""
        return self.buffer[self._start : self._start + self.size]

    def mentions(self, api_key: int) -> bool:
        """Whether the batch may contain a record of this type, of version 0.

        The check is cheap and has no false negatives. The planner uses it to find transaction
        marks.
        """
        frame = bytes((1, api_key, 0))
        at, end = self._start + HEADER.size, self._start + self.size
        while (at := self.buffer.find(frame, at, end)) >= 0:
            # Before a value there are the length of its absent key and its own. A broker's id in a
            # list looks like a frame, too.
            if _NULL in self.buffer[at - 1 - _VARINT_BYTES_MAX : at - 1]:
                return True
            at += 1
        return False

    def records(self) -> list[tuple[int, int, bytes]]:
        """Return the data records, [] for a control batch: metadata offset, timestamp in ms, value.

        Returns all records or raises; never a part of them.

        Raises:
            DamagedBatch: the records are inconsistent although the CRC is correct.
        """
        return [
            (offset, timestamp, self.buffer[start:end])
            for offset, (timestamp, start, end) in enumerate(
                zip(*self.places(), strict=True), self.base_offset
            )
        ]

    def control_records(self) -> list[tuple[int, int, ControlRecord]]:
        """Return the control records, [] for a data batch: metadata offset, timestamp ms, record.

        Raises:
            DamagedBatch: the records are inconsistent although the CRC is correct.
            DamagedValue: a control record does not decode.
            UnsupportedRecordVersion: a control record is newer than Kafka 3.9's.
        """
        if not self.is_control:
            return []
        found: list[tuple[int, int, ControlRecord]] = []
        try:
            for timestamp, key, value, _ in self._entries(self._content()):
                record = read_control(key or b"", value or b"")
                found.append((self.base_offset + len(found), timestamp, record))
        except WireError as error:
            self._locate(error, len(found))
            raise
        return found

    def places(self) -> tuple[list[int], list[int], list[int]]:
        """Return by data record, [] for a control batch: timestamp in ms, start, end of its value.

        Start and end are positions in `buffer`; the offset of a record is one more than that of the
        record before. Returns all records or raises; never a part of them.

        Raises:
            DamagedBatch: the records are inconsistent although the CRC is correct.
        """
        if self.is_control:
            return [], [], []
        content = self._content()
        starts, ends = _plain_places(content, self.count)
        timestamps = [self._base_timestamp()] * len(starts)
        try:
            # After the value of a plain record there is one byte, the number of its headers.
            behind = ends[-1] + 1 if ends else 0
            for timestamp, key, value, start in self._entries(content, len(starts), behind):
                if value is None or key is not None:  # RecordsIterator (raft) rejects it, too
                    raise DamagedBatch("a record has a key or no value, unlike metadata records")
                timestamps.append(timestamp)
                starts.append(start)
                ends.append(start + len(value))
        except WireError as error:
            self._locate(error, len(ends))
            raise
        begin = self._start + HEADER.size
        starts = [begin + each for each in starts]
        ends = [begin + each for each in ends]
        return timestamps, starts, ends

    def _entries(self, content: bytes, index: int = 0, position: int = 0) -> Iterator[Entry]:
        """Yield the records from one on, which begins at a position of the batch's content.

        Raises:
            DamagedBatch: a record is damaged; the records before it were yielded.
        """
        base_timestamp = self._base_timestamp()
        for number in range(index, self.count):
            (delta, key, value, start), position = _read_entry(content, position, number)
            timestamp = base_timestamp + delta
            if not -_INT64_MAX - 1 <= timestamp <= _INT64_MAX:
                _damaged(f"timestamp {timestamp} does not fit 64 bits")
            yield timestamp, key, value, start
        if position != len(content):
            _damaged(f"{len(content) - position} bytes are left behind the last record")

    def _content(self) -> bytes:
        """Return the bytes after the batch's header."""
        return self.buffer[self._start + HEADER.size : self._start + self.size]

    def _base_timestamp(self) -> int:
        base_at = self._start + _BASE_TIMESTAMP_AT
        return int.from_bytes(self.buffer[base_at : base_at + 8], signed=True)

    def _locate(self, error: WireError, done: int) -> None:
        """Add this batch's place, and the offset after its first `done` records, to an error."""
        error.locate(file=self.file, position=self.position, offset=self.base_offset + done)


def read_file(path: Path, position: int = 0, size: int | None = None) -> Iterator[Batch]:
    """Yield the batches in `size` bytes of a file from `position`; None: all to its end.

    Raises:
        DamagedBatch: as `read_batches`.
    """
    with path.open("rb") as file:
        file.seek(position)
        content = file.read(-1 if size is None else size)
    return read_batches(content, file=str(path), position=position)


def read_snapshot(path: Path) -> Iterator[Batch]:
    """Yield the batches of a `.checkpoint`, from its header to its footer (RecordsSnapshotWriter).

    Raises:
        DamagedBatch: as `read_batches`, or the header or the footer is missing.
        WireError: the control records of the first or the last batch do not decode.
    """
    last: Batch | None = None
    for batch in read_file(path):
        if last is None and not _has(batch, SnapshotHeaderRecord):
            flaw = "the snapshot has no header: its beginning is missing"
            raise DamagedBatch(flaw, file=str(path), position=batch.position)
        last = batch
        yield batch
    if last is None or not _has(last, SnapshotFooterRecord):
        end = 0 if last is None else last.position + last.size
        flaw = "the snapshot has no footer: it is cut"
        raise DamagedBatch(flaw, file=str(path), position=end)


def _has(batch: Batch, kind: type[SnapshotHeaderRecord | SnapshotFooterRecord]) -> bool:
    return any(isinstance(record, kind) for _, _, record in batch.control_records())


def read_batches(
    buffer: bytes, *, file: str, position: int = 0, allow_partial_tail: bool = False
) -> Iterator[Batch]:
    """Yield the batches of a buffer in order; each is a view of the buffer, not a copy.

    Args:
        buffer: Bytes that start at the first byte of a batch.
        file: The name of their origin in messages.
        position: Byte position in `file` at which the buffer starts.
        allow_partial_tail: End without an error before a last batch that is cut, as in FETCH
            replies and the chunks of FETCH_SNAPSHOT; the rest starts at `position + size` of the
            last batch.

    Yields:
        Checked batches, in the order of their offsets.

    Raises:
        DamagedBatch: a batch is damaged; the batches before it were yielded.
    """
    view = memoryview(buffer)
    start = 0
    before: Batch | None = None
    while (left := len(buffer) - start) > 0:
        header = _FIELDS.unpack_from(buffer, start) if left >= HEADER.size else None
        if (
            header is None
            or header[3] != MAGIC
            or not _LENGTH_MIN <= header[1] <= left - LENGTH_END
        ):
            flaw = _flaw_of_frame(buffer[start : start + HEADER.size], left)
            if flaw is None and allow_partial_tail:
                return
            flaw = flaw or f"the last batch is cut: {left} bytes of it are there"
            raise DamagedBatch(flaw, file=file, position=position + start)
        batch = Batch(file, position + start, buffer, start, header)
        stop = start + batch.size
        crc = crc32c(view[start + CRC_START : stop])
        if crc != header[4]:
            flaw = f"CRC-32C is {crc:#010x}, but the header says {header[4]:#010x}"
        else:
            flaw = _flaw(before, batch)
        if flaw is not None:
            raise DamagedBatch(flaw, file=file, position=position + start)
        yield batch
        before = batch
        start = stop


def _flaw_of_frame(head: bytes, left: int) -> str | None:
    """Return the flaw of the magic or the length, as far as present; None: the batch is cut."""
    if left > MAGIC_AT and head[MAGIC_AT] != MAGIC:
        return f"not a record batch: magic {head[MAGIC_AT]}, Kafka's metadata log has {MAGIC}"
    length = int.from_bytes(head[8:LENGTH_END], signed=True)
    if left >= LENGTH_END and length < _LENGTH_MIN:
        size = LENGTH_END + length
        return f"the batch's length makes it {size} bytes, but its header alone has {HEADER.size}"
    return None


def _flaw(before: Batch | None, batch: Batch) -> str | None:
    """Return the flaw of a header, or None; offsets have no gaps, and epochs never decrease."""
    first, last = batch.base_offset, batch.last_offset
    if first < 0 or last > _OFFSET_MAX or not 0 < last - first + 1 == batch.count:
        return f"offsets {first} to {last} for {batch.count} records"
    if batch.compression:
        # KafkaRaftClient and RecordsSnapshotWriter use CompressionType.NONE. A compressed batch of
        # 1 MB can expand to 1 GB, and no real controller writes one.
        name = _CODECS.get(batch.compression, "unknown to Kafka")
        return f"the batch is compressed (codec {batch.compression}, {name}); KRaft never does that"
    if before is not None:
        if first != before.last_offset + 1:
            return f"offset {first} follows on {before.last_offset}"
        if batch.leader_epoch < before.leader_epoch:
            return f"leader epoch {batch.leader_epoch} follows on {before.leader_epoch}"
    return None


def _plain_places(records: bytes, count: int) -> tuple[list[int], list[int]]:
    """Return start and end of each record's value, up to the first record that is not plain.

    Nearly all records are plain: no key, no timestamp delta, lengths of one or two bytes. Many in
    a row have the same length, and are compared together. `_read_entry` reads any record, and only
    it reports damage.
    """
    starts: list[int] = []
    ends: list[int] = []
    position, size, length_before = 0, len(records), 0
    heads = _plain_heads()[:count]
    begins, add_start, add_end = records.startswith, starts.append, ends.append
    while len(starts) < len(heads) and position < size - 2:
        head, begin = heads[len(starts)], position
        length = records[position]
        position += 1
        if length >= _ONE_BYTE:
            length = length & 0x7F | records[position] << 7
            position += 1
        end = position + (length >> 1)
        start = position + len(head)
        # An odd length is negative; after the head there are at least another length and the number
        # of headers.
        if length > _TWO_BYTES or length & 1 or end > size or start + 1 >= end:
            break
        if not begins(head, position):
            break
        length = records[start]
        start += 1
        if length >= _ONE_BYTE:
            length = length & 0x7F | records[start] << 7
            start += 1
        stop = start + (length >> 1)
        # After the value there is only the number of headers.
        if length > _TWO_BYTES or stop + 1 != end or length & 1 or records[stop]:
            break
        add_start(start)
        add_end(stop)
        length = end - begin
        if length == length_before and len(starts) < len(heads):
            alike = _alike(records, (begin, position, start, end), len(starts), len(heads))
            starts += range(start + length, start + length + alike * length, length)
            ends += range(stop + length, stop + length + alike * length, length)
            end += alike * length
        position, length_before = end, length
    return starts, ends


def _alike(records: bytes, places: tuple[int, int, int, int], index: int, count: int) -> int:
    """Return how many of the next records are plain, with the lengths of a given one.

    Args:
        records: All records of the batch.
        places: Positions in the given record: its begin, its head (after the length), its value,
            and its end.
        index: That of the next record in the batch.
        count: How many records may be plain.
    """
    begin, head, value, end = places
    length = end - begin
    first, columns = next(each for each in _head_columns() if index < each[0] + len(each[1][0]))
    alike = min(len(columns[0]) - (index - first), count - index, (len(records) - end) // length)
    # A column has the bytes at the same place of each record; a value's bytes are not compared.
    for at in (*range(begin, value), end - 1):
        if head <= at < head + len(columns):
            column = columns[at - head][index - first : index - first + alike]
        else:
            column = records[at : at + 1] * alike
        found = records[at + length : at + length + alike * length : length]
        if found != column:
            alike = next(row for row in range(alike) if found[row] != column[row])
    return alike


@cache
def _plain_heads() -> tuple[bytes, ...]:
    """Return the bytes between length and value of each plain record, by its index in the batch."""
    return tuple(
        b"\0\0" + write_uvarint(index << 1) + bytes((_NULL,)) for index in range(_PLAIN_MAX)
    )


@cache
def _head_columns() -> list[tuple[int, list[bytes]]]:
    """Return the heads by their length, each with the first index, as columns."""
    found, first = [], 0
    for _, alike in groupby(_plain_heads(), len):
        heads = list(alike)
        found.append((first, [bytes(column) for column in zip(*heads, strict=True)]))
        first += len(heads)
    return found


def _read_entry(records: bytes, position: int, index: int) -> tuple[Entry, int]:
    """Return timestamp delta, key, value and its start of any record, and the position after it.

    Raises:
        DamagedBatch: the record is inconsistent, or its offset delta is not `index`.
    """
    try:
        size, position = _varint(records, position)
        end = position + size
        if size <= 0 or end > len(records):
            _damaged(f"a record of {size} bytes, {len(records) - position} are left in the batch")
        timestamp, position = read_varlong(records, position + _ATTRIBUTES_BYTES)
        offset, position = _varint(records, position)
        key, position = _read_bytes(records, position, end)
        value, position = _read_bytes(records, position, end)
        start = position - len(value or b"")
        headers, position = _varint(records, position)
    except (IndexError, DamagedValue):
        _damaged("a record is cut, or has a varint without an end")
    if headers != 0 or position != end:
        _damaged(f"a record has {headers} headers, and {end - position} bytes behind them")
    if offset != index:
        _damaged(f"offset delta {offset} is where {index} should be")
    return (timestamp, key, value, start), end


def _read_bytes(records: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    """Return a key or a value, and the position after it; `end`: where its record ends."""
    size, position = _varint(records, position)
    if size == -1:
        return None, position
    if not 0 <= size <= end - position:
        _damaged(f"a key or value of {size} bytes, {end - position} are left in its record")
    return records[position : position + size], position + size


def _varint(records: bytes, position: int) -> tuple[int, int]:
    """Return a zigzag varint of 32 bits and the position after it (ByteUtils.readVarint)."""
    number, position = read_uvarint(records, position)
    number &= 0xFFFFFFFF
    return number >> 1 ^ -(number & 1), position


def read_varlong(records: bytes, position: int) -> tuple[int, int]:
    """Return a zigzag varint of 64 bits and the position after it (ByteUtils.readVarlong)."""
    number = 0
    for index in range(_VARLONG_BYTES_MAX):
        byte = records[position + index]
        number |= (byte & 0x7F) << (7 * index)
        if byte < _ONE_BYTE:
            number &= 0xFFFFFFFFFFFFFFFF
            return number >> 1 ^ -(number & 1), position + index + 1
    raise DamagedValue("a varint has no end")


def _damaged(reason: str) -> NoReturn:
    raise DamagedBatch(f"the records do not add up: {reason}")
