"""Any record value comes back as it was written, and damage is named, never guessed over."""

import contextlib
import dataclasses
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.serial import entity_writer
from kio.static.constants import EntityType

from migration.metadata.records import Unknown
from streams.wire.errors import (
    DamagedValue,
    UnknownFrameVersion,
    UnsupportedRecordVersion,
    WireError,
)
from streams.wire.project import read_in_full
from streams.wire.records import read_record
from streams.wire.schema import (
    RECORDS,
    BeginTransactionRecordV0,
    BrokerRegistrationChangeRecordV2,
    ConfigRecordV0,
    MetadataRecord,
)
from streams.wire.values import read_value
from tests.streams.wire.strategies import entities, records
from tests.support.examples import examples
from tests.support.wire_writing import write_value

KINDS = list(RECORDS.values())
API_KEYS = {api_key for api_key, _ in RECORDS}


def with_tag_of_the_future(record: MetadataRecord, tag: int, content: bytes) -> bytes:
    """Write the record as a later Kafka would, whose schema has one more tagged field."""
    fields: list[Any] = [
        (f.name, f.type, dataclasses.field(metadata=f.metadata, default=f.default))
        if f.default is not dataclasses.MISSING
        else (f.name, f.type, dataclasses.field(metadata=f.metadata))
        for f in dataclasses.fields(record)
    ]
    extra = dataclasses.field(metadata={"kafka_type": "bytes", "tag": tag}, default=b"")
    later = dataclasses.make_dataclass(
        "Later",
        [*fields, ("later", bytes, extra)],
        namespace={
            "__type__": EntityType.data,
            "__version__": record.__version__,
            "__flexible__": True,
        },
        frozen=True,
        kw_only=True,
    )
    values = {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}
    message = BytesIO()
    entity_writer(later)(message, later(**values, later=content))
    return bytes((1, record.__api_key__, record.__version__)) + message.getvalue()


def test_kafka_3_9_has_25_record_types() -> None:
    assert len(API_KEYS) == 25
    assert len(RECORDS) == 34


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@examples(25)
@given(data=st.data())
def test_what_is_written_is_read(kind: type[MetadataRecord], data: st.DataObject) -> None:
    record = data.draw(entities(kind))
    assert read_value(write_value(record)) == record


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@examples(10)
@given(data=st.data(), tag=st.sampled_from([9, 127, 128, 20000]), content=st.binary(min_size=1))
def test_a_tag_of_the_future_is_skipped(
    kind: type[MetadataRecord], data: st.DataObject, tag: int, content: bytes
) -> None:
    record = data.draw(entities(kind))
    assert read_value(with_tag_of_the_future(record, tag, content)) == record


@examples()
@given(records(), st.data())
def test_a_cut_value_is_damaged(record: MetadataRecord, data: st.DataObject) -> None:
    value = write_value(record)
    cut = data.draw(st.integers(0, len(value) - 1))
    with pytest.raises(DamagedValue):
        read_value(value[:cut])


@examples()
@given(records(), st.binary(min_size=1, max_size=9))
def test_bytes_behind_the_value_are_damage(record: MetadataRecord, behind: bytes) -> None:
    with pytest.raises(DamagedValue, match=f"{len(behind)} bytes are left"):
        read_value(write_value(record) + behind)


