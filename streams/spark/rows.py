"""Converts the bytes of a slice to rows: each record's shard, and whether it is committed yet.

Runs on the executors. A record is routed by the bytes that have a fixed position in every version
(the topic id), so that no record is decoded twice. Records about brokers go to the cluster's row
and, as barriers, to the shards.

Rows are few and large, since Spark's cost is per row: the records of a slice for one shard, or
about the cluster, are transferred together as a chunk, with their offsets and timestamps, packed by
msgpack, and decoded where they are used.
"""

import enum
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, cast

import msgpack

from migration.metadata.records import Config, LeaderChange, Record, RemoveTopic, Stamped, Topic
from migration.metadata.transactions import Admission, Transaction, admit
from migration.shard.placement import CLUSTER, SHARDS, place_of_name, shard_numbers
from migration.shard.records import Barrier, ShardRecord, TopicName, barrier
from migration.values.timestamps import EARLIEST_MS, LATEST_MS, within
from streams.metadata.offsets import NONE
from streams.metadata.plan import Slice
from streams.process.garbage import without_garbage_collection
from streams.wire.batches import Batch, read_file
from streams.wire.control import (
    LeaderChangeMessageV0,
    LeaderChangeMessageV1,
    SnapshotHeaderRecord,
)
from streams.wire.errors import WireError
from streams.wire.records import read_record

Row = tuple[str, int, int, bytes]
"""cluster, shard, ordinal (the order of one shard's rows in a batch), chunk."""

_ROWS_A_SLICE: Final = 10**6
_PARTITION_KEYS: Final = (3, 5)
_NO_OP_KEY: Final = 20
_TRANSACTION_KEYS: Final = (23, 24, 25)
_TOPIC_ID_END_PARTITION: Final = 22
"""Frame (3 bytes), partition id (4), topic id (16): its last byte."""


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
        """Yield the decoded records.

        Raises:
            WireError: as `decoded`.
        """
        for offset, timestamp_ms, raw, admission in self.records:
            record: Record = LeaderChange(raw) if isinstance(raw, int) else read_record(raw)
            yield Stamped(offset, timestamp_ms, record), Admission[admission]


def decoded(records: list[RawRecord]) -> Iterator[tuple[int, int, ShardRecord]]:
    """Yield a shard's decoded records: offset, timestamp in ms, record.

    Raises:
        WireError: a value is damaged or of a version that this Kraftgate does not know.
    """
    for offset, timestamp_ms, raw in records:
        if type(raw) is bytes:
            # The router sends a shard no other type of record.
            yield offset, timestamp_ms, cast(ShardRecord, read_record(raw))
        elif type(raw[0]) is bytes:
            yield offset, timestamp_ms, TopicName(*cast(RawName, raw))
        else:
            yield offset, timestamp_ms, Barrier(*cast(tuple[int, Any], raw))


def rows(cluster: str, part: Slice) -> Iterator[Row]:
    """Read a slice to its end.

    Raises:
        WireError: damage that the planner's headers and CRCs could not detect.
    """
    with without_garbage_collection():
        router = _Router(cluster, part)
        for batch in read_file(part.path, part.position, part.size) if part.size else ():
            try:
                router.take(batch)
            except WireError as error:
                if error.file is None:
                    at = batch.position
                    error.locate(file=str(part.path), position=at, offset=batch.base_offset)
                raise
        yield from router.finish()


