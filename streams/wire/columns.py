"""Decodes many PartitionRecords and PartitionChangeRecords at once, to columns.

In: values, grouped by their length, as the rows of matrices. Out: `PartitionRecords` of
`migration`. Values of one shape (`streams.wire.shapes`) are decoded together: a field is a few
columns of the matrix. Every other value goes to `streams.wire.records.read_record`, which also
reports damage; a property test requires equal results of both.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from migration.metadata.records import Partition, PartitionChange
from migration.shard.lists import Flags, Integers, Lists
from migration.shard.partition_records import UNCHANGED, Ids, PartitionRecords
from streams.wire.project import RECOVERING
from streams.wire.records import read_record
from streams.wire.shapes import (
    PARTITION_ID,
    TOPIC_ID,
    Default,
    Field,
    Shape,
    change_shape,
    partition_shape,
)

Matrix: TypeAlias = NDArray[np.uint8]

PARTITION_KEY: Final = 3
CHANGE_KEY: Final = 5
_FRAME: Final = 3
"""Bytes: frame version, api key, version."""
_FRAME_VERSION: Final = 1
_VERSIONS: Final = 3
_SHAPES_MAX: Final = 32
"""In one group; values of further shapes are read one by one."""


class Values(NamedTuple):
    """Values of equal length: their metadata offsets, timestamps (ms), and a row of bytes each."""

    offsets: Integers
    timestamps: Integers
    matrix: Matrix

    def take(self, rows: "Integers | Flags") -> "Values":
        return Values(self.offsets[rows], self.timestamps[rows], self.matrix[rows])


def read_columns(groups: Sequence[Values]) -> PartitionRecords:
    """Decode the values of partition records; return them in the order of their offsets.

    Raises:
        WireError: a value is damaged or of a version that this Kraftgate does not know.
    """
    parts: list[PartitionRecords] = []
    others: list[tuple[int, int, Partition | PartitionChange]] = []
    for group in groups:
        left = group
        for _ in range(_SHAPES_MAX):
            if not len(left.offsets):
                break
            found = _first_shape(left.matrix)
            if found is None:
                # Only the first value is known to be unusual.
                others += _one_by_one(left.take(np.arange(1)))
                left = left.take(np.arange(1, len(left.offsets)))
                continue
            api_key, shape, alike = found
            part = left if alike.all() else left.take(alike)
            parts.append(_decoded(part, api_key, shape))
            left = left.take(~alike)
        others += _one_by_one(left)
    others.sort(key=lambda each: each[0])
    return PartitionRecords.joined([*parts, PartitionRecords.of(others)])


def _one_by_one(values: Values) -> list[tuple[int, int, Partition | PartitionChange]]:
    rows = zip(values.offsets.tolist(), values.timestamps.tolist(), values.matrix, strict=True)
    return [
        # The router sends a shard no other type of record in columns.
        (offset, timestamp_ms, cast(Partition | PartitionChange, read_record(row.tobytes())))
        for offset, timestamp_ms, row in rows
    ]


def _first_shape(matrix: Matrix) -> tuple[int, Shape, Flags] | None:
    """Return api key and shape of the first value, and which values have them; None: no shape."""
    value = matrix[0].tobytes()
    version, api_key, record_version = value[:_FRAME]
    if version != _FRAME_VERSION or record_version >= _VERSIONS:
        return None
    shape_of = partition_shape if api_key == PARTITION_KEY else change_shape
    try:
        shape = shape_of(record_version, value)
    except IndexError:
        return None
    if shape is None or any(value[at] != byte for at, byte in shape.fixed):
        return None
    same = dict(enumerate(value[:_FRAME])) | dict(shape.fixed)
    places = sorted(same)
    alike = (matrix[:, places] == np.array([same[at] for at in places], dtype=np.uint8)).all(axis=1)
    return api_key, shape, alike


def _decoded(values: Values, api_key: int, shape: Shape) -> PartitionRecords:
    matrix, fields = values.matrix, shape.fields
    rows = len(matrix)
    field = fields["directories"]
    directories = _lists(matrix, field)
    directory_ids = np.empty((0, 2), dtype=np.uint64)
    if isinstance(field, Field) and field.elements:
        directory_ids = _ids(matrix, field)
        places = np.arange(rows * field.elements, dtype=np.int64).reshape(rows, field.elements)
        directories = Lists.of_matrix(places)
    return PartitionRecords(
        offsets=values.offsets,
        timestamps=values.timestamps,
        topic_ids=_ids(matrix, TOPIC_ID),
        partitions=_numbers(matrix, PARTITION_ID).reshape(-1),
        created=np.full(rows, api_key == PARTITION_KEY, dtype=np.bool_),
        leaders=_numbers(matrix, fields["leader"]).reshape(-1),
        brokers=_lists(matrix, fields["replicas"]),
        isr=_lists(matrix, fields["isr"]),
        directories=directories,
        directory_ids=directory_ids,
        adding=_whether(rows, fields["adding_replicas"]),
        removing=_whether(rows, fields["removing_replicas"]),
        recovering=_recovering(matrix, fields["recovering"]),
    )


def _numbers(matrix: Matrix, field: Field | Default) -> Integers:
    """Return a field's 32-bit numbers, a row for each value."""
    rows = len(matrix)
    if isinstance(field, Default):
        return np.full((rows, 1), field.value, dtype=np.int64)
    count = 1 if field.elements is None else field.elements
    part = np.ascontiguousarray(matrix[:, field.start : field.start + 4 * count])
    return part.view(">i4").astype(np.int64).reshape(rows, count)


def _recovering(matrix: Matrix, field: Field | Default) -> Flags:
    if isinstance(field, Default):
        return np.zeros(len(matrix), dtype=np.bool_)
    found: Flags = matrix[:, field.start] == RECOVERING
    return found


def _lists(matrix: Matrix, field: Field | Default) -> Lists:
    if isinstance(field, Field) and field.code == "i":
        return Lists.of_matrix(_numbers(matrix, field))
    if isinstance(field, Field) or field.value is not None:
        return Lists.of_matrix(np.empty((len(matrix), 0), dtype=np.int64))
    return Lists.absent(len(matrix))


def _ids(matrix: Matrix, field: Field) -> Ids:
    """Return a field's ids of all values, value after value."""
    count = 1 if field.elements is None else field.elements
    part = np.ascontiguousarray(matrix[:, field.start : field.start + 16 * count])
    return part.view(">u8").astype(np.uint64).reshape(-1, 2)


def _whether(rows: int, field: Field | Default) -> Integers:
    """Return whether the list has elements, or UNCHANGED; the same for all values of a shape."""
    flag = UNCHANGED
    if isinstance(field, Field):
        flag = int(bool(field.elements))
    elif field.value is not None:
        flag = 0
    return np.full(rows, flag, dtype=np.int64)
