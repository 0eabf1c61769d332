"""Checks the structure of a value by its schema before kio decodes the value.

kio 0.6.5 trusts its input. An absurd array length aborts the whole process (its allocation fails in
Rust), a tag that the schema lacks raises KeyError, a null in a tagged field is rejected, and the
announced size of a tag is ignored. kafka-python decodes a string that is cut as a shorter string.
Kafka skips unknown tags and accepts nulls. Therefore this module first traverses the value: it
proves that all lengths stay inside the value, and removes the parts that Kafka can read but kio
cannot. It accepts the schemas of kio and of this project: any dataclass in kio's style, flexible
(varint lengths, tags) or not (before KIP-482).
"""

import dataclasses
from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, TypeAlias, get_args, get_origin

from streams.wire.errors import DamagedValue

Edit: TypeAlias = tuple[int, int, bytes]
"""Start, end and the bytes that replace value[start:end]."""
Walk: TypeAlias = Callable[[bytes, int, list[Edit]], int]
"""Traverses one field at a position and appends its edits; returns the position after it."""

_SIZES: Final[Mapping[str, int]] = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "int64": 8,
    "float64": 8,
    "uuid": 16,
    "error_code": 2,
    "timedelta_i32": 4,
    "timedelta_i64": 8,
}
_LEGACY_LENGTH_BYTES: Final[Mapping[str, int]] = {"string": 2, "bytes": 4, "records": 4}
_LEGACY_COUNT_BYTES: Final = 4
_UVARINT_BYTES_MAX: Final = 5
_UVARINT_MAX: Final = 2**32 - 1


def read_uvarint(value: bytes, position: int) -> tuple[int, int]:
    """Decode an unsigned varint of at most 32 bits (ByteUtils.readUnsignedVarint).

    Returns:
        The number and the position after it.

    Raises:
        DamagedValue: the value ends inside the varint, or the varint has more than 32 bits.
    """
    number = 0
    for index in range(_UVARINT_BYTES_MAX):
        if position + index >= len(value):
            raise DamagedValue(f"the value ends at byte {len(value)}, inside a varint")
        byte = value[position + index]
        number |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            if number > _UVARINT_MAX:
                raise DamagedValue(f"the varint at byte {position} needs more than 32 bits")
            return number, position + index + 1
    raise DamagedValue(f"a varint at byte {position} of the value has no end")


def write_uvarint(number: int) -> bytes:
    """Encode an unsigned varint (ByteUtils.writeUnsignedVarint)."""
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)


def normalize(entity_type: type, value: bytes, start: int) -> bytes:
    """Check the structure of a whole value, and remove the tags that kio cannot read.

    Args:
        entity_type: A dataclass in kio's style.
        value: The bytes; the entity extends from `start` to the end.
        start: Number of bytes before the entity, which do not change.

    Returns:
        `value` itself, or a copy without unknown tags and tagged nulls.

    Raises:
        DamagedValue: a length exceeds the value, the size of a tag is wrong, or bytes are left.
    """
    edits: list[Edit] = []
    end = _measure(entity_type, value, start, edits)
    if end != len(value):
        # Kafka's AbstractApiMessageSerde rejects them too ("garbage").
        raise DamagedValue(f"{len(value) - end} bytes are left behind the last field at byte {end}")
    if not edits:
        return value
    parts, position = [], 0
    for first, behind, replacement in sorted(edits):
        parts += [value[position:first], replacement]
        position = behind
    return b"".join((*parts, value[position:]))


def measure(entity_type: type, value: bytes, start: int) -> int:
    """Return the position after an entity that other bytes follow, such as a header.

    Raises:
        DamagedValue: the entity exceeds the value, or the size of a tag is wrong.
    """
    return _measure(entity_type, value, start, [])


def _measure(entity_type: type, value: bytes, start: int, edits: list[Edit]) -> int:
    try:
        end = _walk(entity_type)(value, start, edits)
    except IndexError:
        end = len(value) + 1
    if end > len(value):
        raise DamagedValue(f"the value ends too early, at byte {len(value)}")
    return end


@cache
def _walk(entity_type: type) -> Walk:
    """Return the function that traverses an entity: its fields in order, then its tags.

    Adjacent fields of fixed size are one step. Only fields with a length are compared with the end
    of the value: another step may pass the end, and the next read there fails.
    """
    flexible: bool = getattr(entity_type, "__flexible__", True)
    steps: list[Walk | int] = []
    tags: dict[int, tuple[Walk, bool]] = {}
    for field in dataclasses.fields(entity_type):
        nullable, step = _step(field, flexible=flexible)
        if "tag" in field.metadata:
            tags[field.metadata["tag"]] = (_as_walk(step), nullable)
        elif isinstance(step, int) and steps and isinstance(steps[-1], int):
            steps[-1] += step
        else:
            steps.append(step)
    walks = [_as_walk(step) for step in steps]

    def walk(value: bytes, position: int, edits: list[Edit]) -> int:
        for step in walks:
            position = step(value, position, edits)
        if not flexible:
            return position
        if value[position] == 0:
            return position + 1
        return _walk_tags(tags, value, position, edits)

    return walk


