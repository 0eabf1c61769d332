"""The content of one row of the source: records of one shard, or of the cluster, as bytes.

Rows are few and large, since Spark's cost is per row: the records of a slice are transferred
together with their offsets and timestamps, packed by msgpack, and decoded where they are used.
"""

import enum
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import msgpack

from migration.metadata.records import LeaderChange, Record, Stamped
from migration.metadata.transactions import Admission
from migration.shard.records import Barrier, ShardRecord, TopicName
from streams.wire.records import read_record

RawValue = bytes | int
"""A record's bytes; the leader's id represents the LeaderChange control record."""
RawBarrier = tuple[int, tuple[bytes, ...] | None]
"""The fields of a `migration.shard.records.Barrier`: already decoded, as it is for every shard."""
RawName = tuple[bytes, str | None]
"""The fields of a `migration.shard.records.TopicName`."""
RawRecord = tuple[int, int, bytes | RawBarrier | RawName]
"""(metadata offset, timestamp in ms, value)."""


class ChunkKind(enum.IntEnum):
    """The action of a shard on the records of a chunk.

    SEEN: they are facts of a journal. RESTART: there are none, and another log begins.
    """

    COMMITTED = 0
    HELD = 1
    RELEASE = 2
    DROP = 3
    SNAPSHOT = 4
    SEEN = 5
    RESTART = 6


class ShardChunk(NamedTuple):
    """Records of one shard from one slice; `until`: the offset after that part of the log.

    `log`: the number of the cluster's metadata log; 0: the records are facts of a journal.
    """

    kind: ChunkKind
    log: int
    until: int
    timestamp_ms: int
    records: list[RawRecord]

    def pack(self) -> bytes:
        return cast(bytes, msgpack.packb(self))

    @classmethod
    def unpack(cls, packed: bytes) -> "ShardChunk":
        kind, *rest = msgpack.unpackb(packed, use_list=False)
        return cls(ChunkKind(kind), *rest)

    def facts(self) -> list[bytes]:
        """Return the packed facts of a chunk that is SEEN."""
        return [raw for _, _, raw in self.records if isinstance(raw, bytes)]


class ClusterChunk(NamedTuple):
    """Cluster-wide records of one slice, each with its Admission, and the slice's position.

    `log`: the log of `end_offset`; a slice that steps to another log has no record.
    """

    snapshot: bool
    log: int
    start: int
    end_offset: int
    end_epoch: int
    timestamp_ms: int
    records: list[tuple[int, int, RawValue, str]]

    def pack(self) -> bytes:
        return cast(bytes, msgpack.packb(self))

    @classmethod
    def unpack(cls, packed: bytes) -> "ClusterChunk":
        return cls(*msgpack.unpackb(packed, use_list=False))

    def stamped(self) -> Iterator[tuple[Stamped, Admission]]:
        for offset, timestamp_ms, raw, admission in self.records:
            yield Stamped(offset, timestamp_ms, decode(raw)), Admission[admission]


def decode(raw: RawValue) -> Record:
    """Return a record from its packed form.

    Raises:
        WireError: the value is damaged or of a version that this Kraftgate does not know.
    """
    return LeaderChange(raw) if isinstance(raw, int) else read_record(raw)


def decoded(records: list[RawRecord]) -> Iterator[tuple[int, int, ShardRecord]]:
    """Yield a shard's decoded records: offset, timestamp in ms, record.

    Raises:
        WireError: as `decode`.
    """
    for offset, timestamp_ms, raw in records:
        if type(raw) is bytes:
            # The router sends a shard no other type of record.
            yield offset, timestamp_ms, cast(ShardRecord, read_record(raw))
        elif type(raw[0]) is bytes:
            yield offset, timestamp_ms, TopicName(*cast(RawName, raw))
        else:
            yield offset, timestamp_ms, Barrier(*cast(tuple[int, Any], raw))