@examples()
@given(records(), st.data())
def test_changed_bytes_give_a_value_or_an_error_of_ours(
    record: MetadataRecord, data: st.DataObject
) -> None:
    value = bytearray(write_value(record))
    for _ in range(data.draw(st.integers(1, 3))):
        value[data.draw(st.integers(3, len(value) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(WireError):
        read_value(bytes(value))


def test_an_absurd_length_is_damage_and_allocates_nothing() -> None:
    # kio alone ends the process here: its allocation fails in Rust.
    change = bytes((1, 5, 1)) + bytes(20) + b"\x01\x00\x05\xff\xff\xff\xff\x0f"
    with pytest.raises(DamagedValue, match="isr needs 17179869176 bytes"):
        read_value(change)


def test_a_null_in_a_tagged_field_is_its_default() -> None:
    assert read_value(b"\x01\x17\x00\x01\x00\x01\x00") == BeginTransactionRecordV0(name=None)


def test_a_null_where_none_may_be_is_damage() -> None:
    record = ConfigRecordV0(resource_type=2, resource_name="", name="", value=None)  # type: ignore[arg-type]
    value = bytearray(write_value(record))
    value[4] = 0
    with pytest.raises(DamagedValue, match="resource_name is null"):
        read_value(bytes(value))
    with pytest.raises(DamagedValue, match="log_dirs is null"):
        read_value(b"\x01\x11\x02" + bytes(12) + b"\x01\x02\x01\x00")


def test_a_tag_with_another_size_than_it_announces_is_damage() -> None:
    value = write_value(
        BrokerRegistrationChangeRecordV2(broker_id=1, broker_epoch=2, fenced=1)  # type: ignore[arg-type]
    )
    assert value[-4:] == b"\x01\x00\x01\x01"
    with pytest.raises(DamagedValue, match="tag 0 does not have the 0 bytes"):
        read_value(value[:-2] + b"\x00\x01")


def test_text_that_is_not_utf_8_is_damage() -> None:
    with pytest.raises(DamagedValue, match="BeginTransactionRecordV0 does not decode"):
        read_value(b"\x01\x17\x00\x01\x00\x03\x03\xff\xfe")


@examples()
@given(st.integers(0, 2**15 - 1).filter(lambda key: key not in API_KEYS), st.binary())
def test_an_unknown_type_is_no_error(api_key: int, message: bytes) -> None:
    varint = bytearray()
    rest = api_key
    while rest > 0x7F:
        varint.append(rest & 0x7F | 0x80)
        rest >>= 7
    varint.append(rest)
    assert read_value(b"\x01" + varint + b"\x00" + message) == Unknown(api_key)


@pytest.mark.parametrize("api_key", sorted(API_KEYS))
def test_a_newer_version_of_a_known_type_is_refused(api_key: int) -> None:
    newer = max(version for key, version in RECORDS if key == api_key) + 1
    with pytest.raises(UnsupportedRecordVersion, match=f"type {api_key} has version {newer}"):
        read_value(bytes((1, api_key, newer)) + bytes(40))


@pytest.mark.parametrize("frame", [b"\x00", b"\x02", b"\x81\x01"])
def test_an_unknown_frame_version_is_refused(frame: bytes) -> None:
    with pytest.raises(UnknownFrameVersion):
        read_value(frame + b"\x14\x00\x00")


@pytest.mark.parametrize("frame", [b"\x81\x00\x14\x00", b"\x01\x94\x00\x00", b"\x01\x14\x80\x00"])
def test_a_frame_with_needlessly_long_varints_is_damage(frame: bytes) -> None:
    """Records are routed, and transaction marks found, by the bytes of the short frame."""
    for read in (read_value, read_record, read_in_full):
        with pytest.raises(DamagedValue, match="longer than it needs to be"):
            read(frame + b"\x00")


@pytest.mark.parametrize("frame", [b"\x01\x80\x80\x02\x00", b"\x01\x14\x80\x80\x02"])
def test_a_type_or_version_beyond_16_bits_is_damage(frame: bytes) -> None:
    """As AbstractApiMessageSerde.unsignedIntToShort refuses it."""
    with pytest.raises(DamagedValue, match="too large"):
        read_value(frame + b"\x00")


def test_a_varint_beyond_32_bits_is_damage() -> None:
    with pytest.raises(DamagedValue, match="more than 32 bits"):
        read_value(b"\x01" + b"\xff" * 4 + b"\x1f\x00")


def test_a_varint_without_end_is_damage() -> None:
    with pytest.raises(DamagedValue, match="has no end"):
        read_value(b"\x01" + b"\xff" * 9)
