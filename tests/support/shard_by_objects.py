"""A shard that applies one record after the other to dictionaries: the twin of the columns.

It is as plain as it can be, so that the columns can be held against it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from migration.metadata.directory_ids import DirectoryId
from migration.metadata.partitions import (
    InvalidReplicaDirectories,
    Numbers,
    Replicas,
    classify,
    is_unclean,
    merge,
    register,
)
from migration.metadata.records import Partition, PartitionChange, RemoveTopic, Topic
from migration.metadata.replica_state import ReplicaState
from migration.shard.partition_records import PartitionRecords
from migration.shard.records import Barrier, OtherRecord
from streams.spark.rows import ChunkKind, ShardChunk

Place = tuple[DirectoryId, ReplicaState] | None
Transition = tuple[int, int, tuple[bytes, str], int, int, Place, Place]
"""Offset, timestamp, topic, partition, broker, place before and after."""
Key = tuple[bytes, int]


@dataclass
class ObjectShard:
    """The state, and what the last batch reported."""

    numbers: Numbers = field(default_factory=Numbers)
    topics: dict[bytes, str] = field(default_factory=dict)
    partitions: dict[Key, Replicas] = field(default_factory=dict)
    registered: dict[int, frozenset[DirectoryId]] = field(default_factory=dict)
    recovering: list[Key] = field(default_factory=list)
    held: list[ShardChunk] = field(default_factory=list)
    transitions: list[Transition] = field(default_factory=list)
    notes: list[tuple[int, str]] = field(default_factory=list)

    def take(self, chunks: Sequence[ShardChunk]) -> None:
        self.transitions, self.notes = [], []
        snapshot: list[ShardChunk] = []
        for chunk in chunks:
            match chunk.kind:
                case ChunkKind.COMMITTED:
                    self._apply(chunk)
                case ChunkKind.HELD:
                    self.held.append(chunk)
                case ChunkKind.RELEASE:
                    for each in self.held:
                        self._apply(each)
                    self.held = []
                case ChunkKind.DROP:
                    self.held = []
                case ChunkKind.SNAPSHOT:
                    snapshot.append(chunk)
                case ChunkKind.RESTART:
                    self._replace(-1, chunk.timestamp_ms, [])
        if snapshot:
            self._replace(snapshot[0].until - 1, snapshot[0].timestamp_ms, snapshot)

    def replication(self) -> tuple[int, int, int, dict[int, int]]:
        """Partitions that are under-replicated, leaderless, reassigning; out of sync by broker."""
        every = self.partitions.values()
        out = [[one for one in each.brokers if one not in each.isr] for each in every]
        return (
            sum(map(bool, out)),
            sum(each.leader < 0 for each in every),
            sum(each.moving > 0 for each in every),
            dict(Counter(one for each in out for one in each)),
        )

    def _replace(self, offset: int, timestamp_ms: int, chunks: Sequence[ShardChunk]) -> None:
        self.held = []
        loaded = ObjectShard()
        for chunk in chunks:
            loaded._apply(chunk)
        self.notes += [(offset, kind) for _, kind in loaded.notes]
        for key in loaded.recovering:
            was, now = self.partitions.get(key), loaded.partitions.get(key)
            if now and (was is None or (was.leader, was.isr) != (now.leader, now.isr)):
                self.notes.append((offset, "unclean_election"))
        at, before, names = (offset, timestamp_ms), self._placed(), self.topics | loaded.topics
        if loaded.topics:
            # The registrations change before the replicas do.
            self.registered = loaded.registered
            self._tell(at, before, names)
            before = self._placed()
        self.topics, self.partitions = loaded.topics, loaded.partitions
        self.numbers = loaded.numbers
        self._tell(at, before, names)
        self.registered = loaded.registered

    def _apply(self, chunk: ShardChunk) -> None:
        for offset, timestamp_ms, record in _together(*chunk.decoded()):
            if isinstance(record, Partition) and record.recovering:
                self.recovering.append((record.topic_id, record.partition_id))
            before, names = self._placed(), dict(self.topics)
            try:
                why = self._one(record)
            except InvalidReplicaDirectories:
                why = "record_contradicts"
            if why is not None:
                self.notes.append((offset, why))
            self._tell((offset, timestamp_ms), before, names | self.topics)

    def _one(self, record: OtherRecord | Partition | PartitionChange) -> str | None:
        contradicts = "record_contradicts"
        match record:
            case Topic(name, topic_id):
                if topic_id in self.topics:
                    return contradicts
                self.topics[topic_id] = name
                return "topic_created"
            case RemoveTopic(topic_id):
                if topic_id not in self.topics:
                    return contradicts
                del self.topics[topic_id]
                self.partitions = {k: v for k, v in self.partitions.items() if k[0] != topic_id}
                return "topic_deleted"
            case Partition():
                if record.topic_id not in self.topics:
                    return contradicts
                made = register(record, self.numbers)
                self.partitions[record.topic_id, record.partition_id] = made
            case PartitionChange():
                key = record.topic_id, record.partition_id
                if key not in self.partitions:
                    return contradicts
                before = self.partitions[key]
                self.partitions[key] = merge(before, record, self.numbers)
                return "unclean_election" if is_unclean(before, record) else None
            case Barrier(broker, log_dirs) if log_dirs is not None:
                self.registered[broker] = frozenset(log_dirs)
        return None

    def _placed(self) -> dict[tuple[bytes, int, int], Place]:
        ids = self.numbers.ids()
        return {
            (*key, broker): self._place(broker, ids[number])
            for key, replicas in self.partitions.items()
            for broker, number in zip(replicas.brokers, replicas.directories, strict=True)
        }

    def _place(self, broker: int, directory: DirectoryId) -> Place:
        return directory, classify(directory, self.registered.get(broker, frozenset()))

    def _tell(
        self,
        at: tuple[int, int],
        before: dict[tuple[bytes, int, int], Place],
        names: dict[bytes, str],
    ) -> None:
        after = self._placed()
        for key in before.keys() | after.keys():
            was, now = before.get(key), after.get(key)
            if was != now:
                topic_id, partition, broker = key
                topic = topic_id, names[topic_id]
                self.transitions.append((*at, topic, partition, broker, was, now))


def _together(
    partitions: PartitionRecords, others: Iterable[tuple[int, int, OtherRecord]]
) -> list[tuple[int, int, OtherRecord | Partition | PartitionChange]]:
    rows = range(len(partitions.offsets))
    offsets, timestamps = partitions.offsets.tolist(), partitions.timestamps.tolist()
    columns = [(offsets[row], timestamps[row], partitions.record(row)) for row in rows]
    return sorted([*columns, *others], key=lambda each: each[0])
