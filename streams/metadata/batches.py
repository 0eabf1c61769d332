"""What to keep of the bytes that came: the committed batches of a reply, the whole ones of a file.

In: bytes of the log, from a reply or a segment. Out: a `Cut` or a `Survey`. The batches are read
by `streams.wire`, which checks each one; their records are not decoded here.
"""

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from streams.metadata.log_marks import HEAD_OFFSET, Mark, mark_of
from streams.wire.batches import HEADER, Batch, read_batches
from streams.wire.errors import DamagedBatch

# The only record of a NoOpRecord batch (QuorumController.maybeScheduleNextWriteNoOpRecord):
# length 10, attributes, deltas 0, no key, 4 bytes of value (frame 1, key 20, version 0, no tags),
# no headers.
_NO_OP_RECORD: Final = bytes.fromhex("14000000010801140000") + b"\x00"
_NO_OP_BYTES: Final = HEADER.size + len(_NO_OP_RECORD)


@dataclass(frozen=True, slots=True)
class Cut:
    """The committed part of a reply: a slice of its records, on batch boundaries.

    Attributes:
        records: The batches, byte for byte; empty when there is nothing new.
        next_offset: Metadata offset after them; the position asked for when they are empty.
        epoch: Leader epoch of the last batch; None when they are empty.
        head: The mark of the log's beginning, when it is among them.
        tail: The mark of the last batch; None when they are empty.
        busy_until: Metadata offset after the last batch that is more than a no-op; None: none is.
    """

    records: bytes
    next_offset: int
    epoch: int | None
    head: Mark | None = None
    tail: Mark | None = None
    busy_until: int | None = None


@dataclass(frozen=True, slots=True)
class Survey:
    """What some bytes of a log hold, up to the first batch that is cut or damaged.

    Attributes:
        whole_bytes: Size of the whole batches.
        next_offset: Metadata offset after them; None when there are none.
        epoch: Leader epoch of the last one; None when there are none.
        no_op_only: Whether none holds anything but a NoOpRecord.
        tail: The mark of the last one; None when there are none.
    """

    whole_bytes: int
    next_offset: int | None
    epoch: int | None
    no_op_only: bool
    tail: Mark | None = None


def committed(records: bytes, position: int, high_watermark: int) -> Cut:
    """Cut a reply to the batches that end after `position` and at or below `high_watermark`.

    A reply may start with a batch before the position (KafkaMetadataLog.read returns whole
    batches) and may end with a cut one or with ones that are not committed.

    Raises:
        DamagedBatch: a batch fails its check, or offsets do not go on without a gap.
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
            reason = f"offset {batch.base_offset} follows where {position} was asked for"
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
    """Walk over the batches up to the first one that is cut or damaged."""
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
    """Whether the batch is the one that an idle controller writes: a single NoOpRecord."""
    return batch.size == _NO_OP_BYTES and batch.raw().endswith(_NO_OP_RECORD)


def starts_with_no_op(path: Path) -> bool:
    """Whether a segment's first batch is a no-op: a cheap look before reading all of it."""
    with path.open("rb") as file:
        first = survey(file.read(_NO_OP_BYTES), str(path))
    return first.no_op_only and first.whole_bytes == _NO_OP_BYTES
