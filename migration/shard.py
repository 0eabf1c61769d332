"""One shard of a cluster's replicas: every partition of the topics that hash to it.

The heavy, per-replica part of the image. A shard takes committed records in order and tells, in a
`ShardReport`, only what the cluster-wide image needs: how the counts per broker and directory
moved, and when a broker's pending replicas in this shard came to none. The cluster-wide stage's
share grows with brokers and directories, not with replicas.

Broker records are `barriers`: the image wants to know a broker's pending replicas right there, so
the movements of `pending` are told apart by the next barrier behind them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from migration.directory_ids import PENDING, DirectoryId, to_text
from migration.partitions import (
    InvalidReplicaDirectories,
    Replicas,
    classify,
    merge,
    moves,
    register,
)
from migration.records import (
    BrokerRegistrationChange,
    Partition,
    PartitionChange,
    Record,
    RegisterBroker,
    RemoveTopic,
    Topic,
    UnregisterBroker,
)
from migration.summary import ReplicaState

NOT_REGISTERED: Final[frozenset[DirectoryId]] = frozenset()


class Stamped(NamedTuple):
    """A committed record with its place in the log (ms since the epoch)."""

    offset: int
    timestamp_ms: int
    record: Record


class Transition(NamedTuple):
    """A change of one replica's directory state; `was` None: new replica, `now` None: gone."""

    offset: int
    timestamp_ms: int
    topic: str
    topic_id: bytes
    partition: int
    broker: int
    was: ReplicaState | None
    was_directory: DirectoryId | None
    now: ReplicaState | None
    directory: DirectoryId | None


class Crossing(NamedTuple):
    """At this record a broker's pending replicas in the shard came to none, or were some again."""

    offset: int
    timestamp_ms: int
    broker: int
    pending: bool


class Note(NamedTuple):
    """Something worth an event that only the shard knows of."""

    offset: int
    timestamp_ms: int
    kind: str
    fields: dict[str, str | int]


class Movement(NamedTuple):
    """How a broker's pending replicas moved before one barrier.

    Attributes:
        net: change of their number.
        assigned: how many got a directory.
        first_ms: timestamp of the first assignment (0: none).
        last_ms: timestamp of the last one (0: none).
    """

    net: int = 0
    assigned: int = 0
    first_ms: int = 0
    last_ms: int = 0

    def plus(self, other: "Movement") -> "Movement":
        """Both movements together, in either order."""
        firsts = [moment for moment in (self.first_ms, other.first_ms) if moment]
        return Movement(
            self.net + other.net,
            self.assigned + other.assigned,
            min(firsts, default=0),
            max(self.last_ms, other.last_ms),
        )


@dataclass(slots=True)
class ShardReport:
    """What one shard tells of one batch.

    Attributes:
        directories: (broker, directory) -> change of the number of replicas in it.
        movements: (offset of the next barrier, broker) -> movement of its pending before it.
        crossings: in log order.
    """

    topics: int = 0
    partitions: int = 0
    directories: dict[tuple[int, DirectoryId], int] = field(default_factory=dict)
    movements: dict[tuple[int, int], Movement] = field(default_factory=dict)
    crossings: list[Crossing] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)


@dataclass(slots=True)
class ShardTopic:
    """A topic's name and its partitions by id."""

    name: str
    partitions: dict[int, Replicas] = field(default_factory=dict)


@dataclass(slots=True)
class Shard:
    """The state of one shard between batches.

    Attributes:
        topics: by topic id.
        registered: directories of each broker's latest registration.
        pending: replicas without a real directory, by broker; brokers with none are absent.
    """

    topics: dict[bytes, ShardTopic] = field(default_factory=dict)
    registered: dict[int, frozenset[DirectoryId]] = field(default_factory=dict)
    pending: dict[int, int] = field(default_factory=dict)


