"""Decodes a record's bytes to the named tuple that `migration` uses.

In: the value of a data record, or a whole batch. Out: `migration.metadata.records`.
`streams.wire.fast` decodes PartitionRecord and PartitionChangeRecord, nearly all records of a log.
"""

from collections.abc import Callable, Mapping
from typing import Final

from migration.metadata.records import LeaderChange, NoOp, Record, Unknown, Unrelated
from streams.wire.batches import Batch
from streams.wire.control import LeaderChangeMessageV0, LeaderChangeMessageV1
from streams.wire.fast import FAST_READERS
from streams.wire.project import PROJECTED, read_in_full
from streams.wire.schema import RECORDS
from streams.wire.values import known, read_frame


def _unrelated(api_key: int) -> Callable[[bytes], Record]:
    record = Unrelated(api_key)
    return lambda _: record


_READERS: Final[Mapping[bytes, Callable[[bytes], Record]]] = {
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
    return reader(value) if reader else _read_unusual(value)


def _read_unusual(value: bytes) -> Record:
    """Decode a value whose first three bytes are not a known type and version."""
    api_key, version, _ = read_frame(value)
    if not known(api_key, version):
        return Unknown(api_key)
    return read_in_full(value)


def read_records(batch: Batch) -> list[tuple[int, int, Record]]:
    """Return the records of a whole batch: metadata offset, timestamp in ms, record.

    Of a control batch, only LeaderChange is returned: `migration` does not use the other control
    records (header and footer of a snapshot, the voters). `Batch.control_records` returns all.

    Raises:
        DamagedBatch: the records are inconsistent although the CRC is correct.
        WireError: an error of a value, with the place of the batch and the record's offset.
    """
    if not batch.is_control:
        return batch.decode(read_record)
    return [
        (offset, timestamp_ms, LeaderChange(control.leader_id))
        for offset, timestamp_ms, control in batch.control_records()
        if isinstance(control, LeaderChangeMessageV0 | LeaderChangeMessageV1)
    ]
