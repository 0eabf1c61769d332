"""Decodes the full value of any metadata record: all 25 types of Kafka 3.9, every version.

In: a record's value from a batch. Out: the dataclass of `streams.wire.schema` with every field that
the controller wrote. The frame before the message (frame version, api key, version, each an
unsigned varint) is that of org.apache.kafka.server.common.serialization.AbstractApiMessageSerde.
"""

from typing import Final

from kio.serial import entity_reader
from kio.serial.errors import SerialError

from migration.metadata.records import Unknown
from streams.wire.errors import DamagedValue, UnknownFrameVersion, UnsupportedRecordVersion
from streams.wire.schema import RECORDS, MetadataRecord
from streams.wire.structure import normalize, read_uvarint, write_uvarint

FRAME_VERSION: Final = 1
_FRAME_BYTES_MIN: Final = 3
_INT16_MAX: Final = 2**15 - 1
_VERSION_LAST: Final = dict(sorted(RECORDS))
_READERS: Final = {key: entity_reader(kind) for key, kind in RECORDS.items()}


def read_frame(value: bytes) -> tuple[int, int, int]:
    """Decode the frame before the message.

    Returns:
        Api key, version, and the position of the first byte of the message.

    Raises:
        UnknownFrameVersion: the frame is not of version 1.
        DamagedValue: the value ends inside the frame, or a number in it is too large or has an
            encoding that is too long: Kafka never writes one, and the planner would not find it.
    """
    frame_version, position = read_uvarint(value, 0)
    if frame_version != FRAME_VERSION:
        raise UnknownFrameVersion(
            f"the value's frame has version {frame_version}, Kafka writes {FRAME_VERSION}"
        )
    api_key, position = read_uvarint(value, position)
    version, position = read_uvarint(value, position)
    if max(api_key, version) > _INT16_MAX:
        raise DamagedValue(f"record type {api_key} in version {version} is too large a number")
    if position > _FRAME_BYTES_MIN and value[:position] != _frame(api_key, version):
        raise DamagedValue(f"the frame of record type {api_key} is longer than it needs to be")
    return api_key, version, position


def _frame(api_key: int, version: int) -> bytes:
    return b"".join(map(write_uvarint, (FRAME_VERSION, api_key, version)))


def read_value(value: bytes) -> MetadataRecord | Unknown:
    """Decode a record's value in full; `Unknown` if Kafka 3.9 does not have its type.

    Raises:
        UnknownFrameVersion: the frame is not of version 1.
        UnsupportedRecordVersion: the type is known only in older versions.
        DamagedValue: the value is cut, has bytes left, or does not decode.
    """
    api_key, version, start = read_frame(value)
    last = _VERSION_LAST.get(api_key)
    if last is None:
        return Unknown(api_key)
    if version > last:
        raise UnsupportedRecordVersion(
            f"record type {api_key} has version {version}, known are 0 to {last}"
        )
    kind = RECORDS[api_key, version]
    try:
        return _READERS[api_key, version](normalize(kind, value, start), start)[0]
    except (SerialError, ValueError) as error:
        raise DamagedValue(f"{kind.__name__} does not decode ({error})") from error
