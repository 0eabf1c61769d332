"""The stream offset: the position of a query in a cluster's metadata log."""

from collections.abc import Mapping
from typing import NamedTuple

NONE = -1
"""No transaction is open. The offsets of Spark are JSON without null, hence a number."""


class StreamOffset(NamedTuple):
    """A position between two record batches.

    Attributes:
        log: number of the cluster's metadata log, counted from 1 (`streams.metadata.spool_info`).
        epoch: leader epoch of the last batch before the position.
        offset: metadata offset of the next record to read.
        transaction: offset of the BeginTransactionRecord that is open at the position, or NONE. A
            reader that starts here must know that the next records are not effective yet.
    """

    log: int
    epoch: int
    offset: int
    transaction: int

    def to_json(self) -> dict[str, int]:
        """Return the JSON object that Spark stores in the checkpoint."""
        return self._asdict()

    @classmethod
    def from_json(cls, data: Mapping[str, int]) -> "StreamOffset":
        return cls(*(int(data[name]) for name in cls._fields))


def beginning(log: int) -> StreamOffset:
    return StreamOffset(log, 0, 0, NONE)


START = beginning(1)