def _as_walk(step: Walk | int) -> Walk:
    """Return the traversal of a step; a number is the count of bytes to skip."""
    if not isinstance(step, int):
        return step
    return lambda _, position, __: position + step


def _walk_tags(
    tags: Mapping[int, tuple[Walk, bool]], value: bytes, start: int, edits: list[Edit]
) -> int:
    count, position = read_uvarint(value, start)
    cuts: list[Edit] = []
    behind_count = position
    for _ in range(count):
        first = position
        tag, position = read_uvarint(value, position)
        size, position = read_uvarint(value, position)
        end = position + size
        if end > len(value):
            raise DamagedValue(
                f"tag {tag} announces {size} bytes, {len(value) - position} are left"
            )
        if tag not in tags:
            cuts.append((first, end, b""))
        else:
            step, nullable = tags[tag]
            if step(value, position, edits) != end:
                raise DamagedValue(f"tag {tag} does not have the {size} bytes that it announces")
            if nullable and value[position] == 0:
                cuts.append((first, end, b""))
        position = end
    if cuts:
        edits.append((start, behind_count, write_uvarint(count - len(cuts))))
        edits += cuts
    return position


def _step(field: "dataclasses.Field[Any]", *, flexible: bool) -> tuple[bool, Walk | int]:
    """Return whether a field may be null, and its traversal or its fixed size in bytes."""
    annotation: Any = field.type
    is_union = get_origin(annotation) is UnionType
    members = [one for one in get_args(annotation) if one is not NoneType] if is_union else []
    inner = members[0] if members else annotation
    kafka_type: str | None = field.metadata.get("kafka_type")
    if get_origin(inner) is tuple:
        return is_union, _array_of(field.name, inner, kafka_type, is_union, flexible)
    if kafka_type is None:
        return False, _walk(inner)
    if (size := _SIZES.get(kafka_type)) is not None:
        # None represents a zero UUID; on the wire a UUID always has 16 bytes.
        return False, size
    if flexible:
        return is_union, _compact(field.name, 1, is_union)
    return is_union, _legacy(field.name, _LEGACY_LENGTH_BYTES[kafka_type], 1, is_union)


def _array_of(
    name: str,
    annotation: Any,  # noqa: ANN401
    kafka_type: str | None,
    nullable: bool,
    flexible: bool,
) -> Walk:
    size = _SIZES.get(kafka_type or "")
    if size is not None:
        if flexible:
            return _compact(name, size, nullable)
        return _legacy(name, _LEGACY_COUNT_BYTES, size, nullable)
    if kafka_type is None:
        element = _walk(get_args(annotation)[0])
    elif flexible:
        element = _compact("an element", 1, False)
    else:
        element = _legacy("an element", _LEGACY_LENGTH_BYTES[kafka_type], 1, False)
    return _array(name, element, nullable, read_uvarint if flexible else _read_count)


def _compact(name: str, size: int, nullable: bool) -> Walk:
    """Return the traversal of a compact string, or of a compact array of fixed-size elements."""

    def walk(value: bytes, position: int, _: list[Edit]) -> int:
        length = value[position]
        if length < 0x80:
            position += 1
        else:
            length, position = read_uvarint(value, position)
        if length == 0:
            return _null(name, position, nullable)
        return _behind(name, value, position, (length - 1) * size)

    return walk


def _legacy(name: str, length_bytes: int, size: int, nullable: bool) -> Walk:
    """Return the traversal of a string or array whose length has a fixed size; -1 is null."""

    def walk(value: bytes, position: int, _: list[Edit]) -> int:
        length = int.from_bytes(value[position : position + length_bytes], signed=True)
        position += length_bytes
        if length < 0:
            return _null(name, position, nullable and length == -1)
        return _behind(name, value, position, length * size)

    return walk


def _null(name: str, position: int, nullable: bool) -> int:
    if not nullable:
        raise DamagedValue(f"{name} is null, which it may not be")
    return position


def _behind(name: str, value: bytes, position: int, needed: int) -> int:
    if needed > len(value) - position:
        left = len(value) - position
        raise DamagedValue(f"{name} needs {needed} bytes, {left} are left in the value")
    return position + needed


def _read_count(value: bytes, position: int) -> tuple[int, int]:
    """Return an array length in the encoding of compact arrays: 0 is null, 1 is empty."""
    behind = position + _LEGACY_COUNT_BYTES
    return int.from_bytes(value[position:behind], signed=True) + 1, behind


def _array(
    name: str,
    element: Walk,
    nullable: bool,
    read_length: Callable[[bytes, int], tuple[int, int]],
) -> Walk:
    """Return the traversal of an array of elements whose sizes vary."""

    def walk(value: bytes, position: int, edits: list[Edit]) -> int:
        length, position = read_length(value, position)
        if length <= 0:
            return _null(name, position, nullable and length == 0)
        # No element is smaller than a byte, so this bounds the loop.
        _behind(name, value, position, length - 1)
        for _ in range(length - 1):
            position = element(value, position, edits)
        return position

    return walk