class _Router:
    """Collects one slice's records by shard."""

    def __init__(self, cluster: str, part: Slice) -> None:
        self._cluster = cluster
        self._part = part
        self._shards = shard_numbers(cluster)
        begin = part.start.transaction
        self._transaction = None if begin == NONE else Transaction(begin)
        self._timestamp_ms = within(part.timestamp_ms)
        self._began_here = False
        self._now: dict[int, list[RawRecord]] = {}
        self._held: dict[int, list[RawRecord]] = {}
        self._barriers: list[RawRecord] = []
        self._everywhere = False
        self._about_cluster: list[tuple[int, int, RawValue, str]] = []
        self._rows: list[Row] = []

    def take(self, batch: Batch) -> None:
        if batch.is_control:
            self._control(batch)
            return
        snapshot = self._part.snapshot
        fixed_offset = self._part.end.offset - 1
        target = self._now if self._transaction is None or snapshot else self._held
        shards = self._shards
        for offset, timestamp, value in batch.records():
            at = fixed_offset if snapshot else offset
            if not EARLIEST_MS <= timestamp <= LATEST_MS:
                timestamp = within(timestamp)
            key = value[1] if len(value) > _TOPIC_ID_END_PARTITION and value[0] == 1 else None
            if key in _PARTITION_KEYS:
                shard = shards[value[_TOPIC_ID_END_PARTITION] % SHARDS]
            else:
                target = self._other(at, timestamp, value, target)
                continue
            records = target.get(shard)
            if records is None:
                records = target[shard] = []
            records.append((at, timestamp, value))

    def finish(self) -> Iterator[Row]:
        part = self._part
        if part.snapshot:
            for shard in self._shards:
                self._now.setdefault(shard, [])
            restart = part.start.log != part.end.log
            self._flush(ChunkKind.RESTART if restart else ChunkKind.SNAPSHOT, self._now)
        else:
            self._flush(ChunkKind.COMMITTED, self._now)
            if self._transaction is not None:
                self._flush(ChunkKind.HELD, self._held)
        yield from self._rows
        chunk = ClusterChunk(
            snapshot=part.snapshot,
            log=part.end.log,
            start=part.start.offset,
            end_offset=part.end.offset - 1,
            end_epoch=part.end.epoch,
            timestamp_ms=self._timestamp_ms,
            records=self._about_cluster,
        )
        yield self._cluster, CLUSTER, self._ordinal(), chunk.pack()

    def _other(
        self, offset: int, timestamp: int, value: bytes, target: dict[int, list[RawRecord]]
    ) -> dict[int, list[RawRecord]]:
        """Route a record of a rare type; return the target for the next ones."""
        record = read_record(value)
        key = value[1]
        if isinstance(record, Topic | RemoveTopic):
            self._topic(record, (offset, timestamp, value), target)
        elif isinstance(record, Config):
            shard = self._shards[place_of_name(record.resource_name)]
            target.setdefault(shard, []).append((offset, timestamp, value))
        elif key in _TRANSACTION_KEYS and not self._part.snapshot:
            return self._mark(offset, timestamp, value)
        elif key != _NO_OP_KEY:
            what = Admission.NOW if target is self._now else Admission.HELD
            self._about_cluster.append((offset, timestamp, value, what.name))
            found = barrier(record)
            if found is not None:
                self._add_barrier((offset, timestamp, (found.broker_id, found.log_dirs)), target)
        return target

    def _topic(
        self, record: Topic | RemoveTopic, raw: RawRecord, target: dict[int, list[RawRecord]]
    ) -> None:
        """Route the record to the topic's shard, and its id to those that may have its settings."""
        offset, timestamp, _ = raw
        shards: tuple[int, ...]
        named: RawName
        target.setdefault(self._shards[record.topic_id[-1] % SHARDS], []).append(raw)
        shards, named = self._shards, (record.topic_id, None)
        if isinstance(record, Topic):
            shards = (self._shards[place_of_name(record.name)],)
            named = (record.topic_id, record.name)
        for shard in shards:
            target.setdefault(shard, []).append((offset, timestamp, named))

    def _add_barrier(self, raw: RawRecord, target: dict[int, list[RawRecord]]) -> None:
        if target is self._held:
            # Rare enough to be sent to every shard.
            for shard in self._shards:
                self._held.setdefault(shard, []).append(raw)
            return
        self._barriers.append(raw)
        _, log_dirs = cast("RawBarrier", raw[2])
        self._everywhere = self._everywhere or log_dirs is not None

    def _mark(self, offset: int, timestamp: int, value: bytes) -> dict[int, list[RawRecord]]:
        """Process Begin, End or Abort; a transaction within one slice is not visible to shards."""
        was_open = self._transaction
        self._transaction, what = admit(was_open, offset, read_record(value))
        self._about_cluster.append((offset, timestamp, value, what.name))
        if what is Admission.HELD:
            self._began_here = True
            return self._held
        if not self._began_here:
            self._flush(ChunkKind.COMMITTED, self._now)
            self._flush(ChunkKind.HELD, self._held)
            kind = ChunkKind.RELEASE if what is Admission.RELEASE else ChunkKind.DROP
            for shard in self._shards:
                chunk = ShardChunk(kind, self._part.end.log, offset + 1, timestamp, [])
                self._row(shard, chunk)
        elif what is Admission.RELEASE:
            for shard, records in self._held.items():
                self._now.setdefault(shard, []).extend(records)
        self._held = {}
        self._began_here = False
        return self._now

    def _control(self, batch: Batch) -> None:
        for offset, timestamp_ms, record in batch.control_records():
            timestamp = within(timestamp_ms)
            if (
                isinstance(record, LeaderChangeMessageV0 | LeaderChangeMessageV1)
                and not self._part.snapshot
            ):
                raw = (offset, timestamp, record.leader_id, Admission.NOW.name)
                self._about_cluster.append(raw)
            elif isinstance(record, SnapshotHeaderRecord):
                self._timestamp_ms = within(record.last_contained_log_timestamp)

    def _flush(self, kind: ChunkKind, by_shard: dict[int, list[RawRecord]]) -> None:
        barriers = self._barriers
        if kind in (ChunkKind.COMMITTED, ChunkKind.SNAPSHOT) and barriers:
            if self._everywhere:
                for shard in self._shards:
                    by_shard.setdefault(shard, [])
            for records in by_shard.values():
                records.extend(barriers)
                records.sort(key=lambda record: record[0])
            self._barriers = []
            self._everywhere = False
        for shard, records in by_shard.items():
            end = self._part.end
            chunk = ShardChunk(kind, end.log, end.offset, self._timestamp_ms, records)
            self._row(shard, chunk)
        by_shard.clear()

    def _row(self, shard: int, chunk: ShardChunk) -> None:
        self._rows.append((self._cluster, shard, self._ordinal(), chunk.pack()))

    def _ordinal(self) -> int:
        return self._part.ordinal * _ROWS_A_SLICE + len(self._rows)
