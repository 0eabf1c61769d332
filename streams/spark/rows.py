"""Converts the bytes of a slice to rows: each record's shard, and whether it is committed yet.

Runs on the executors. A record of a partition is routed by the bytes that have a fixed position in
every version (the topic id), so that no record is decoded twice; these records stay columns from
here to the shard's state. Records about brokers go to the cluster's row and, as barriers, to the
shards.

Rows are few and large, since Spark's cost is per row: the records of a slice for one shard, or
about the cluster, are transferred together as a chunk, with their offsets and timestamps, packed by
msgpack, and decoded where they are used.
"""

import enum
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any, Final, NamedTuple, cast

import msgpack
import numpy as np

from migration.metadata.records import (
    Config,
    LeaderChange,
    Partition,
    PartitionChange,
    Record,
    RemoveTopic,
    Stamped,
    Topic,
)
from migration.metadata.transactions import Admission, Transaction, admit
from migration.shard.lists import Integers, integers
from migration.shard.partition_records import PartitionRecords
from migration.shard.placement import CLUSTER, SHARDS, place_of_name, place_of_topic, shard_numbers
from migration.shard.records import Barrier, OtherRecord, TopicName, barrier
from migration.values.timestamps import EARLIEST_MS, LATEST_MS, within
from streams.metadata.offsets import NONE
from streams.metadata.plan import Slice
from streams.process.garbage import without_garbage_collection
from streams.wire.batches import Batch, read_file, read_snapshot
from streams.wire.columns import CHANGE_KEY, PARTITION_KEY, Values, read_columns
from streams.wire.control import LeaderChangeMessage, SnapshotHeaderRecord
from streams.wire.errors import WireError
from streams.wire.records import read_record

Row = tuple[str, int, int, bytes]
"""cluster, shard, ordinal (the order of one shard's rows in a batch), chunk."""

_ROWS_A_SLICE: Final = 10**6
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


PackedValues = tuple[int, bytes, bytes, bytes]
"""Values of partition records with equal lengths: the length, then their offsets, timestamps and
bytes, each one after the other; numbers have 64 bits."""
DecodedRecord = tuple[int, int, OtherRecord]
"""Metadata offset, timestamp in ms, record."""


class ShardChunk(NamedTuple):
    """Records of one shard from one slice; `until`: the offset after that part of the log.

    Offsets are those in the file, for snapshots too.

    Attributes:
        log: the number of the cluster's metadata log; 0: the records are facts of a journal.
        records: all but `partitions`, ordered by offset.
        partitions: PartitionRecords and PartitionChangeRecords.
    """

    kind: ChunkKind
    log: int
    until: int
    timestamp_ms: int
    records: Sequence[RawRecord]
    partitions: Sequence[PackedValues] = ()

    def pack(self) -> bytes:
        return cast(bytes, msgpack.packb(self))

    @classmethod
    def unpack(cls, packed: bytes) -> "ShardChunk":
        kind, *rest = msgpack.unpackb(packed, use_list=False)
        return cls(ChunkKind(kind), *rest)

    def facts(self) -> list[bytes]:
        """Return the packed facts of a chunk that is SEEN."""
        return [raw for _, _, raw in self.records if isinstance(raw, bytes)]

    def decoded(self) -> tuple[PartitionRecords, list[DecodedRecord]]:
        """Return the chunk's decoded records: those of partitions, and the others.

        Raises:
            WireError: a value is damaged or of a version that this Kraftgate does not know.
        """
        parts = [read_columns([_unpacked(each) for each in self.partitions])]
        others: list[DecodedRecord] = []
        for offset, timestamp_ms, raw in self.records:
            if isinstance(raw, bytes):
                record = read_record(raw)
                if isinstance(record, Partition | PartitionChange):
                    # The state of a release without columns held it.
                    parts.append(PartitionRecords.of([(offset, timestamp_ms, record)]))
                    continue
                # The router sends a shard no other type of record.
                others.append((offset, timestamp_ms, cast(OtherRecord, record)))
            elif isinstance(raw[0], bytes):
                others.append((offset, timestamp_ms, TopicName(*raw)))
            else:
                others.append((offset, timestamp_ms, Barrier(*cast(tuple[int, Any], raw))))
        return PartitionRecords.joined(parts), others


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


def rows(cluster: str, part: Slice) -> Iterator[Row]:
    """Read a slice to its end.

    Raises:
        WireError: damage that the planner's headers and CRCs could not detect, or in a snapshot.
    """
    with without_garbage_collection():
        router = _Router(cluster, part)
        for batch in _batches(part):
            router.take(batch)
        router.route()
        yield from router.finish()


