"""Decodes a record's bytes to the named tuple that `migration` uses.

In: the value of a data record, or a whole batch. Out: `migration.metadata.records`.

A value of a usual shape is read by one prepared `struct` (`streams.wire.shapes`); a shape is
computed for the first value that has it, then reused. Values of any other shape go to
`read_in_full`, the reader through kio: the fast readers never guess, and only `read_in_full`
reports damage. A property test requires equal results of both.
"""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import count as count_from
from operator import itemgetter
from struct import Struct
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from migration.metadata.records import (
    LeaderChange,
    NoOp,
    Partition,
    PartitionChange,
    Record,
    Unrelated,
)
from streams.wire.batches import Batch
from streams.wire.control import LeaderChangeMessageV0, LeaderChangeMessageV1
from streams.wire.errors import WireError
from streams.wire.project import PROJECTED, read_in_full
from streams.wire.schema import RECORDS
from streams.wire.shapes import (
    Default,
    Field,
    Shape,
    change_heads,
    change_shape,
    partition_key,
    partition_shape,
)

Reader: TypeAlias = Callable[[bytes], Record]
Key = TypeVar("Key")

_SHAPES_MAX: Final = 4096
"""A log has a few dozen shapes; storing more than this is not worth the memory."""


class _ShapeReader(NamedTuple):
    """The functions that read the values of one shape.

    Attributes:
        unpack: Returns all numbers and ids of a value.
        lengths_of: Returns the bytes of a value that the shape fixes.
        lengths: The required value of these bytes.
        pick: Returns the fields of the record, from the unpacked values followed by `defaults`.
        defaults: The values of the fields that the shape does not have.
    """

    unpack: Callable[[bytes], tuple[Any, ...]]
    lengths_of: Callable[[bytes], Any]
    lengths: Any
    pick: Callable[[tuple[Any, ...]], tuple[Any, ...]]
    defaults: tuple[Any, ...]


def _shape_reader(shape: Shape) -> _ShapeReader:
    layout, position, index = ">", 0, 0
    places: dict[Field, int | slice] = {}
    for field in sorted(each for each in shape.fields if isinstance(each, Field)):
        count = 1 if field.elements is None else field.elements
        layout += "x" * (field.start - position) + field.code * count
        position = Struct(layout).size
        places[field] = index if field.elements is None else slice(index, index + count)
        index += count
    layout += "x" * (shape.size - position)
    defaults = tuple(each.value for each in shape.fields if isinstance(each, Default))
    following = count_from(index)
    pick = itemgetter(
        *(places[each] if isinstance(each, Field) else next(following) for each in shape.fields)
    )
    lengths = tuple(value for _, value in shape.fixed)
    return _ShapeReader(
        unpack=Struct(layout).unpack,
        lengths_of=itemgetter(*(at for at, _ in shape.fixed)),
        lengths=lengths[0] if len(lengths) == 1 else lengths,
        pick=pick,
        defaults=defaults,
    )


def _shaped(
    kind: type[Partition | PartitionChange],
    key_of: Callable[[bytes], Key | None],
    shape_of: Callable[[int, Key], Shape | None],
    version: int,
) -> Reader:
    """Return a reader of records of a type; `key_of` finds the shape of a value."""
    readers: dict[Key | None, _ShapeReader] = {}
    make = partial(tuple.__new__, kind)

    def read_shaped(value: bytes) -> Record:
        try:
            key = key_of(value)
        except IndexError:
            return read_in_full(value)
        reader = readers.get(key)
        if reader is None:
            shape = None if key is None else shape_of(version, key)
            if shape is None or len(readers) >= _SHAPES_MAX:
                return read_in_full(value)
            reader = readers[key] = _shape_reader(shape)
        unpack, lengths_of, lengths, pick, defaults = reader
        if lengths_of(value) != lengths:
            return read_in_full(value)
        return make(pick(unpack(value) + defaults))

    return read_shaped


def _unrelated(api_key: int) -> Reader:
    record = Unrelated(api_key)
    return lambda _: record


FAST_READERS: Final[Mapping[bytes, Reader]] = {
    bytes((1, api_key, version)): reader
    for version in range(3)
    for api_key, reader in (
        (3, _shaped(Partition, partition_key, partition_shape, version)),
        (5, _shaped(PartitionChange, change_heads, change_shape, version)),
    )
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
    return reader(value) if reader else read_in_full(value)


def read_records(batch: Batch) -> list[tuple[int, int, Record]]:
    """Return the records of a whole batch: metadata offset, timestamp in ms, record.

    Of a control batch, only LeaderChange is returned: `migration` does not use the other control
    records (header and footer of a snapshot, the voters). `Batch.control_records` returns all.

    Raises:
        DamagedBatch: the records are inconsistent although the CRC is correct.
        WireError: an error of a value, with the place of the batch and the record's offset.
    """
    found: list[tuple[int, int, Record]] = [
        (offset, timestamp_ms, LeaderChange(control.leader_id))
        for offset, timestamp_ms, control in batch.control_records()
        if isinstance(control, LeaderChangeMessageV0 | LeaderChangeMessageV1)
    ]
    for offset, timestamp_ms, value in batch.records():
        try:
            found.append((offset, timestamp_ms, read_record(value)))
        except WireError as error:
            error.locate(file=batch.file, position=batch.position, offset=offset)
            raise
    return found
