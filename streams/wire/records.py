"""Decodes a record's bytes to the named tuple that `migration` uses.

In: the value of a data record, or a whole batch. Out: `migration.metadata.records`.

Nearly all records of a large metadata log are PartitionRecords and PartitionChangeRecords, and
nearly all of them have one of a few shapes: no replicas being added or removed, lists shorter than
127 elements, no unknown tag. A shape has fields at fixed positions, so one prepared `struct` reads
the whole value. A shape is computed for the first value that has it, then reused. Values of any
other shape go to `read_in_full`, the reader through kio: the fast readers never guess, and only
`read_in_full` reports damage. A property test requires equal results of both.
"""

from collections.abc import Callable, Mapping
from operator import itemgetter
from struct import Struct
from typing import Any, Final, NamedTuple, TypeAlias

from migration.metadata.records import (
    LeaderChange,
    NoOp,
    Partition,
    PartitionChange,
    Record,
    Unknown,
    Unrelated,
)
from streams.wire.batches import Batch
from streams.wire.control import LeaderChangeMessageV0, LeaderChangeMessageV1
from streams.wire.project import PROJECTED, read_in_full
from streams.wire.schema import RECORDS
from streams.wire.values import known, read_frame

Reader: TypeAlias = Callable[[bytes], Record]

_FIRST_LENGTH_AT: Final = 23
"""After the frame (3 bytes), the partition id (4) and the topic id (16)."""
_ONE_BYTE: Final = 0x80
"""Varints below this value are one byte long."""
_SHAPES_MAX: Final = 4096
"""A log has a few dozen shapes; storing more than this is not worth the memory."""


class _Shape(NamedTuple):
    """The functions that read the values of one shape.

    Attributes:
        unpack: Returns all numbers and ids of a value.
        lengths_of: Returns the bytes of a value that the shape fixes.
        lengths: The required value of these bytes.
        pick: Returns the fields of the record, from the unpacked values followed by the defaults.
    """

    unpack: Callable[[bytes], tuple[Any, ...]]
    lengths_of: Callable[[bytes], Any]
    lengths: Any
    pick: Callable[[tuple[Any, ...]], tuple[Any, ...]]


_PARTITION_DEFAULTS: Final = ((), 0, None)
"""No replicas; recovered; no directories."""


def _partition_reader(version: int) -> Reader:
    """Return a reader of PartitionRecords that have no tags and move no replicas."""
    shapes: dict[tuple[int, int, int], _Shape] = {}

    def read_partition(value: bytes) -> Record:
        try:
            replicas = value[_FIRST_LENGTH_AT]
            key = len(value), replicas, value[20 + 4 * replicas]
        except IndexError:
            return read_in_full(value)
        shape = shapes.get(key)
        if shape is None:
            shape = _partition_shape(version, *key)
            if shape is None or len(shapes) >= _SHAPES_MAX:
                return read_in_full(value)
            shapes[key] = shape
        unpack, lengths_of, lengths, pick = shape
        if lengths_of(value) != lengths:
            return read_in_full(value)
        return tuple.__new__(Partition, pick(unpack(value) + _PARTITION_DEFAULTS))

    return read_partition


def _partition_shape(version: int, size: int, replicas: int, isr: int) -> _Shape | None:
    """Return the shape of values of this size; None: they have no fixed shape.

    Args:
        version: The version of the record.
        size: Bytes of the value.
        replicas: Number of replicas plus one, as on the wire.
        isr: Number of in-sync replicas plus one, as on the wire.
    """
    if not (0 < replicas < _ONE_BYTE and 0 < isr < _ONE_BYTE):
        return None
    # partition id, topic id, replicas, isr, two empty lists, leader, leader and partition epoch
    layout = f">3xi16sx{replicas - 1}ix{isr - 1}i2x3i"
    empties_at = _FIRST_LENGTH_AT + 4 * (replicas + isr) - 6
    directories_at = Struct(layout).size
    places, lengths = [empties_at, empties_at + 1, size - 1], [1, 1, 0]
    count, odd = 0, size - directories_at - 1
    if version > 0:
        count, odd = divmod(size - directories_at - 2, 16)
        places.append(directories_at)
        lengths.append(count + 1)
        layout += "x" + "16s" * count
    if odd or not 0 <= count < _ONE_BYTE - 1:
        return None
    leader = replicas + isr
    numbers = leader + 3
    no_replicas, recovered, no_directories = (numbers + count + extra for extra in range(3))
    pick = itemgetter(
        0,
        1,
        slice(2, replicas + 1),
        slice(replicas + 1, leader),
        no_replicas,
        no_replicas,
        leader,
        leader + 1,
        leader + 2,
        recovered,
        slice(numbers, numbers + count) if count else no_directories,
    )
    return _Shape(Struct(layout + "x").unpack, itemgetter(*places), tuple(lengths), pick)


_NO_CHANGE: Final = (None, -2, None, None, None, -1, None)
"""The defaults of the fields from isr to directories: the field did not change."""
_CHANGE_TAGS: Final[Mapping[int, tuple[int, str]]] = {
    0: (0, "i"),
    1: (1, "i"),
    2: (2, "i"),
    3: (3, "i"),
    4: (4, "i"),
    5: (5, "b"),
    8: (6, "16s"),
}
"""By tag: the index of the field in `_NO_CHANGE`, and the struct code of its elements."""
_DIRECTORIES_TAG: Final = 8
_SINGLE: Final = (1, 5)
"""The tags of fields that are one number instead of an array."""


