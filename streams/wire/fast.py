"""PartitionRecord and PartitionChangeRecord, straight from bytes to `migration.records`.

Nearly all of a large metadata log is these two types, and nearly all of them have one of a few
shapes: no replicas being added or removed, lists shorter than 127 elements, no tag that is new.
A shape has fixed places, so one prepared `struct` reads such a value whole; shapes are learned as
they are met. Whatever has another shape goes to `read_in_full`, the reader through kio: these
readers never guess, and it is their twin that decides what is damaged. A property test holds both
to the same answers.
"""

from collections.abc import Callable, Mapping
from struct import Struct
from typing import Any, Final, NamedTuple, TypeAlias

from migration.records import Partition, PartitionChange, Record
from streams.wire.project import read_in_full

Reader: TypeAlias = Callable[[bytes], Record]
Unpack: TypeAlias = Callable[[bytes], tuple[Any, ...]]

_FIRST_LENGTH_AT: Final = 23
"""Behind the frame (3 bytes), the partition id (4) and the topic id (16)."""
_ONE_BYTE: Final = 0x80
"""Varints below are one byte long."""
_SHAPES_MAX: Final = 4096
"""A log has a few dozen shapes; what would learn more of them is not worth the memory."""
_TWO_EMPTY: Final = 0x0101
"""Two compact arrays without elements: each length is written plus one."""


class _PartitionShape(NamedTuple):
    """Where a PartitionRecord of one shape has what: indexes into what `unpack` returns."""

    unpack: Unpack
    isr: int
    empties: int
    directories: int
    directories_length: int


_PARTITION_SHAPES: Final[dict[tuple[int, int, int, int], _PartitionShape]] = {}


def _read_partition(value: bytes) -> Record:
    """Read a PartitionRecord of any version that has no tags and moves no replicas."""
    try:
        replicas = value[_FIRST_LENGTH_AT]
        key = len(value), value[2], replicas, value[20 + 4 * replicas]
    except IndexError:
        return read_in_full(value)
    shape = _PARTITION_SHAPES.get(key) or _learn_partition(*key)
    if shape is None:
        return read_in_full(value)
    unpack, isr, empties, directories, directories_length = shape
    found = unpack(value)
    if (
        found[empties] != _TWO_EMPTY
        or found[-1] != 0
        or (directories_length and found[directories - 1] != directories_length)
    ):
        return read_in_full(value)
    return tuple.__new__(
        Partition,
        (
            found[0],
            found[1],
            found[2:isr],
            found[isr:empties],
            (),
            (),
            found[empties + 1],
            found[empties + 2],
            found[empties + 3],
            0,
            found[directories:-1] or None,
        ),
    )


def _learn_partition(size: int, version: int, replicas: int, isr: int) -> _PartitionShape | None:
    """Make the shape of values of this size, if it is one.

    Args:
        size: Bytes of the value.
        version: The record's version.
        replicas: How many replicas, plus one, as on the wire.
        isr: How many of them are in sync, plus one.
    """
    if not (0 < replicas < _ONE_BYTE and 0 < isr < _ONE_BYTE):
        return None
    layout = f">3xi16sx{replicas - 1}ix{isr - 1}iH3i"
    empties = replicas + isr
    left = size - Struct(layout).size - 1
    if version == 0:
        fits, count, layout = left == 0, 0, layout + "B"
    else:
        count, odd = divmod(left - 1, 16)
        fits = left > 0 and not odd and count < _ONE_BYTE - 1
        layout += "B" + "16s" * count + "B"
    if not fits or len(_PARTITION_SHAPES) >= _SHAPES_MAX:
        return None
    first = empties + 4 + (version != 0)
    shape = _PartitionShape(
        Struct(layout).unpack, replicas + 1, empties, first, count + 1 if version else 0
    )
    _PARTITION_SHAPES[size, version, replicas, isr] = shape
    return shape


class _Part(NamedTuple):
    """One tagged field of a PartitionChangeRecord of one shape.

    Attributes:
        field: Which field of PartitionChange, counted from `isr`.
        where: Where `unpack`'s result has its value.
        length_at: The byte in the value that holds the array's length.
        length: What that byte must be.
    """

    field: int
    where: int | slice
    length_at: int
    length: int


_ChangeShape: TypeAlias = tuple[Unpack, tuple[_Part, ...]]
_CHANGE_SHAPES: Final[dict[bytes, _ChangeShape]] = {}
_NO_CHANGE: Final = (None, -2, None, None, None, -1, None)
"""From isr to directories: the defaults, which say that a field did not change."""
_CHANGE_TAGS: Final[Mapping[int, tuple[int, str]]] = {
    0: (0, "i"),
    1: (1, "i"),
    2: (2, "i"),
    3: (3, "i"),
    4: (4, "i"),
    5: (5, "b"),
    8: (6, "16s"),
}
"""By tag: the field's place in `_NO_CHANGE`, and the struct code of its elements."""
_DIRECTORIES_TAG: Final = 8
_SINGLE: Final = (1, 5)
"""Tags whose field is one number, not an array."""


def _read_change(value: bytes) -> Record:
    """Read a PartitionChangeRecord of any version whose tags and lengths have one byte each."""
    position = _FIRST_LENGTH_AT + 1
    try:
        heads = value[2:3]
        for _ in range(value[_FIRST_LENGTH_AT]):
            heads += value[position : position + 2]
            position += 2 + value[position + 1]
    except IndexError:
        return read_in_full(value)
    shape = _CHANGE_SHAPES.get(heads)
    if shape is None:
        shape = _learn_change(heads)
    if shape is None or position != len(value):
        return read_in_full(value)
    unpack, parts = shape
    found = unpack(value)
    fields: list[Any] = [*_NO_CHANGE]
    for field, where, length_at, length in parts:
        if value[length_at] != length:
            return read_in_full(value)
        fields[field] = found[where]
    return tuple.__new__(PartitionChange, (found[0], found[1], *fields))


def _learn_change(heads: bytes) -> _ChangeShape | None:
    """Make the shape of values with these tags, if it is one.

    Args:
        heads: The record's version, then tag and size of each tagged field.
    """
    version, tags, sizes = heads[0], heads[1::2], heads[2::2]
    if len(tags) != len(set(tags)) or max(sizes, default=0) >= _ONE_BYTE:
        return None
    layout, position, index = ">3xi16sx", _FIRST_LENGTH_AT + 1, 2
    parts = []
    for tag, size in zip(tags, sizes, strict=True):
        if tag not in _CHANGE_TAGS or (tag == _DIRECTORIES_TAG and version == 0):
            return None
        field, code = _CHANGE_TAGS[tag]
        lengths = 0 if tag in _SINGLE else 1
        count, odd = divmod(size - lengths, Struct(code).size)
        if size == 0 or odd or (not lengths and count != 1):
            return None
        layout += f"{2 + lengths}x" + (f"{count}{code}" if code != "16s" else code * count)
        where = slice(index, index + count) if lengths else index
        parts.append(_Part(field, where, position + 1 + lengths, count + 1 if lengths else size))
        position += 2 + size
        index += count
    if len(_CHANGE_SHAPES) >= _SHAPES_MAX:
        return None
    shape = Struct(layout).unpack, tuple(parts)
    _CHANGE_SHAPES[heads] = shape
    return shape


FAST_READERS: Final[Mapping[bytes, Reader]] = {
    bytes((1, api_key, version)): reader
    for api_key, reader in ((3, _read_partition), (5, _read_change))
    for version in range(3)
}
"""By a value's first three bytes: frame version, api key, version."""
