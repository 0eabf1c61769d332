"""From a record's bytes to the named tuple that `migration` works with.

In: the value of a data record, or a whole batch. Out: `migration.metadata.records`. PartitionRecord
and PartitionChangeRecord, nearly all of a log, go through `streams.wire.fast`.
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
    """Read the value of one data record.

    A record type that `migration` has no use for comes back as `Unrelated`, and only its frame was
    looked at; `read_value` reads those in full. One that Kafka 3.9 does not have is `Unknown`.

    Raises:
        UnknownFrameVersion: the frame is not of version 1.
        UnsupportedRecordVersion: the type is known, in older versions only.
        DamagedValue: the value is cut, has bytes left, or does not decode.
    """
    if value == _NO_OP:
        return NoOp()
    reader = _READERS.get(value[:3])
    return reader(value) if reader else _read_unusual(value)


def _read_unusual(value: bytes) -> Record:
    """Read a value whose first three bytes are no known type and version."""
    api_key, version, _ = read_frame(value)
    if not known(api_key, version):
        return Unknown(api_key)
    return read_in_full(value)


def read_records(batch: Batch) -> list[tuple[int, int, Record]]:
    """Read a whole batch: metadata offset, timestamp in ms, record.

    A control batch gives its LeaderChange; the other control records (where a snapshot begins and
    ends, the voters) say nothing that `migration` uses and are left out. `Batch.control_records`
    has them all.

    Raises:
        DamagedBatch: the records do not add up although the CRC is right.
        WireError: a value's, with the batch's place and the record's offset.
    """
    if not batch.is_control:
        return batch.decode(read_record)
    return [
        (offset, timestamp_ms, LeaderChange(control.leader_id))
        for offset, timestamp_ms, control in batch.control_records()
        if isinstance(control, LeaderChangeMessageV0 | LeaderChangeMessageV1)
    ]
