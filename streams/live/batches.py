"""Just enough of a record batch to mirror it: where it starts and ends, and that it is whole.

In: bytes of the log, from a reply or a segment. Out: `Span`s. The records themselves are decoded
by `streams.wire`; here only the header is read and the CRC checked.
Layout: org.apache.kafka.common.record.DefaultRecordBatch (magic 2).
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from crc32c import crc32c

HEADER_BYTES: Final = 61
_LENGTH_END: Final = 12
_CRC_START: Final = 21
_MAGIC: Final = 2
# base offset, length, leader epoch, magic, crc, attributes, last offset delta
_HEADER: Final = struct.Struct(">qiibIhi")
# The only record of a NoOpRecord batch (QuorumController.maybeScheduleNextWriteNoOpRecord):
# length 10, attributes, deltas 0, no key, 4 bytes of value (frame 1, key 20, version 0, no tags).
_NO_OP_RECORD: Final = bytes.fromhex("140000000108") + b"\x01\x14\x00\x00" + b"\x00"


@dataclass(frozen=True, slots=True)
class Span:
    """One whole batch inside a buffer.

    Attributes:
        start: Byte where the batch starts.
        end: Byte after its last one.
        base_offset: Metadata offset of its first record.
        next_offset: Metadata offset after its last record.
        epoch: The KRaft leader epoch that wrote it.
        no_op: Whether it holds nothing but one NoOpRecord.
    """

    start: int
    end: int
    base_offset: int
    next_offset: int
    epoch: int
    no_op: bool


class BadBatch(ValueError):  # noqa: N818 -- as in errors.py
    """The bytes at `position` are a batch in length, but not in content."""

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(f"byte {position}: {reason}")
        self.position = position


def spans(buffer: bytes | memoryview, start: int = 0) -> Iterator[Span]:
    """Yield the whole batches from `start` on; stop silently before one that is cut at the end.

    Raises:
        BadBatch: a batch that is there in full has a wrong magic, length or CRC.
    """
    view = memoryview(buffer)
    while len(view) - start >= HEADER_BYTES:
        base, length, epoch, magic, crc, _, last_delta = _HEADER.unpack_from(view, start)
        end = start + _LENGTH_END + length
        if magic != _MAGIC or end - start < HEADER_BYTES or base < 0 or last_delta < 0:
            raise BadBatch(start, f"no record batch (magic {magic}, length {length})")
        if end > len(view):
            return
        if crc32c(view[start + _CRC_START : end]) != crc:
            raise BadBatch(start, "the CRC does not match")
        no_op = last_delta == 0 and view[start + HEADER_BYTES : end] == _NO_OP_RECORD
        yield Span(start, end, base, base + last_delta + 1, epoch, no_op)
        start = end


@dataclass(frozen=True, slots=True)
class Cut:
    """The committed part of a reply: a slice of its records, on batch boundaries.

    Attributes:
        records: The batches, byte for byte; empty when there is nothing new.
        next_offset: Metadata offset after them; the position asked for when they are empty.
        epoch: Leader epoch of the last batch; None when they are empty.
        more: Whether whole batches followed that the high watermark does not cover yet.
        no_op_only: Whether no batch holds anything but a NoOpRecord.
    """

    records: bytes
    next_offset: int
    epoch: int | None
    more: bool
    no_op_only: bool


def committed(records: bytes, position: int, high_watermark: int) -> Cut:
    """Cut a reply to the batches that end after `position` and at or below `high_watermark`.

    A reply may start with a batch before the position (KafkaMetadataLog.read returns whole
    batches) and may end with a cut one or with ones that are not committed.

    Raises:
        BadBatch: a batch fails its check, or offsets do not go on without a gap.
    """
    first, last, more, no_op_only = None, None, False, True
    for span in spans(records):
        if span.next_offset <= position:
            continue
        if span.next_offset > high_watermark:
            more = True
            break
        if last is None and span.base_offset > position:
            raise BadBatch(span.start, f"offset {span.base_offset} follows {position}")
        if last is not None and span.base_offset != last.next_offset:
            raise BadBatch(span.start, f"offset {span.base_offset} follows {last.next_offset}")
        first = span if first is None else first
        last = span
        no_op_only = no_op_only and span.no_op
    if first is None or last is None:
        return Cut(b"", position, None, more, no_op_only=True)
    return Cut(records[first.start : last.end], last.next_offset, last.epoch, more, no_op_only)
