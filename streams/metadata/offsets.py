"""The stream offset: how far a query has read a cluster's metadata log."""

from typing import Any, NamedTuple

NONE = -1
"""In JSON, where Spark's offsets know no null: no transaction is open."""


class StreamOffset(NamedTuple):
    """A place between two record batches.

    Attributes:
        log: which of the cluster's metadata logs it is in, counted from 1
        (`streams.metadata.spool_info`).
        epoch: leader epoch of the last batch before it.
        offset: metadata offset of the next record to read.
        transaction: offset of the BeginTransactionRecord that is open there, or NONE: a reader
            that starts here must know that what it reads does not count yet.
    """

    log: int
    epoch: int
    offset: int
    transaction: int

    def to_json(self) -> dict[str, int]:
        """As Spark keeps it in the checkpoint."""
        return self._asdict()

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "StreamOffset":
        """As Spark gives it back."""
        return cls(*(int(data[name]) for name in cls._fields))


def beginning(log: int) -> StreamOffset:
    """Where a log begins."""
    return StreamOffset(log, 0, 0, NONE)


START = beginning(1)
