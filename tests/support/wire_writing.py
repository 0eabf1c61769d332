"""Writes values, batches and checkpoints as a controller does.

Out: bytes that `streams.wire.batches` and Kafka's own kafka-dump-log read.
"""

from collections.abc import Sequence
from io import BytesIO

from crc32c import crc32c
from kafka.record.default_records import DefaultRecordBatchBuilder
from kio.schema.leader_change_message.v0.data import LeaderChangeMessage, Voter
from kio.schema.snapshot_footer_record.v0.data import SnapshotFooterRecord
from kio.schema.snapshot_header_record.v0.data import SnapshotHeaderRecord
from kio.schema.types import BrokerId
from kio.serial import entity_writer
from kio.static.primitive import i16, i32, i64

from streams.wire.batches import CONTROL_BIT, CRC_START, HEADER
from streams.wire.control import _KEY, _TYPES, KnownControl
from streams.wire.schema import MetadataRecord
from streams.wire.values import _frame

_RECORD_OVERHEAD_BYTES_MAX = 32

_TYPE_OF = {kind: number for number, kinds in _TYPES.items() for kind in kinds}


def write_value(record: MetadataRecord) -> bytes:
    """Encode a record's value with its frame."""
    return _frame(record.__api_key__, record.__version__) + _encoded(record)


def write_control(record: KnownControl) -> tuple[bytes, bytes]:
    """Return the key and the value of a control record."""
    return _KEY.pack(0, _TYPE_OF[type(record)]), _encoded(record)


def _encoded(entity: MetadataRecord | KnownControl) -> bytes:
    value = BytesIO()
    entity_writer(type(entity))(value, entity)
    return value.getvalue()


def _write(
    base_offset: int,
    leader_epoch: int,
    timestamp_ms: int,
    records: Sequence[tuple[bytes | None, bytes]],
    attributes: int,
) -> bytes:
    """Build a batch with kafka-python, then set the fields that a producer leaves to the broker."""
    room = sum(len(key or b"") + len(value) + _RECORD_OVERHEAD_BYTES_MAX for key, value in records)
    builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, HEADER.size + room)
    for delta, (key, value) in enumerate(records):
        builder.append(delta, timestamp_ms, key, value, [])
    batch = bytearray(builder.build())
    header = list(HEADER.unpack_from(batch))
    header[0], header[2], header[5] = base_offset, leader_epoch, attributes
    HEADER.pack_into(batch, 0, *header)
    header[4] = crc32c(batch[CRC_START:])
    HEADER.pack_into(batch, 0, *header)
    return bytes(batch)


def write_batch(
    base_offset: int, leader_epoch: int, timestamp_ms: int, values: Sequence[bytes]
) -> bytes:
    """Return a batch of at least one data record, all with one timestamp (ms since 1970)."""
    return _write(base_offset, leader_epoch, timestamp_ms, [(None, one) for one in values], 0)


def write_control_batch(
    base_offset: int, leader_epoch: int, timestamp_ms: int, records: Sequence[KnownControl]
) -> bytes:
    """Return a batch of at least one control record."""
    entries = [write_control(one) for one in records]
    return _write(base_offset, leader_epoch, timestamp_ms, entries, CONTROL_BIT)


def write_leader_change(
    base_offset: int,
    leader_epoch: int,
    timestamp_ms: int,
    leader_id: int,
    voters: Sequence[int] = (),
) -> bytes:
    """Return the batch that a new leader writes first (LeaderState.appendLeaderChange).

    `voters`: ids of all voters; by default the leader alone.
    """
    ids = tuple(Voter(voter_id=i32(one)) for one in voters or (leader_id,))
    message = LeaderChangeMessage(
        version=i16(0), leader_id=BrokerId(leader_id), voters=ids, granting_voters=ids
    )
    return write_control_batch(base_offset, leader_epoch, timestamp_ms, [message])


def write_checkpoint(
    leader_epoch: int, timestamp_ms: int, batches: Sequence[Sequence[bytes]]
) -> bytes:
    """Return a `.checkpoint`: header, the batches of values, footer; offsets count from 0.

    Layout: org.apache.kafka.snapshot.RecordsSnapshotWriter.
    """
    header = SnapshotHeaderRecord(version=i16(0), last_contained_log_timestamp=i64(timestamp_ms))
    written = [write_control_batch(0, leader_epoch, timestamp_ms, [header])]
    offset = 1
    for values in batches:
        written.append(write_batch(offset, leader_epoch, timestamp_ms, values))
        offset += len(values)
    footer = SnapshotFooterRecord(version=i16(0))
    written.append(write_control_batch(offset, leader_epoch, timestamp_ms, [footer]))
    return b"".join(written)
