"""Columns have what the records have, read one by one."""

from collections.abc import Callable, Iterable
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from migration.metadata.records import Partition, PartitionChange
from migration.shard.partition_records import PartitionRecords
from streams.wire.columns import Values, _first_shape, read_columns
from streams.wire.errors import WireError
from streams.wire.project import project
from streams.wire.records import read_record
from streams.wire.schema import MetadataRecord, PartitionChangeRecordV1
from tests.streams.wire.strategies import records
from tests.streams.wire.test_records import ID, partition
from tests.streams.wire.test_values import with_tag_of_the_future
from tests.support.examples import examples
from tests.support.wire_writing import write_value


def grouped(values: Iterable[bytes]) -> list[Values]:
    """The values as the router groups them; offset and timestamp show their order."""
    by_length: dict[int, list[tuple[int, bytes]]] = {}
    for offset, value in enumerate(values):
        by_length.setdefault(len(value), []).append((offset, value))
    return [
        Values(
            np.array([offset for offset, _ in some], dtype=np.int64),
            np.array([1000 + offset for offset, _ in some], dtype=np.int64),
            np.frombuffer(b"".join(value for _, value in some), dtype=np.uint8).reshape(-1, length),
        )
        for length, some in by_length.items()
    ]


def one_by_one(values: Iterable[bytes]) -> PartitionRecords:
    found = []
    for offset, value in enumerate(values):
        record = read_record(value)
        assert isinstance(record, Partition | PartitionChange)
        found.append((offset, 1000 + offset, record))
    return PartitionRecords.of(found)


def objects(columns: PartitionRecords) -> list[tuple[int, int, Partition | PartitionChange]]:
    return [
        (int(columns.offsets[row]), int(columns.timestamps[row]), columns.record(row))
        for row in range(len(columns.offsets))
    ]


_lists = st.lists(records(3, 5), max_size=12)


@pytest.mark.slow
@examples(150)
@given(_lists, st.integers(1, 4))
def test_columns_equal_records(drawn: list[MetadataRecord], times: int) -> None:
    values = [write_value(each) for each in drawn] * times
    assert objects(read_columns(grouped(values))) == objects(one_by_one(values))


@examples()
@given(records(3, 5), st.sampled_from([9, 127, 128]), st.binary(min_size=1, max_size=200))
def test_columns_equal_records_with_a_tag_of_the_future(
    record: MetadataRecord, tag: int, content: bytes
) -> None:
    values = [with_tag_of_the_future(record, tag, content)]
    expected = PartitionRecords.of([(0, 1000, cast(PartitionChange, project(record)))])
    assert objects(one_by_one(values)) == objects(expected)
    assert objects(read_columns(grouped(values))) == objects(expected)


def check(values: list[bytes], where: str = "") -> None:
    """Columns have the same records, or an error of the same class."""
    expected = outcome(lambda: one_by_one(values))
    assert outcome(lambda: read_columns(grouped(values))) == expected, where


def outcome(read: Callable[[], PartitionRecords]) -> object:
    try:
        return objects(read())
    except WireError as error:
        return type(error)


@pytest.mark.slow
@examples(200)
@given(_lists.filter(bool), st.data())
def test_damage_is_an_error_of_the_same_class(
    drawn: list[MetadataRecord], data: st.DataObject
) -> None:
    values = [write_value(each) for each in drawn]
    row = data.draw(st.integers(0, len(values) - 1))
    value = bytearray(values[row])
    for _ in range(data.draw(st.integers(0, 3))):
        value[data.draw(st.integers(2, len(value) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(3, len(value)) | st.just(len(value)))
    values[row] = bytes(value[:cut]) + data.draw(st.just(b"") | st.binary(max_size=20))
    check(values)


@pytest.mark.slow
@pytest.mark.parametrize(
    "value",
    [
        pytest.param(partition(), id="partition"),
        pytest.param(partition(isr=()), id="partition without ISR"),
        pytest.param(
            write_value(
                PartitionChangeRecordV1(topic_id=ID, isr=(1, 2), leader=2, directories=(ID, None))  # type: ignore[arg-type]
            ),
            id="change",
        ),
    ],
)
def test_columns_equal_records_whatever_one_byte_says(value: bytes) -> None:
    """The last position is behind the value."""
    for position in range(3, len(value) + 1):
        before, behind = value[:position], value[position + 1 :]
        for some in alike([before + bytes((byte,)) + behind for byte in range(256)]):
            check(some, f"byte {position}")


def alike(values: Iterable[bytes]) -> Iterable[list[bytes]]:
    """Return together the values that have the same shape when each is read alone."""
    found: dict[object, list[bytes]] = {}
    for value in values:
        first = _first_shape(np.frombuffer(value, dtype=np.uint8).reshape(1, -1))
        found.setdefault(repr(first[:2]) if first else value, []).append(value)
    return found.values()
