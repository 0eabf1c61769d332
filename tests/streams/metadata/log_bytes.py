"""Makes batches, as a quorum's log has them."""

import struct

from crc32c import crc32c

_NO_OP_RECORD = bytes.fromhex("1400000001080114000000")


def batch(base_offset: int, count: int = 1, *, epoch: int = 1, body: bytes = b"records") -> bytes:
    """A sound batch whose records are opaque."""
    covered = struct.pack(">hiqqqhii", 0, count - 1, 1000, 1000, -1, -1, -1, count) + body
    head = struct.pack(">iBI", epoch, 2, crc32c(covered))
    return struct.pack(">qi", base_offset, len(head) + len(covered)) + head + covered


def no_op(offset: int, *, epoch: int = 1) -> bytes:
    """The batch that an idle controller writes twice a second."""
    return batch(offset, epoch=epoch, body=_NO_OP_RECORD)


def log(*counts: int, start: int = 0, epoch: int = 1) -> bytes:
    """Batches of so many records each, one after the other."""
    found = b""
    for count in counts:
        found += batch(start, count, epoch=epoch)
        start += count
    return found