class ShardBatch:
    """Applies one batch of committed records to a shard.

    After `apply`, `report` and `transitions` tell what changed. The records must be those of the
    shard's topics, and every registration of a broker, in log order.
    """

    def __init__(self, shard: Shard) -> None:
        self.shard = shard
        self.report = ShardReport()
        self.transitions: list[Transition] = []
        self._open: dict[int, list[int]] = {}
        self._ids: dict[DirectoryId, DirectoryId] = {}

    def apply(self, records: Iterable[Stamped], until: int) -> None:
        """Take the records in order; one that contradicts the state is noted and changes nothing.

        `until`: the offset behind the part of the log that the records come from, a barrier too.
        """
        for stamped in records:
            offset, timestamp_ms, record = stamped
            kind = type(record)
            if kind is PartitionChange:
                self._change(offset, timestamp_ms, record)  # type: ignore[arg-type]
            elif kind is Partition:
                self._partition(offset, timestamp_ms, record)  # type: ignore[arg-type]
            else:
                self._seldom(stamped)
        self._barrier(until)

    def replace(self, offset: int, timestamp_ms: int, records: Iterable[Record]) -> None:
        """Load a snapshot: what it holds becomes the state; only the differences are told."""
        loaded = Shard()
        scratch = ShardBatch(loaded)
        scratch.apply((Stamped(offset, timestamp_ms, each) for each in records), offset + 1)
        before = self.shard.topics
        self.shard.registered = loaded.registered
        self.report.notes.extend(scratch.report.notes)
        self.report.topics += len(loaded.topics) - len(before)
        self.shard.topics = {}
        for topic_id in before.keys() | loaded.topics.keys():
            old = before.get(topic_id)
            new = loaded.topics.get(topic_id)
            topic = new or old
            if topic is None:
                continue
            if new is not None:
                self.shard.topics[topic_id] = new
            was = old.partitions if old is not None else {}
            now = new.partitions if new is not None else {}
            self.report.partitions += len(now) - len(was)
            for partition_id in was.keys() | now.keys():
                self._moved(
                    offset,
                    timestamp_ms,
                    (topic_id, topic.name, partition_id),
                    was.get(partition_id),
                    now.get(partition_id),
                )
        self._barrier(offset + 1)

    def _seldom(self, stamped: Stamped) -> None:
        offset, timestamp_ms, record = stamped
        match record:
            case Topic():
                self._topic(offset, timestamp_ms, record)
            case RemoveTopic():
                self._remove(offset, timestamp_ms, record)
            case RegisterBroker():
                self._barrier(offset)
                self._registered(stamped, record.broker_id, frozenset(record.log_dirs))
            case BrokerRegistrationChange():
                self._barrier(offset)
                if record.log_dirs:
                    self._registered(stamped, record.broker_id, frozenset(record.log_dirs))
            case UnregisterBroker():
                self._barrier(offset)
                self._registered(stamped, record.broker_id, NOT_REGISTERED)
            case _:
                self._barrier(offset)

    def _topic(self, offset: int, timestamp_ms: int, record: Topic) -> None:
        if record.topic_id in self.shard.topics:
            self._contradicts(offset, timestamp_ms, record.topic_id, "the topic exists already")
            return
        self.shard.topics[record.topic_id] = ShardTopic(record.name)
        self.report.topics += 1
        fields: dict[str, str | int] = {"topic": record.name, "topic_id": to_text(record.topic_id)}
        self.report.notes.append(Note(offset, timestamp_ms, "topic_created", fields))

    def _remove(self, offset: int, timestamp_ms: int, record: RemoveTopic) -> None:
        topic = self.shard.topics.pop(record.topic_id, None)
        if topic is None:
            self._contradicts(offset, timestamp_ms, record.topic_id, "no such topic to remove")
            return
        for partition_id, replicas in topic.partitions.items():
            place = (record.topic_id, topic.name, partition_id)
            self._moved(offset, timestamp_ms, place, replicas, None)
        self.report.topics -= 1
        self.report.partitions -= len(topic.partitions)
        fields: dict[str, str | int] = {
            "topic": topic.name,
            "topic_id": to_text(record.topic_id),
            "partitions": len(topic.partitions),
        }
        self.report.notes.append(Note(offset, timestamp_ms, "topic_deleted", fields))

    def _partition(self, offset: int, timestamp_ms: int, record: Partition) -> None:
        topic = self.shard.topics.get(record.topic_id)
        if topic is None:
            self._contradicts(offset, timestamp_ms, record.topic_id, "a partition without a topic")
            return
        try:
            after = self._interned(register(record))
        except InvalidReplicaDirectories as error:
            self._contradicts(offset, timestamp_ms, record.topic_id, str(error))
            return
        before = topic.partitions.get(record.partition_id)
        if before is None:
            self.report.partitions += 1
        topic.partitions[record.partition_id] = after
        place = (record.topic_id, topic.name, record.partition_id)
        self._moved(offset, timestamp_ms, place, before, after)

    def _change(self, offset: int, timestamp_ms: int, record: PartitionChange) -> None:
        if record.replicas is None and not record.directories:
            return
        topic = self.shard.topics.get(record.topic_id)
        before = topic.partitions.get(record.partition_id) if topic is not None else None
        if topic is None or before is None:
            self._contradicts(
                offset, timestamp_ms, record.topic_id, "a change of a partition that does not exist"
            )
            return
        try:
            after = self._interned(merge(before, record))
        except InvalidReplicaDirectories as error:
            self._contradicts(offset, timestamp_ms, record.topic_id, str(error))
            return
        if after != before:
            topic.partitions[record.partition_id] = after
            place = (record.topic_id, topic.name, record.partition_id)
            self._moved(offset, timestamp_ms, place, before, after)

    def _registered(
        self, stamped: Stamped, broker: int, directories: frozenset[DirectoryId]
    ) -> None:
        """A broker named other directories: its replicas there go offline, or come back."""
        before = self.shard.registered.get(broker, NOT_REGISTERED)
        if directories == before:
            return
        if directories:
            self.shard.registered[broker] = directories
        else:
            self.shard.registered.pop(broker, None)
        for topic_id, topic in self.shard.topics.items():
            for partition_id, replicas in topic.partitions.items():
                for host, directory in zip(*replicas, strict=True):
                    if host != broker:
                        continue
                    was = classify(directory, before)
                    now = classify(directory, directories)
                    if was is not now:
                        self.transitions.append(
                            Transition(
                                stamped.offset,
                                stamped.timestamp_ms,
                                topic.name,
                                topic_id,
                                partition_id,
                                broker,
                                was,
                                directory,
                                now,
                                directory,
                            )
                        )

    def _moved(
        self,
        offset: int,
        timestamp_ms: int,
        place: tuple[bytes, str, int],
        before: Replicas | None,
        after: Replicas | None,
    ) -> None:
        topic_id, name, partition_id = place
        counts = self.report.directories
        for broker, was, now in moves(before, after):
            registered = self.shard.registered.get(broker, NOT_REGISTERED)
            if was is not None:
                counts[broker, was] = counts.get((broker, was), 0) - 1
            if now is not None:
                counts[broker, now] = counts.get((broker, now), 0) + 1
            step = (now in PENDING) - (was in PENDING)
            if step:
                self._pending(offset, timestamp_ms, broker, step, assigned=now is not None)
            self.transitions.append(
                Transition(
                    offset,
                    timestamp_ms,
                    name,
                    topic_id,
                    partition_id,
                    broker,
                    None if was is None else classify(was, registered),
                    was,
                    None if now is None else classify(now, registered),
                    now,
                )
            )

    def _pending(
        self, offset: int, timestamp_ms: int, broker: int, step: int, *, assigned: bool
    ) -> None:
        pending = self.shard.pending
        before = pending.get(broker, 0)
        after = before + step
        if after:
            pending[broker] = after
        else:
            del pending[broker]
        if not before or not after:
            self.report.crossings.append(Crossing(offset, timestamp_ms, broker, bool(after)))
        movement = self._open.get(broker)
        if movement is None:
            movement = self._open[broker] = [0, 0, 0, 0]
        movement[0] += step
        if step < 0 and assigned:
            movement[1] += 1
            movement[2] = movement[2] or timestamp_ms
            movement[3] = timestamp_ms

    def _barrier(self, offset: int) -> None:
        for broker, movement in self._open.items():
            self.report.movements[offset, broker] = Movement(*movement)
        self._open.clear()

    def _interned(self, replicas: Replicas) -> Replicas:
        ids = self._ids
        return Replicas(
            replicas.brokers, tuple([ids.setdefault(each, each) for each in replicas.directories])
        )

    def _contradicts(self, offset: int, timestamp_ms: int, topic_id: bytes, why: str) -> None:
        fields: dict[str, str | int] = {"topic_id": to_text(topic_id), "reason": why}
        self.report.notes.append(Note(offset, timestamp_ms, "record_contradicts", fields))
