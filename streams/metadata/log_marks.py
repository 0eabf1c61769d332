"""Marks that identify a metadata log among the logs of one cluster: headers of its batches.

A quorum that was deprovisioned and provisioned again has the same cluster id, and writes the same
offsets and epochs as its predecessor. The header of a batch is unique, because it contains the time
and the checksum of the records. Committed batches never change, and every controller has the same
bytes (KafkaRaftClient replicates whole batches).
"""

from dataclasses import dataclass
from typing import Final

from streams.wire.batches import HEADER, Batch, read_batches

HEAD_OFFSET: Final = 1
"""The batch with this offset is the mark of the log. A FETCH from offset 0 is no alternative: a
leader that has a snapshot answers it with the snapshot's id (KafkaRaftClient.handleFetchRequest).
"""
_BASE_TIMESTAMP: Final = 7


@dataclass(frozen=True, slots=True)
class Mark:
    """A batch of a log: the offset of its first record, and the bytes of its header."""

    offset: int
    header: bytes

    @property
    def timestamp_ms(self) -> int:
        """The timestamp of the first record of the batch, ms since 1970."""
        return int(HEADER.unpack(self.header)[_BASE_TIMESTAMP])


def mark_of(batch: Batch) -> Mark:
    """Return the mark of a batch."""
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
