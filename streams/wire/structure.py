"""Walk a value by its schema before kio reads it: lengths first, contents after.

kio 0.6.5 trusts what it reads. An absurd array length aborts the whole process (its allocation
fails in Rust), a tag that the schema lacks is a KeyError, a null in a tagged field is refused, and
the size that a tag announces is ignored. Kafka skips unknown tags and takes nulls, so a walk goes
first: it proves that all lengths stay inside the value, and cuts what kio cannot read although
Kafka can. Schemas are kio's own and ours alike: any flexible dataclass in kio's style.
"""

import dataclasses
from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, TypeAlias, get_args, get_origin

from streams.wire.errors import DamagedValue

Edit: TypeAlias = tuple[int, int, bytes]
"""Replace value[start:end] by these bytes."""
Walk: TypeAlias = Callable[[bytes, int, list[Edit]], int]
"""Step over one field at a position, noting edits; returns the position behind it."""

_SIZES: Final[Mapping[str, int]] = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "int64": 8,
    "float64": 8,
    "uuid": 16,
}
_UVARINT_BYTES_MAX: Final = 5
_UVARINT_MAX: Final = 2**32 - 1


def read_uvarint(value: bytes, position: int) -> tuple[int, int]:
    """Read an unsigned varint of at most 32 bits (ByteUtils.readUnsignedVarint).

    Returns:
        The number and the position behind it.

    Raises:
        DamagedValue: the value ends inside it, or it has more than 32 bits.
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
    """Write an unsigned varint (ByteUtils.writeUnsignedVarint)."""
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)


def normalize(entity_type: type, value: bytes, start: int) -> bytes:
    """Check the structure of a whole value, and cut the tags that kio cannot read.

    Args:
        entity_type: A flexible dataclass in kio's style.
        value: The bytes; the entity starts at `start` and goes to the end.
        start: Bytes before the entity, kept as they are.

    Returns:
        `value` itself, or a copy without unknown tags and tagged nulls.

    Raises:
        DamagedValue: a length leads out of the value, a tag's size is wrong, or bytes are left.
    """
    edits: list[Edit] = []
    try:
        end = _walk(entity_type)(value, start, edits)
    except IndexError:
        raise DamagedValue(f"the value ends too early, at byte {len(value)}") from None
    if end != len(value):
        # Kafka's AbstractApiMessageSerde calls them garbage, and refuses too.
        raise DamagedValue(f"{len(value) - end} bytes are left behind the last field at byte {end}")
    if not edits:
        return value
    parts, position = [], 0
    for first, behind, replacement in sorted(edits):
        parts += [value[position:first], replacement]
        position = behind
    return b"".join((*parts, value[position:]))


@cache
def _walk(entity_type: type) -> Walk:
    """Make the walk over an entity: its fields in order, then its tags.

    Neighbours of fixed size are one step. Only what has a length is held against the value's end:
    the other steps may lead behind it, where the next one finds nothing.
    """
    steps: list[Walk | int] = []
    tags: dict[int, tuple[Walk, bool]] = {}
    for field in dataclasses.fields(entity_type):
        nullable, step = _step(field)
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
        if value[position] == 0:
            return position + 1
        return _walk_tags(tags, value, position, edits)

    return walk


def _as_walk(step: Walk | int) -> Walk:
    """Make a walk of a number of bytes."""
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


def _step(field: "dataclasses.Field[Any]") -> tuple[bool, Walk | int]:
    """Tell whether a field may be null, and make the walk over it, or say its fixed size."""
    annotation: Any = field.type
    is_union = get_origin(annotation) is UnionType
    members = [one for one in get_args(annotation) if one is not NoneType] if is_union else []
    inner = members[0] if members else annotation
    kafka_type: str | None = field.metadata.get("kafka_type")
    size = _SIZES.get(kafka_type or "")
    if get_origin(inner) is tuple:
        if size is not None:
            return is_union, _compact(field.name, size, is_union)
        element = _compact("an element", 1, False) if kafka_type else _walk(get_args(inner)[0])
        return is_union, _array(field.name, element, is_union)
    if kafka_type is None:
        return False, _walk(inner)
    if size is not None:
        # A uuid is None when it is zero; on the wire it always has its 16 bytes.
        return False, size
    return is_union, _compact(field.name, 1, is_union)


def _compact(name: str, size: int, nullable: bool) -> Walk:
    """Make the walk over a compact string, or an array of elements of one size."""

    def walk(value: bytes, position: int, _: list[Edit]) -> int:
        length = value[position]
        if length < 0x80:
            position += 1
        else:
            length, position = read_uvarint(value, position)
        if length == 0:
            if nullable:
                return position
            raise DamagedValue(f"{name} is null, which it may not be")
        behind = position + (length - 1) * size
        if behind > len(value):
            needed, left = behind - position, len(value) - position
            raise DamagedValue(f"{name} needs {needed} bytes, {left} are left in the value")
        return behind

    return walk


def _array(name: str, element: Walk, nullable: bool) -> Walk:
    """Make the walk over an array of elements that have sizes of their own."""

    def walk(value: bytes, position: int, edits: list[Edit]) -> int:
        length, position = read_uvarint(value, position)
        if length == 0 and not nullable:
            raise DamagedValue(f"{name} is null, which it may not be")
        for _ in range(length - 1):
            position = element(value, position, edits)
        return position

    return walk
