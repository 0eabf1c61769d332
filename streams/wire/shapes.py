"""The shapes of PartitionRecords and PartitionChangeRecords: where each field is in the bytes.

Nearly all values of a large metadata log have one of a few dozen shapes: no replicas being added or
removed when a partition is created, lists shorter than 127 elements, no unknown tag. Values of one
shape have the same size and the same bytes at some positions, `fixed`; everything else is fields.
So one matrix reads many such values (`streams.wire.columns`).
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from migration.metadata.records import PartitionChange

FIRST_LENGTH_AT: Final = 23
"""After the frame (3 bytes), the partition id (4) and the topic id (16)."""
ONE_BYTE: Final = 0x80
"""Varints below this value are one byte long."""
_ID: Final = "16s"
_BYTES: Final[Mapping[str, int]] = {"i": 4, "b": 1, _ID: 16}


class Field(NamedTuple):
    """Where a field is.

    Attributes:
        start: position of its first byte.
        code: of `struct`: of the number, or of each element.
        elements: of the list; None: it is one number or id.
    """

    start: int
    code: str
    elements: int | None = None


class Default(NamedTuple):
    """The value of a field that values of this shape do not have."""

    value: object


class Shape(NamedTuple):
    """A shape.

    Attributes:
        fixed: position and value of the bytes after the frame that all values of the shape share.
        fields: by name in Kafka's schema, as in `migration.metadata.records`.
    """

    fixed: tuple[tuple[int, int], ...]
    fields: Mapping[str, Field | Default]


PARTITION_ID: Final = Field(3, "i")
TOPIC_ID: Final = Field(7, _ID)


def partition_shape(version: int, value: bytes) -> Shape | None:
    """Return the shape of a PartitionRecord; None: it has none.

    Raises:
        IndexError: the value is cut.
    """
    size, replicas = len(value), value[FIRST_LENGTH_AT]
    isr_at = 21 + 4 * replicas
    isr = value[isr_at - 1]
    if not (0 < replicas < ONE_BYTE and 0 < isr < ONE_BYTE):
        return None
    # Replicas that are removed and added, both none; leader; leader epoch; partition epoch.
    empties_at = isr_at + 4 * (isr - 1)
    leader_at = empties_at + 2
    directories_at = leader_at + 12
    fixed = [(FIRST_LENGTH_AT, replicas), (isr_at - 1, isr)]
    fixed += [(empties_at, 1), (empties_at + 1, 1), (size - 1, 0)]
    count, odd = 0, size - directories_at - 1
    if version > 0:
        count, odd = divmod(size - directories_at - 2, _BYTES[_ID])
        fixed.append((directories_at, count + 1))
    if odd or not 0 <= count < ONE_BYTE - 1:
        return None
    fields: dict[str, Field | Default] = {
        "replicas": Field(24, "i", replicas - 1),
        "isr": Field(isr_at, "i", isr - 1),
        "removing_replicas": Default(()),
        "adding_replicas": Default(()),
        "leader": Field(leader_at, "i"),
        "directories": Field(directories_at + 1, _ID, count) if count else Default(None),
        "recovering": Default(False),
    }
    return Shape(tuple(fixed), fields)


_NO_CHANGE: Final[Mapping[str, Field | Default]] = {
    name: Default(value) for name, value in PartitionChange._field_defaults.items()
}
_CHANGE_TAGS: Final[Mapping[int, tuple[str, str]]] = {
    0: ("isr", "i"),
    1: ("leader", "i"),
    2: ("replicas", "i"),
    3: ("removing_replicas", "i"),
    4: ("adding_replicas", "i"),
    5: ("recovering", "b"),
    8: ("directories", _ID),
}
"""By tag: the field, and the struct code of its elements."""
_DIRECTORIES_TAG: Final = 8
_SINGLE: Final = (1, 5)
"""The tags of fields that are one number instead of an array."""


def change_shape(version: int, value: bytes) -> Shape | None:
    """Return the shape of a PartitionChangeRecord; None: it has none.

    Raises:
        IndexError: the value is cut.
    """
    tags, position = value[FIRST_LENGTH_AT], FIRST_LENGTH_AT + 1
    fixed, fields = [(FIRST_LENGTH_AT, tags)], dict(_NO_CHANGE)
    for _ in range(tags):
        tag, size = value[position], value[position + 1]
        if tag not in _CHANGE_TAGS or (tag == _DIRECTORIES_TAG and version == 0):
            return None
        field, code = _CHANGE_TAGS[tag]
        own = 0 if tag in _SINGLE else 1
        count, odd = divmod(size - own, _BYTES[code])
        if odd or count < 0 or (not own and count != 1):
            return None
        if size >= ONE_BYTE or isinstance(fields.get(field), Field):
            return None
        fixed += [(position, tag), (position + 1, size)]
        if own:  # a number has no length field
            fixed.append((position + 2, count + 1))
        fields[field] = Field(position + 2 + own, code, count if own else None)
        position += 2 + size
    return Shape(tuple(fixed), fields) if position == len(value) else None