def _batches(part: Slice) -> Iterable[Batch]:
    if part.is_restart:
        return ()
    if part.snapshot:
        return read_snapshot(part.path)
    return read_file(part.path, part.position, part.size) if part.size else ()


class _Records:
    """Records that have the same effect: of partitions, by row in the slice, and others."""

    def __init__(self) -> None:
        self.rows: list[Integers] = []
        self.others: dict[int, list[RawRecord]] = {}

    def add(self, shard: int, record: RawRecord) -> None:
        self.others.setdefault(shard, []).append(record)

    def add_all(self, records: "_Records") -> None:
        self.rows += records.rows
        for shard, others in records.others.items():
            self.others.setdefault(shard, []).extend(others)


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
        self._now = _Records()
        self._held = _Records()
        self._barriers: list[RawRecord] = []
        self._everywhere = False
        self._about_cluster: list[tuple[int, int, RawValue, str]] = []
        self._rows: list[Row] = []

        # All data records of the slice; `route` makes arrays of the lists.
        self._batches: list[Batch] = []
        self._first_rows: list[int] = []
        self._offsets: list[int] = []
        self._timestamps: list[int] = []
        self._starts: list[int] = []
        self._ends: list[int] = []

    def take(self, batch: Batch) -> None:
        """Take a batch; `route` processes what was taken."""
        if batch.is_control:
            self._control(batch)
            return
        timestamps, starts, ends = batch.places()
        self._batches.append(batch)
        self._first_rows.append(len(self._starts))
        self._offsets += range(batch.base_offset, batch.base_offset + len(starts))
        self._timestamps += timestamps
        self._starts += starts
        self._ends += ends

    def route(self) -> None:
        """Route all records.

        Raises:
            WireError: one of them is damaged.
        """
        if not self._batches:
            return
        buffer = self._batches[0].buffer
        self._bytes = np.frombuffer(buffer, dtype=np.uint8)
        self._offset_of = integers(self._offsets)
        self._timestamp_of = np.clip(integers(self._timestamps), EARLIEST_MS, LATEST_MS)
        self._starts_at, self._ends_at = integers(self._starts), integers(self._ends)
        # Positions beyond short values are within the buffer, and not used.
        head, key, place = (
            self._bytes[np.minimum(self._starts_at + at, len(buffer) - 1)]
            for at in (0, 1, _TOPIC_ID_END_PARTITION)
        )
        self._shard_of = integers(self._shards)[place % SHARDS]
        partitions = self._ends_at - self._starts_at > _TOPIC_ID_END_PARTITION
        partitions &= (head == 1) & np.isin(key, (PARTITION_KEY, CHANGE_KEY))
        self._partitions = np.flatnonzero(partitions)
        target = self._held
        if self._transaction is None or self._part.snapshot:
            target = self._now
        for row in np.flatnonzero(~partitions).tolist():
            value = buffer[self._starts[row] : self._ends[row]]
            try:
                target = self._other(
                    row, (self._offsets[row], int(self._timestamp_of[row]), value), target
                )
            except WireError as error:
                batch = self._batches[bisect_right(self._first_rows, row) - 1]
                error.locate(file=batch.file, position=batch.position, offset=batch.base_offset)
                raise
        self._assign(target, len(self._starts))

    def _assign(self, target: "_Records", row: int) -> None:
        """Give the records of partitions before a row, which are not yet given, to a target."""
        count = int(np.searchsorted(self._partitions, row))
        target.rows.append(self._partitions[:count])
        self._partitions = self._partitions[count:]

    def finish(self) -> Iterator[Row]:
        part = self._part
        if part.snapshot:
            kind = ChunkKind.RESTART if part.is_restart else ChunkKind.SNAPSHOT
            self._flush(kind, self._now)
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
            records=sorted(self._about_cluster, key=lambda record: record[0]),
        )
        yield self._cluster, CLUSTER, self._ordinal(), chunk.pack()

    def _other(self, row: int, raw: tuple[int, int, bytes], target: "_Records") -> "_Records":
        """Route a record of a rare type; return the target for the next ones."""
        offset, timestamp, value = raw
        record = read_record(value)
        key = value[1]
        if isinstance(record, Topic | RemoveTopic):
            self._topic(record, raw, target)
        elif isinstance(record, Config):
            target.add(self._shards[place_of_name(record.resource_name)], raw)
        elif key in _TRANSACTION_KEYS and not self._part.snapshot:
            self._assign(target, row)
            return self._mark(offset, timestamp, value)
        elif key != _NO_OP_KEY:
            what = Admission.NOW if target is self._now else Admission.HELD
            at = self._part.end.offset - 1 if self._part.snapshot else offset
            self._about_cluster.append((at, timestamp, value, what.name))
            found = barrier(record)
            if found is not None:
                self._add_barrier((offset, timestamp, (found.broker_id, found.log_dirs)), target)
        return target

    def _topic(self, record: Topic | RemoveTopic, raw: RawRecord, target: "_Records") -> None:
        """Route the record to the topic's shard, and its id to those that may have its settings."""
        offset, timestamp, _ = raw
        target.add(self._shards[place_of_topic(record.topic_id)], raw)
        name = record.name if isinstance(record, Topic) else None
        shards = self._shards if name is None else (self._shards[place_of_name(name)],)
        for shard in shards:
            target.add(shard, (offset, timestamp, (record.topic_id, name)))

    def _add_barrier(self, raw: RawRecord, target: "_Records") -> None:
        if target is self._held:
            # Rare enough to be sent to every shard.
            for shard in self._shards:
                self._held.add(shard, raw)
            return
        self._barriers.append(raw)
        _, log_dirs = cast("RawBarrier", raw[2])
        self._everywhere = self._everywhere or log_dirs is not None

    def _mark(self, offset: int, timestamp: int, value: bytes) -> "_Records":
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
            self._now = _Records()
        elif what is Admission.RELEASE:
            self._now.add_all(self._held)
        self._held = _Records()
        self._began_here = False
        return self._now

    def _control(self, batch: Batch) -> None:
        for offset, timestamp_ms, record in batch.control_records():
            timestamp = within(timestamp_ms)
            if isinstance(record, LeaderChangeMessage) and not self._part.snapshot:
                raw = (offset, timestamp, record.leader_id, Admission.NOW.name)
                self._about_cluster.append(raw)
            elif isinstance(record, SnapshotHeaderRecord):
                self._timestamp_ms = within(record.last_contained_log_timestamp)

    def _flush(self, kind: ChunkKind, collected: "_Records") -> None:
        others = collected.others
        values = self._packed_values(collected.rows)
        shards = values.keys() | others.keys()
        barriers: list[RawRecord] = []
        if kind in (ChunkKind.SNAPSHOT, ChunkKind.RESTART):
            shards |= set(self._shards)
        if kind in (ChunkKind.COMMITTED, ChunkKind.SNAPSHOT):
            barriers, self._barriers = self._barriers, []
            if self._everywhere:
                shards |= set(self._shards)
            self._everywhere = False
        end = self._part.end
        for shard in sorted(shards):
            records = sorted([*others.get(shard, ()), *barriers], key=itemgetter(0))
            chunk = ShardChunk(
                kind, end.log, end.offset, self._timestamp_ms, records, values.get(shard, ())
            )
            self._row(shard, chunk)

    def _packed_values(self, rows: list[Integers]) -> dict[int, list[PackedValues]]:
        """Return by shard the values of these records of partitions."""
        found: dict[int, list[PackedValues]] = {}
        some = np.concatenate(rows) if rows else integers([])
        if not len(some):
            return found
        shards, lengths = self._shard_of[some], (self._ends_at - self._starts_at)[some]
        groups = np.lexsort((lengths, shards))
        some, shards, lengths = some[groups], shards[groups], lengths[groups]
        begins = np.flatnonzero(
            np.r_[True, (shards[1:] != shards[:-1]) | (lengths[1:] != lengths[:-1])]
        )
        for begin, end in pairwise([*begins.tolist(), len(some)]):
            rows_of, length = some[begin:end], int(lengths[begin])
            # An element for each position at which such a value could start: to pick elements
            # copies whole values.
            windows = np.ndarray(
                (len(self._bytes) - length + 1,), f"V{length}", self._bytes, strides=(1,)
            )
            found.setdefault(int(shards[begin]), []).append(
                (
                    length,
                    self._offset_of[rows_of].tobytes(),
                    self._timestamp_of[rows_of].tobytes(),
                    windows[self._starts_at[rows_of]].tobytes(),
                )
            )
        return found

    def _row(self, shard: int, chunk: ShardChunk) -> None:
        self._rows.append((self._cluster, shard, self._ordinal(), chunk.pack()))

    def _ordinal(self) -> int:
        return self._part.ordinal * _ROWS_A_SLICE + len(self._rows)


def _unpacked(packed: PackedValues) -> Values:
    length, offsets, timestamps, values = packed
    return Values(
        np.frombuffer(offsets, dtype=np.int64),
        np.frombuffer(timestamps, dtype=np.int64),
        np.frombuffer(values, dtype=np.uint8).reshape(-1, length),
    )
