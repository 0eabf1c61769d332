"""Records and batches: the columns and the reader through kio give the same answer."""

import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final, cast

import numpy as np
from kio.schema.k_raft_version_record.v0.data import KRaftVersionRecord
from kio.schema.leader_change_message.v0.data import LeaderChangeMessage as LeaderChangeMessageV0
from kio.schema.leader_change_message.v1.data import LeaderChangeMessage as LeaderChangeMessageV1
from kio.schema.snapshot_footer_record.v0.data import SnapshotFooterRecord
from kio.schema.snapshot_header_record.v0.data import SnapshotHeaderRecord
from kio.schema.voters_record.v0.data import VotersRecord

from migration.metadata.records import Partition, PartitionChange, Record
from migration.shard.partition_records import PartitionRecords
from streams.metadata.batches import committed, mark_at, survey
from streams.wire.batches import read_batches
from streams.wire.columns import CHANGE_KEY, PARTITION_KEY, Values, read_columns
from streams.wire.control import read_control
from streams.wire.errors import WireError
from streams.wire.project import read_in_full
from streams.wire.records import read_record, read_records
from streams.wire.schema import RECORDS
from tests.fuzz.examples import example
from tests.fuzz.mutations import mutate_bytes
from tests.fuzz.target import Target
from tests.fuzz.targets.logs import sealed, segments, values
from tests.support.wire_writing import write_control, write_value

_KEY = struct.Struct(">hh")
_FRAME_BYTES: Final = 3
_OF_PARTITIONS: Final = (bytes((1, PARTITION_KEY)), bytes((1, CHANGE_KEY)))


@cache
def _values() -> Sequence[bytes]:
    return (*values(), *(write_value(example(kind)) for kind in RECORDS.values()))


def _record(data: bytes) -> object:
    short, full = _outcome(read_record, data), _outcome(read_in_full, data)
    if not short.startswith("Unrelated"):  # of those the short way reads the frame alone
        assert short == full, (short, full)
    if len(data) > _FRAME_BYTES and data[:2] in _OF_PARTITIONS:
        columns = _outcome(_by_columns, data)
        assert columns == _outcome(_by_record, data), (columns, full)
    return short


def _by_columns(data: bytes) -> Record:
    place = np.zeros(1, dtype=np.int64)
    matrix = np.frombuffer(data, dtype=np.uint8).reshape(1, -1)
    return read_columns([Values(place, place, matrix)]).record(0)


def _by_record(data: bytes) -> Record:
    """Decode in full, and leave what columns do not have."""
    record = cast(Partition | PartitionChange, read_in_full(data))
    return PartitionRecords.of([(0, 0, record)]).record(0)


def _outcome(read: Callable[[bytes], Record], data: bytes) -> str:
    """What a reader gives or raises, as text: NaN equals NaN then, and types count."""
    try:
        return repr(read(data))
    except WireError as error:
        return type(error).__name__


@cache
def _controls() -> Sequence[bytes]:
    kinds = (
        LeaderChangeMessageV0,
        LeaderChangeMessageV1,
        SnapshotHeaderRecord,
        SnapshotFooterRecord,
        KRaftVersionRecord,
        VotersRecord,
    )
    found = []
    for kind in kinds:
        entity = example(kind)
        object.__setattr__(entity, "version", kind.__version__)
        found.append(b"".join(write_control(entity)))
    return found


def _control(data: bytes) -> object:
    return read_control(data[: _KEY.size], data[_KEY.size :])


def _batches(data: bytes) -> object:
    found = []
    for batch in read_batches(data, file="the log"):
        offsets = [each[0] for each in batch.records() or batch.control_records()]
        assert offsets == list(range(batch.base_offset, batch.last_offset + 1)), batch
        found += read_records(batch)
    return found


def _reply_records(data: bytes) -> object:
    whole = survey(data, "the segment").whole_bytes
    assert whole <= len(data)
    mark_at(data, 1)
    return committed(data, 0, 2**62)


TARGETS = (
    Target(
        name="record",
        seeds=_values,
        parse=_record,
        errors=(WireError,),
        mutate=mutate_bytes,
    ),
    Target(
        name="control-record",
        seeds=_controls,
        parse=_control,
        errors=(WireError,),
        mutate=mutate_bytes,
    ),
    Target(
        name="batches",
        seeds=segments,
        parse=_batches,
        errors=(WireError,),
        mutate=mutate_bytes,
        seal=sealed,
        cost=5,
    ),
    Target(
        name="fetched-batches",
        seeds=segments,
        parse=_reply_records,
        errors=(WireError,),
        mutate=mutate_bytes,
        seal=sealed,
        cost=3,
    ),
)
