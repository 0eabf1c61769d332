"""The record values that fill a large metadata log, packed directly, since there are so many.

The twin of each is `streams.wire.values.write_value`; test_generate.py holds both to the same
bytes.
"""

from collections.abc import Sequence
from struct import Struct
from typing import Final

REPLICAS: Final = 3
"""The replication factor of every generated partition."""
_PARTITION_V0: Final = Struct(">3si16sB3iB3iBB3iB")
_ASSIGNMENT_V1: Final = Struct(">3si16s4B16s16s16s")
_LEADERSHIP_V1: Final = Struct(">3si16s4B2i2Bi")
_DIRECTORIES_TAG: Final = 8


def partition_v0(partition: int, topic_id: bytes, replicas: Sequence[int], epoch: int) -> bytes:
    """A PartitionRecord as the copy from ZooKeeper writes it: without directories, all in sync."""
    return _PARTITION_V0.pack(
        b"\x01\x03\x00",
        partition,
        topic_id,
        REPLICAS + 1,
        *replicas,
        REPLICAS + 1,
        *replicas,
        1,
        1,
        replicas[0],
        epoch,
        epoch,
        0,
    )


def assignment_v1(partition: int, topic_id: bytes, directories: Sequence[bytes]) -> bytes:
    """A PartitionChangeRecord as AssignReplicasToDirs makes it: the whole Directories list."""
    size = 1 + 16 * REPLICAS
    return _ASSIGNMENT_V1.pack(
        b"\x01\x05\x01", partition, topic_id, 1, _DIRECTORIES_TAG, size, REPLICAS + 1, *directories
    )


def leadership_v1(partition: int, topic_id: bytes, isr: Sequence[int], leader: int) -> bytes:
    """A PartitionChangeRecord of a broker that goes: two in sync are left, one of them leads."""
    return _LEADERSHIP_V1.pack(
        b"\x01\x05\x01", partition, topic_id, 2, 0, 9, len(isr) + 1, *isr, 1, 4, leader
    )
