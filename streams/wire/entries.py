"""The records inside one batch: timestamp, key and value of each.

Layout: org.apache.kafka.common.record.DefaultRecord, read by the rules of
org.apache.kafka.raft.internals.RecordsIterator: the offset of a record is that of the record before
plus 1, its length is exact, and it has no headers. Every length is compared with the remaining
bytes before it is used.
"""

from collections.abc import Iterator
from functools import cache
from typing import Final, NoReturn, TypeAlias

from streams.wire.errors import DamagedBatch, DamagedValue
from streams.wire.structure import read_uvarint, write_uvarint

Entry: TypeAlias = tuple[int, int, bytes | None, bytes | None]
"""Metadata offset, timestamp in ms, key, value."""

_ONE_BYTE: Final = 0x80
"""Varints below this value are one byte long."""
_TWO_BYTES: Final = 0x3FFF
"""The largest number that a varint of two bytes holds."""
_VARLONG_BYTES_MAX: Final = 10
_NULL: Final = 1
"""A zigzag varint of -1, the length of an absent key or value."""
_ATTRIBUTES_BYTES: Final = 1
"""Kafka writes 0 and ignores the value."""
_PLAIN_MAX: Final = 10_000
"""The most records that a controller writes into one batch (QuorumController)."""
_INT64_MAX: Final = 2**63 - 1


def read_entries(
    records: bytes, *, base_offset: int, base_timestamp: int, count: int
) -> Iterator[Entry]:
    """Yield the records of a batch that is not compressed.

    Args:
        records: All bytes after the header of the batch.
        base_offset: The offset of the first record.
        base_timestamp: The base of the records' timestamp deltas, ms since 1970.
        count: Number of records that the header announces.

    Raises:
        DamagedBatch: a record is damaged; the records before it were yielded.
    """
    position, offset = 0, base_offset
    for plain, position in _read_plain(records, count):  # noqa: B007 used after the loop
        yield offset, base_timestamp, None, plain
        offset += 1
    for index in range(offset - base_offset, count):
        (delta, key, value), position = _read_entry(records, position, index)
        if not -_INT64_MAX - 1 <= base_timestamp + delta <= _INT64_MAX:
            _damaged(f"timestamp {base_timestamp + delta} does not fit 64 bits")
        yield base_offset + index, base_timestamp + delta, key, value
    if position != len(records):
        _damaged(f"{len(records) - position} bytes are left behind the last record")


def _read_plain(records: bytes, count: int) -> Iterator[tuple[bytes, int]]:
    """Yield the value and the end of each record, up to the first record that is not plain.

    Nearly all records are plain: no key, no timestamp delta, lengths of one or two bytes.
    `_read_entry` reads any record, and only it reports damage.
    """
    position, size = 0, len(records)
    begins = records.startswith
    for head in _plain_heads()[:count]:
        if position >= size - 2:
            return
        length = records[position]
        position += 1
        if length >= _ONE_BYTE:
            length = length & 0x7F | records[position] << 7
            position += 1
        end = position + (length >> 1)
        start = position + len(head)
        # After the head there are at least a length and the number of headers.
        if length > _TWO_BYTES or end > size or start + 1 >= end or not begins(head, position):
            return
        length = records[start]
        start += 1
        if length >= _ONE_BYTE:
            length = length & 0x7F | records[start] << 7
            start += 1
        stop = start + (length >> 1)
        # An odd length is negative; after the value there is only the number of headers.
        if length > _TWO_BYTES or stop + 1 != end or length & 1 or records[stop]:
            return
        yield records[start:stop], end
        position = end


@cache
def _plain_heads() -> tuple[bytes, ...]:
    """Return the bytes between length and value of each plain record, by its index in the batch."""
    return tuple(
        b"\0\0" + write_uvarint(index << 1) + bytes((_NULL,)) for index in range(_PLAIN_MAX)
    )


def _read_entry(
    records: bytes, position: int, index: int
) -> tuple[tuple[int, bytes | None, bytes | None], int]:
    """Return timestamp delta, key and value of any record, and the position after it.

    Raises:
        DamagedBatch: the record is inconsistent, or its offset delta is not `index`.
    """
    try:
        size, position = _varint(records, position)
        end = position + size
        if size <= 0 or end > len(records):
            _damaged(f"a record of {size} bytes, {len(records) - position} are left in the batch")
        timestamp, position = _varlong(records, position + _ATTRIBUTES_BYTES)
        offset, position = _varint(records, position)
        key, position = _read_bytes(records, position, end)
        value, position = _read_bytes(records, position, end)
        headers, position = _varint(records, position)
    except (IndexError, DamagedValue):
        _damaged("a record is cut, or has a varint without an end")
    if headers != 0 or position != end:
        _damaged(f"a record has {headers} headers, and {end - position} bytes behind them")
    if offset != index:
        _damaged(f"offset delta {offset} is where {index} should be")
    return (timestamp, key, value), end


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


def _varlong(records: bytes, position: int) -> tuple[int, int]:
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
