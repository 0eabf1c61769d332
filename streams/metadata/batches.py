"""Selects the part of the log to store: a reply's committed batches, without secrets; their marks.

In: bytes of the log, from a reply or a segment. Out: a `Cut`, the redacted bytes, or a `Survey` of
the whole batches of a file. `streams.wire` reads and checks each batch.

A `Mark` identifies a metadata log among the logs of one cluster. A quorum that was deprovisioned
and provisioned again has the same cluster id, and writes the same offsets and epochs as its
predecessor. The header of a batch is unique, because it contains the time and the checksum of the
records. Committed batches never change, and every controller has the same bytes (KafkaRaftClient
replicates whole batches).

Secrets are the values that Kafka's own RecordRedactor conceals: the keys of
UserScramCredentialRecord, and the value of a ConfigRecord with a sensitive name
(`migration.values.secret_settings`). A DelegationTokenRecord has no key of its token. They are
overwritten before the batch is written to the spool. Lengths do not change, so a batch differs only
in the bytes of the secret and in its CRC; offsets, timestamps and byte positions are those of the
controllers.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from crc32c import crc32c

from migration.values.secret_settings import is_sensitive
from streams.wire.batches import CONTROL_BIT, CRC_START, HEADER, Batch, read_batches, read_varlong
from streams.wire.errors import DamagedBatch, DamagedValue
from streams.wire.structure import read_uvarint

HEAD_OFFSET: Final = 1
"""The batch with this offset is the mark of the log. A FETCH from offset 0 is no alternative: a
leader that has a snapshot answers it with the snapshot's id (KafkaRaftClient.handleFetchRequest).
"""
_ATTRIBUTES: Final = 5
_BASE_TIMESTAMP: Final = 7
# The only record of a NoOpRecord batch (QuorumController.maybeScheduleNextWriteNoOpRecord):
# length 10, attributes, deltas 0, no key, 4 bytes of value (frame 1, key 20, version 0, no tags),
# no headers.
_NO_OP_RECORD: Final = bytes.fromhex("14000000010801140000") + b"\x00"
_NO_OP_BYTES: Final = HEADER.size + len(_NO_OP_RECORD)
_CONFIG: Final = bytes((1, 4, 0))
_SCRAM: Final = bytes((1, 11, 0))
_CRC_BYTES: Final = 4
_IN_TEXT: Final = b"*"
_IN_BYTES: Final = b"\0"


@dataclass(frozen=True, slots=True)
class Mark:
    """A batch of a log: the offset of its first record, and the bytes of its header."""

    offset: int
    header: bytes

    @property
    def timestamp_ms(self) -> int:
        """The timestamp of the first record of the batch, ms since 1970."""
        return int(HEADER.unpack(self.header)[_BASE_TIMESTAMP])

    @property
    def is_control(self) -> bool:
        """Whether it is a control batch: in the log, the first of a leader (LeaderChange)."""
        return bool(HEADER.unpack(self.header)[_ATTRIBUTES] & CONTROL_BIT)


@dataclass(frozen=True, slots=True)
class Cut:
    """The committed part of a reply: a slice of its records, on batch boundaries.

    Attributes:
        records: The batches, byte for byte; empty if there is nothing new.
        next_offset: Metadata offset after them; the requested position if they are empty.
        epoch: Leader epoch of the last batch; None if there is no batch.
        head: The mark of the log's beginning; None if the batches do not contain it.
        tail: The mark of the last batch; None if there is no batch.
        busy_until: Metadata offset after the last batch that is not a no-op; None: all are no-ops.
    """

    records: bytes
    next_offset: int
    epoch: int | None
    head: Mark | None = None
    tail: Mark | None = None
    busy_until: int | None = None


@dataclass(frozen=True, slots=True)
class Survey:
    """A summary of some bytes of a log, up to the first batch that is cut or damaged.

    Attributes:
        whole_bytes: Size of the whole batches.
        next_offset: Metadata offset after them; None if there is no whole batch.
        epoch: Leader epoch of the last whole batch; None if there is none.
        no_op_only: Whether every whole batch holds only a NoOpRecord.
        tail: The mark of the last whole batch; None if there is none.
    """

    whole_bytes: int
    next_offset: int | None
    epoch: int | None
    no_op_only: bool
    tail: Mark | None = None


def mark_of(batch: Batch) -> Mark:
    return Mark(batch.base_offset, batch.raw()[: HEADER.size])


def mark_at(records: bytes, offset: int, below: int | None = None) -> Mark | None:
    """Return the mark of the batch that contains an offset; None: the reply does not have it.

    `below`: accept only a batch that ends below this offset (the high watermark).

    Raises:
        DamagedBatch: a batch up to it fails its check.
    """
    for batch in read_batches(records, file="the reply", allow_partial_tail=True):
        if batch.base_offset > offset or (below is not None and batch.last_offset >= below):
            return None
        if batch.last_offset >= offset:
            return mark_of(batch)
    return None


def committed(records: bytes, position: int, high_watermark: int) -> Cut:
    """Return the batches of a reply that end after `position` and at or below `high_watermark`.

    A reply may start with a batch before the position (KafkaMetadataLog.read returns whole
    batches), and may end with a cut batch or with batches that are not committed.

    Raises:
        DamagedBatch: a batch fails its check, or there is a gap in the offsets.
    """
    first: Batch | None = None
    last: Batch | None = None
    head: Mark | None = None
    busy_until: int | None = None
    for batch in read_batches(records, file="the reply", allow_partial_tail=True):
        if batch.last_offset < position:
            continue
        if batch.last_offset >= high_watermark:
            break
        if first is None and batch.base_offset > position:
            reason = f"offset {batch.base_offset} follows, but {position} was requested"
            raise DamagedBatch(reason, file="the reply", position=batch.position)
        if batch.base_offset <= HEAD_OFFSET <= batch.last_offset:
            head = mark_of(batch)
        if not is_no_op(batch):
            busy_until = batch.last_offset + 1
        first = batch if first is None else first
        last = batch
    if first is None or last is None:
        return Cut(b"", position, None)
    content = records[first.position : last.position + last.size]
    return Cut(content, last.last_offset + 1, last.leader_epoch, head, mark_of(last), busy_until)


def survey(content: bytes, file: str) -> Survey:
    """Summarize the batches up to the first one that is cut or damaged."""
    last: Batch | None = None
    no_op_only = True
    with contextlib.suppress(DamagedBatch):
        for batch in read_batches(content, file=file):
            last = batch
            no_op_only = no_op_only and is_no_op(batch)
    if last is None:
        return Survey(0, None, None, no_op_only=True)
    size, ends = last.position + last.size, last.last_offset + 1
    return Survey(size, ends, last.leader_epoch, no_op_only, mark_of(last))


def is_no_op(batch: Batch) -> bool:
    """Whether the batch is that of an idle controller: a single NoOpRecord."""
    return batch.size == _NO_OP_BYTES and batch.raw().endswith(_NO_OP_RECORD)


def starts_with_no_op(path: Path) -> bool:
    """Whether the first batch of a segment is a no-op: a cheap check before reading the file."""
    with path.open("rb") as file:
        first = survey(file.read(_NO_OP_BYTES), str(path))
    return first.no_op_only and first.whole_bytes == _NO_OP_BYTES


def redacted(records: bytes) -> bytes:
    """Return the batches with every secret overwritten; the same object if there is no secret.

    Bytes after the last whole batch do not change. The function is idempotent.

    Raises:
        DamagedBatch: a batch fails its check.
    """
    if _CONFIG not in records and _SCRAM not in records:
        return records
    changed: bytearray | None = None
    for batch in read_batches(records, file="the reply", allow_partial_tail=True):
        secrets = list(_secrets(records, batch))
        if secrets:
            changed = bytearray(records) if changed is None else changed
            _overwrite(changed, batch, secrets)
    return records if changed is None else bytes(changed)


def _overwrite(content: bytearray, batch: Batch, secrets: list[tuple[int, int, bytes]]) -> None:
    for start, end, filler in secrets:
        content[start:end] = filler * (end - start)
    checked = batch.position + CRC_START
    crc = crc32c(content[checked : batch.position + batch.size])
    content[checked - _CRC_BYTES : checked] = crc.to_bytes(_CRC_BYTES)


def _secrets(content: bytes, batch: Batch) -> Iterator[tuple[int, int, bytes]]:
    """Yield start, end and the overwriting byte of each secret in a batch.

    A value that does not decode is not changed: the job reports it as damage, with its place.
    """
    if batch.is_control or batch.compression or not _may_have(content, batch):
        return
    for start, end in _values(content, batch):
        found = _secrets_of_value(content, start)
        if all(last <= end for _, last, _ in found):
            yield from found


def _may_have(content: bytes, batch: Batch) -> bool:
    """Whether a batch may contain a secret; the check is cheap and has no false negatives."""
    start, end = batch.position + HEADER.size, batch.position + batch.size
    for frame in (_CONFIG, _SCRAM):
        at = content.find(frame, start, end)
        while at >= 0:
            if _secrets_of_value(content, at):
                return True
            at = content.find(frame, at + 1, end)
    return False


def _values(content: bytes, batch: Batch) -> Iterator[tuple[int, int]]:
    """Yield start and end of the value of each record (DefaultRecord.writeTo)."""
    at, end = batch.position + HEADER.size, batch.position + batch.size
    for _ in range(batch.count):
        try:
            length, at = read_varlong(content, at)
            following = at + length
            _, at = read_varlong(content, at + 1)  # after the attributes: the timestamp delta
            _, at = read_varlong(content, at)  # the offset delta
            key, at = read_varlong(content, at)
            size, at = read_varlong(content, at + max(key, 0))
        except (IndexError, ValueError, DamagedValue):
            return
        if not at <= at + size <= following <= end:
            return
        yield at, at + size
        at = following


def _secrets_of_value(content: bytes, at: int) -> list[tuple[int, int, bytes]]:
    try:
        return [each for each in _parts_of_value(content, at) if each[0] < each[1]]
    except (IndexError, ValueError, DamagedValue):
        return []


def _parts_of_value(content: bytes, at: int) -> Iterator[tuple[int, int, bytes]]:
    frame, at = content[at : at + len(_CONFIG)], at + len(_CONFIG)
    if frame == _CONFIG:
        _, at = _sized(content, at + 1)  # after the resource type: the resource name
        name, at = _sized(content, at)
        value, end = _sized(content, at)
        if is_sensitive(content[name:at].decode()):
            yield value, end, _IN_TEXT
    elif frame == _SCRAM:
        _, at = _sized(content, at)  # the user
        at += 1  # the mechanism
        for _ in ("salt", "stored key", "server key"):
            start, at = _sized(content, at)
            yield start, at, _IN_BYTES


def _sized(content: bytes, at: int) -> tuple[int, int]:
    """Return start and end of a compact string or compact bytes; null is empty."""
    size, start = read_uvarint(content, at)
    return start, start + max(size - 1, 0)