def _change_reader(version: int) -> Reader:
    """Return a reader of PartitionChangeRecords whose tags and lengths have one byte each."""
    shapes: dict[bytes, _Shape] = {}

    def read_change(value: bytes) -> Record:
        try:
            heads = value[_FIRST_LENGTH_AT : _FIRST_LENGTH_AT + 3]
            position = _FIRST_LENGTH_AT + 3 + heads[2]
            for _ in range(heads[0] - 1):
                heads += value[position : position + 2]
                position += 2 + value[position + 1]
        except IndexError:
            return read_in_full(value)
        shape = shapes.get(heads)
        if shape is None:
            shape = _change_shape(version, heads)
            if shape is None or len(shapes) >= _SHAPES_MAX:
                return read_in_full(value)
            shapes[heads] = shape
        unpack, lengths_of, lengths, pick = shape
        if position != len(value) or lengths_of(value) != lengths:
            return read_in_full(value)
        return tuple.__new__(PartitionChange, pick(unpack(value) + _NO_CHANGE))

    return read_change


def _change_shape(version: int, heads: bytes) -> _Shape | None:
    """Return the shape of values with these tags; None: they have no fixed shape.

    Args:
        version: The version of the record.
        heads: The number of tags, then tag and size of each.
    """
    tags, sizes = heads[1::2], heads[2::2]
    if heads[0] != len(tags) or len(tags) != len(set(tags)) or max(sizes) >= _ONE_BYTE:
        return None
    layout, position, index = ">3xi16sx", _FIRST_LENGTH_AT + 1, 2
    places, lengths = [], []
    fields: dict[int, int | slice] = {}
    for tag, size in zip(tags, sizes, strict=True):
        if tag not in _CHANGE_TAGS or (tag == _DIRECTORIES_TAG and version == 0):
            return None
        field, code = _CHANGE_TAGS[tag]
        own = 0 if tag in _SINGLE else 1
        count, odd = divmod(size - own, Struct(code).size)
        if odd or count < 0 or (not own and count != 1):
            return None
        layout += "x" * (2 + own) + code * count
        # A number has no length field; the size of its tag is checked instead.
        places.append(position + 1 + own)
        lengths.append(count + 1 if own else size)
        fields[field] = slice(index, index + count) if own else index
        position += 2 + size
        index += count
    pick = itemgetter(0, 1, *(fields.get(field, index + field) for field in range(7)))
    expected = lengths[0] if len(lengths) == 1 else tuple(lengths)
    return _Shape(Struct(layout).unpack, itemgetter(*places), expected, pick)


def _unrelated(api_key: int) -> Reader:
    record = Unrelated(api_key)
    return lambda _: record


FAST_READERS: Final[Mapping[bytes, Reader]] = {
    bytes((1, api_key, version)): make(version)
    for api_key, make in ((3, _partition_reader), (5, _change_reader))
    for version in range(3)
}
"""Readers by the first three bytes of a value: frame version, api key, version."""
_READERS: Final[Mapping[bytes, Reader]] = {
    bytes((1, api_key, version)): read_in_full if api_key in PROJECTED else _unrelated(api_key)
    for api_key, version in RECORDS
} | dict(FAST_READERS)
_NO_OP: Final = b"\x01\x14\x00\x00"


def read_record(value: bytes) -> Record:
    """Decode the value of one data record.

    A record of a type that `migration` does not use becomes `Unrelated`, and only its frame is
    checked; `read_value` decodes such a record in full. A type that Kafka 3.9 does not have becomes
    `Unknown`.

    Raises:
        UnknownFrameVersion: the frame is not of version 1.
        UnsupportedRecordVersion: the type is known only in older versions.
        DamagedValue: the value is cut, has bytes left, or does not decode.
    """
    if value == _NO_OP:
        return NoOp()
    reader = _READERS.get(value[:3])
    return reader(value) if reader else _read_unusual(value)


def _read_unusual(value: bytes) -> Record:
    """Decode a value whose first three bytes are not a known type and version."""
    api_key, version, _ = read_frame(value)
    if not known(api_key, version):
        return Unknown(api_key)
    return read_in_full(value)


def read_records(batch: Batch) -> list[tuple[int, int, Record]]:
    """Return the records of a whole batch: metadata offset, timestamp in ms, record.

    Of a control batch, only LeaderChange is returned: `migration` does not use the other control
    records (header and footer of a snapshot, the voters). `Batch.control_records` returns all.

    Raises:
        DamagedBatch: the records are inconsistent although the CRC is correct.
        WireError: an error of a value, with the place of the batch and the record's offset.
    """
    if not batch.is_control:
        return batch.decode(read_record)
    return [
        (offset, timestamp_ms, LeaderChange(control.leader_id))
        for offset, timestamp_ms, control in batch.control_records()
        if isinstance(control, LeaderChangeMessageV0 | LeaderChangeMessageV1)
    ]
