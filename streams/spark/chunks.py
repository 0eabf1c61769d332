"""What one row of the source carries: records of one shard, or of the cluster, still as bytes.

Rows are few and large, since Spark's cost is by the row: the records of a slice travel together
with their offsets and timestamps, packed by msgpack, and are decoded where they are used.
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
"""A record's bytes; the leader's id stands for the LeaderChange control record."""
RawBarrier = tuple[int, tuple[bytes, ...] | None]
"""The fields of a `migration.shard.records.Barrier`: for every shard, so it is decoded before."""
RawName = tuple[bytes, str | None]
"""The fields of a `migration.shard.records.TopicName`."""
RawRecord = tuple[int, int, bytes | RawBarrier | RawName]
"""(metadata offset, timestamp in ms, value)."""


class Kind(enum.IntEnum):
    """What a shard does with the records of a chunk.

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
    """Records of one shard from one slice; `until`: the offset behind that part of the log.

    `log`: which of the cluster's metadata logs; 0: the records are facts of a journal.
    """

    kind: Kind
    log: int
    until: int
    timestamp_ms: int
    records: list[RawRecord]

    def pack(self) -> bytes:
        """As it travels."""
        return cast(bytes, msgpack.packb(self))

    @classmethod
    def unpack(cls, packed: bytes) -> "ShardChunk":
        """As it arrives."""
        kind, *rest = msgpack.unpackb(packed, use_list=False)
        return cls(Kind(kind), *rest)

    def facts(self) -> list[bytes]:
        """The packed facts of a chunk that is SEEN."""
        return [raw for _, _, raw in self.records if isinstance(raw, bytes)]


class ClusterChunk(NamedTuple):
    """Cluster-wide records of one slice, each with its Admission, and the slice's place.

    `log`: the one that `end_offset` is in; a slice that steps to another log has no record.
    """

    snapshot: bool
    log: int
    start: int
    end_offset: int
    end_epoch: int
    timestamp_ms: int
    records: list[tuple[int, int, RawValue, str]]

    def pack(self) -> bytes:
        """As it travels."""
        return cast(bytes, msgpack.packb(self))

    @classmethod
    def unpack(cls, packed: bytes) -> "ClusterChunk":
        """As it arrives."""
        return cls(*msgpack.unpackb(packed, use_list=False))

    def stamped(self) -> Iterator[tuple[Stamped, Admission]]:
        """The records, decoded."""
        for offset, timestamp_ms, raw, admission in self.records:
            yield Stamped(offset, timestamp_ms, decode(raw)), Admission[admission]


def decode(raw: RawValue) -> Record:
    """A record from its packed form.

    Raises:
        WireError: the value is damaged or of a version this Kraftgate does not know.
    """
    return LeaderChange(raw) if isinstance(raw, int) else read_record(raw)


def decoded(records: list[RawRecord]) -> Iterator[tuple[int, int, ShardRecord]]:
    """A shard's records, decoded: offset, timestamp in ms, record.

    Raises:
        WireError: as `decode`.
    """
    for offset, timestamp_ms, raw in records:
        if type(raw) is bytes:
            # The router sends a shard nothing else.
            yield offset, timestamp_ms, cast(ShardRecord, read_record(raw))
        elif type(raw[0]) is bytes:
            yield offset, timestamp_ms, TopicName(*cast(RawName, raw))
        else:
            yield offset, timestamp_ms, Barrier(*cast(tuple[int, Any], raw))
