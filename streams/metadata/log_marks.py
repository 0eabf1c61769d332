"""What tells one metadata log from another of the same cluster: the headers of its batches.

A quorum that was deprovisioned and provisioned anew has the same cluster id, and writes offsets and
epochs that its predecessor wrote, too. A batch's header does not come twice: it holds the time and
the checksum of the records. Committed batches never change, and every controller has them byte for
byte (KafkaRaftClient replicates whole batches).
"""

from dataclasses import dataclass
from typing import Final

from streams.wire.batches import HEADER, Batch, read_batches

HEAD_OFFSET: Final = 1
"""The batch that holds it is the log's mark; one asked for 0 sends to its snapshot, if it has one
(KafkaRaftClient.handleFetchRequest)."""
_BASE_TIMESTAMP: Final = 7


@dataclass(frozen=True, slots=True)
class Mark:
    """A batch that a log holds: the offset of its first record, and its header's bytes."""

    offset: int
    header: bytes

    @property
    def timestamp_ms(self) -> int:
        """When the batch was written: its first record's timestamp, ms since 1970."""
        return int(HEADER.unpack(self.header)[_BASE_TIMESTAMP])


def mark_of(batch: Batch) -> Mark:
    """Take a batch's mark."""
    return Mark(batch.base_offset, batch.raw()[: HEADER.size])


def mark_at(records: bytes, offset: int, below: int | None = None) -> Mark | None:
    """Find the batch of a reply that holds an offset, if it ends below another (the committed).

    Raises:
        DamagedBatch: a batch up to it fails its check.
    """
    for batch in read_batches(records, file="the reply", allow_partial_tail=True):
        if batch.base_offset > offset or (below is not None and batch.last_offset >= below):
            return None
        if batch.last_offset >= offset:
            return mark_of(batch)
    return None
