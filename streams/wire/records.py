"""Decodes a record's bytes to the named tuple that `migration` uses.

In: the value of a data record, or a whole batch. Out: `migration.metadata.records`.
"""

from collections.abc import Mapping
from typing import Final

from migration.metadata.records import LeaderChange, NoOp, Record, Unrelated
from streams.wire.batches import Batch
from streams.wire.control import LeaderChangeMessage
from streams.wire.errors import WireError
from streams.wire.project import PROJECTED, read_in_full
from streams.wire.schema import RECORDS

_UNRELATED: Final[Mapping[bytes, Unrelated]] = {
    bytes((1, api_key, version)): Unrelated(api_key)
    for api_key, version in RECORDS
    if api_key not in PROJECTED
}
"""By the first three bytes of a value: frame version, api key, version."""
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
    return _UNRELATED.get(value[:3]) or read_in_full(value)


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
        if isinstance(control, LeaderChangeMessage)
    ]
    for offset, timestamp_ms, value in batch.records():
        try:
            found.append((offset, timestamp_ms, read_record(value)))
        except WireError as error:
            error.locate(file=batch.file, position=batch.position, offset=offset)
            raise
    return found
