"""One shard of a cluster's replicas: every partition of the topics that hash to it.

The heavy, per-replica part of the image. A shard takes committed records in order and tells, in a
`ShardReport`, only what the cluster-wide image needs: how the counts per broker and directory
moved, and when a broker's pending replicas in this shard came to none. The cluster-wide stage's
share grows with brokers and directories, not with replicas.

Records about a broker are `barriers`: the image wants to know its pending replicas right there, so
the movements of `pending` are told apart by the broker's next barrier behind them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from migration.comparison import (
    TOPIC_RESOURCE,
    Comparisons,
    ShardComparison,
    against_disks,
    against_zookeeper,
)
from migration.directory_ids import DirectoryId, to_text
from migration.observations import ShardFact, ZkContentSeen
from migration.partitions import (
    LOST_NUMBER,
    MIGRATING_NUMBER,
    UNASSIGNED_NUMBER,
    InvalidReplicaDirectories,
    Numbers,
    Replicas,
    merge,
    moves,
    register,
)
from migration.records import (
    BrokerRegistrationChange,
    Config,
    FenceBroker,
    Partition,
    PartitionChange,
    Record,
    RegisterBroker,
    RemoveTopic,
    Topic,
    UnfenceBroker,
    UnregisterBroker,
)
from migration.transitions import (
    ABSENT,
    ASSIGNED_STATE,
    LOST_STATE,
    MIGRATING_STATE,
    OFFLINE_STATE,
    UNASSIGNED_STATE,
    Crossing,
    Movement,
    PendingSteps,
    Registrations,
    Transitions,
    directory_changes,
    place,
)
from migration.transitions import Numbers as Table

NOT_REGISTERED: Final[frozenset[int]] = frozenset()

_RESERVED_PLACES: Final = (
    place(MIGRATING_NUMBER, MIGRATING_STATE),
    place(UNASSIGNED_NUMBER, UNASSIGNED_STATE),
    place(LOST_NUMBER, LOST_STATE),
)


class Stamped(NamedTuple):
    """A committed record with its place in the log (ms since the epoch)."""

    offset: int
    timestamp_ms: int
    record: Record


class Barrier(NamedTuple):
    """A record about a broker, as far as a shard cares; `log_dirs` None: they did not change."""

    broker_id: int
    log_dirs: tuple[DirectoryId, ...] | None


class TopicName(NamedTuple):
    """A topic's name, for the shard that keeps the settings of that name; None: it was removed."""

    topic_id: bytes
    name: str | None


def barrier(record: Record) -> Barrier | None:
    """What a shard must know of a cluster-wide record; None: nothing."""
    match record:
        case RegisterBroker():
            return Barrier(record.broker_id, record.log_dirs)
        case BrokerRegistrationChange():
            return Barrier(record.broker_id, record.log_dirs or None)
        case UnregisterBroker():
            return Barrier(record.broker_id, ())
        case FenceBroker() | UnfenceBroker():
            return Barrier(record.broker_id, None)
        case _:
            return None


ShardRecord: TypeAlias = (
    Topic | RemoveTopic | Partition | PartitionChange | Barrier | Config | TopicName
)


class Note(NamedTuple):
    """Something worth an event that only the shard knows of."""

    offset: int
    timestamp_ms: int
    kind: str
    fields: dict[str, str | int]


@dataclass(slots=True)
class ShardReport:
    """What one shard tells of one batch.

    Attributes:
        directories: (broker, directory) -> change of the number of replicas in it.
        movements: (offset of the broker's next barrier, broker) -> how its pending moved before.
        crossings: in log order.
        comparisons: with what was read beside the log.
    """

    topics: int = 0
    partitions: int = 0
    directories: dict[tuple[int, DirectoryId], int] = field(default_factory=dict)
    movements: dict[tuple[int, int], Movement] = field(default_factory=dict)
    crossings: list[Crossing] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    comparisons: list[ShardComparison] = field(default_factory=list)


@dataclass(slots=True)
class ShardTopic:
    """A topic's name and its partitions by id."""

    name: str
    partitions: dict[int, Replicas] = field(default_factory=dict)


@dataclass(slots=True)
class Shard:
    """The state of one shard between batches.

    Attributes:
        numbers: of the directories.
        topics: by topic id.
        registered: directories of each broker's latest registration, by number.
        pending: replicas without a real directory, by broker; brokers with none are absent.
        compared: what the last comparisons found.
        configs: settings of the names that hash to this shard, by type and name of the resource.
        names: of the topics whose settings may be among them, by topic id.
    """

    numbers: Numbers = field(default_factory=Numbers)
    topics: dict[bytes, ShardTopic] = field(default_factory=dict)
    registered: dict[int, frozenset[int]] = field(default_factory=dict)
    pending: dict[int, int] = field(default_factory=dict)
    compared: Comparisons = field(default_factory=Comparisons)
    configs: dict[tuple[int, str], dict[str, bytes]] = field(default_factory=dict)
    names: dict[bytes, str] = field(default_factory=dict)


class ShardBatch:
    """Applies one batch of committed records to a shard.

    The records must be those of the shard's topics, and every registration of a broker, in log
    order. After the last one `finish` tells what changed.
    """

    def __init__(self, shard: Shard) -> None:
        self.shard = shard
        self.transitions = Transitions()
        self.table: Table | None = None
        self._registrations = Registrations(shard.registered)
        self._report = ShardReport()
        self._barriers: dict[int, list[int]] = {}
        self._ends: list[int] = []
        self._topic_numbers: dict[bytes, int] = {}

    def apply(self, records: Iterable[tuple[int, int, ShardRecord]], until: int) -> None:
        """Take (offset, timestamp in ms, record) in order.

        A record that contradicts the state is noted and changes nothing. `until`: the offset
        behind the part of the log that the records come from, a barrier too.
        """
        for offset, timestamp_ms, record in records:
            kind = type(record)
            if kind is PartitionChange:
                self._change(offset, timestamp_ms, record)  # type: ignore[arg-type]
            elif kind is Partition:
                self._partition(offset, timestamp_ms, record)  # type: ignore[arg-type]
            else:
                self._seldom(offset, timestamp_ms, record)
        self._ends.append(until)

    def replace(self, offset: int, timestamp_ms: int, records: Iterable[ShardRecord]) -> None:
        """Load a snapshot: what it holds becomes the state; only the differences are told."""
        loaded = Shard(numbers=self.shard.numbers)
        scratch = ShardBatch(loaded)
        scratch.apply(((offset, timestamp_ms, each) for each in records), offset + 1)
        before, self.shard.topics = self.shard.topics, loaded.topics
        self.shard.registered = loaded.registered
        self.shard.configs, self.shard.names = loaded.configs, loaded.names
        self._registrations = Registrations(loaded.registered)
        self._report.notes.extend(scratch._report.notes)
        self._report.topics += len(loaded.topics) - len(before)
        for topic_id in before.keys() | loaded.topics.keys():
            old, new = before.get(topic_id), loaded.topics.get(topic_id)
            was = old.partitions if old is not None else {}
            now = new.partitions if new is not None else {}
            name = (new or old or ShardTopic("")).name
            topic = self._topic_number(topic_id, name)
            self._report.partitions += len(now) - len(was)
            for partition_id in was.keys() | now.keys():
                at = (offset, timestamp_ms, topic, partition_id)
                self._moved(at, was.get(partition_id), now.get(partition_id))
        self._ends.append(offset + 1)

    def compare(self, seen: ShardFact) -> None:
        """Compare the shard, as it is after the records so far, with what was read beside them."""
        shard = self.shard
        if isinstance(seen, ZkContentSeen):
            found = against_zookeeper(shard.topics, shard.configs, shard.compared, seen)
        else:
            found = against_disks(shard.topics, shard.numbers, shard.compared, seen)
        self._report.comparisons.append(found)

    def finish(self) -> ShardReport:
        """Tell what the batch changed; once, at its end. `table` then has the transitions."""
        report = self._report
        if self.transitions.brokers or self.transitions.restated:
            table = self.transitions.columns(self._registrations)
            report.directories = directory_changes(table, self.shard.numbers.ids())
            steps = PendingSteps(table)
            report.movements = steps.movements(self._barriers, self._ends)
            report.crossings = steps.crossings(self.shard.pending)
            self.table = table
        return report

    def _seldom(self, offset: int, timestamp_ms: int, record: ShardRecord) -> None:
        match record:
            case Topic():
                self._topic(offset, timestamp_ms, record)
            case RemoveTopic():
                self._remove(offset, timestamp_ms, record)
            case Barrier():
                self._barriers.setdefault(record.broker_id, []).append(offset)
                if record.log_dirs is not None:
                    self._registered(offset, timestamp_ms, record.broker_id, record.log_dirs)
            case Config():
                self._config(record)
            case TopicName():
                self._named(record)

    def _config(self, record: Config) -> None:
        configs = self.shard.configs
        of = (record.resource_type, record.resource_name)
        if record.digest is not None:
            configs.setdefault(of, {})[record.name] = record.digest
        elif of in configs:
            configs[of].pop(record.name, None)
            if not configs[of]:
                del configs[of]

    def _named(self, record: TopicName) -> None:
        """Keep a topic's name; a topic that goes takes its settings along (ConfigurationsDelta)."""
        if record.name is not None:
            self.shard.names[record.topic_id] = record.name
        else:
            name = self.shard.names.pop(record.topic_id, None)
            if name is not None:
                self.shard.configs.pop((TOPIC_RESOURCE, name), None)

    def _topic(self, offset: int, timestamp_ms: int, record: Topic) -> None:
        if record.topic_id in self.shard.topics:
            self._contradicts(offset, timestamp_ms, record.topic_id, "the topic exists already")
            return
        self.shard.topics[record.topic_id] = ShardTopic(record.name)
        self._report.topics += 1
        fields: dict[str, str | int] = {"topic": record.name, "topic_id": to_text(record.topic_id)}
        self._report.notes.append(Note(offset, timestamp_ms, "topic_created", fields))

    def _remove(self, offset: int, timestamp_ms: int, record: RemoveTopic) -> None:
        topic = self.shard.topics.pop(record.topic_id, None)
        if topic is None:
            self._contradicts(offset, timestamp_ms, record.topic_id, "no such topic to remove")
            return
        number = self._topic_number(record.topic_id, topic.name)
        for partition_id, replicas in topic.partitions.items():
            self._moved((offset, timestamp_ms, number, partition_id), replicas, None)
        self._report.topics -= 1
        self._report.partitions -= len(topic.partitions)
        fields: dict[str, str | int] = {
            "topic": topic.name,
            "topic_id": to_text(record.topic_id),
            "partitions": len(topic.partitions),
        }
        self._report.notes.append(Note(offset, timestamp_ms, "topic_deleted", fields))

    def _partition(self, offset: int, timestamp_ms: int, record: Partition) -> None:
        topic_id, partition_id = record.topic_id, record.partition_id
        topic = self.shard.topics.get(topic_id)
        if topic is None:
            self._contradicts(offset, timestamp_ms, topic_id, "a partition without a topic")
            return
        try:
            after = register(record, self.shard.numbers)
        except InvalidReplicaDirectories as error:
            self._contradicts(offset, timestamp_ms, topic_id, str(error))
            return
        before = topic.partitions.get(partition_id)
        if before is None:
            self._report.partitions += 1
        topic.partitions[partition_id] = after
        number = self._topic_number(topic_id, topic.name)
        self._moved((offset, timestamp_ms, number, partition_id), before, after)

    def _change(self, offset: int, timestamp_ms: int, record: PartitionChange) -> None:
        topic_id, partition_id = record.topic_id, record.partition_id
        topic = self.shard.topics.get(topic_id)
        before = topic.partitions.get(partition_id) if topic is not None else None
        if topic is None or before is None:
            why = "a change of a partition that does not exist"
            self._contradicts(offset, timestamp_ms, topic_id, why)
            return
        try:
            after = merge(before, record, self.shard.numbers)
        except InvalidReplicaDirectories as error:
            self._contradicts(offset, timestamp_ms, topic_id, str(error))
            return
        topic.partitions[partition_id] = after
        if after[:2] != before[:2]:
            number = self._topic_number(topic_id, topic.name)
            self._moved((offset, timestamp_ms, number, partition_id), before, after)

    def _registered(
        self, offset: int, timestamp_ms: int, broker: int, log_dirs: tuple[DirectoryId, ...]
    ) -> None:
        """A broker named its directories: replicas in others go offline, or come back."""
        registered = self.shard.registered
        before = registered.get(broker, NOT_REGISTERED)
        directories = frozenset(map(self.shard.numbers.__getitem__, log_dirs))
        if directories == before:
            return
        if directories:
            registered[broker] = directories
        else:
            registered.pop(broker, None)
        self._registrations.change(broker, len(self.transitions.brokers), directories)
        for topic_id, topic in self.shard.topics.items():
            number = self._topic_number(topic_id, topic.name)
            for partition_id, replicas in topic.partitions.items():
                if broker not in replicas.brokers:
                    continue
                directory = replicas.directories[replicas.brokers.index(broker)]
                was, now = _place(directory, before), _place(directory, directories)
                if was != now:
                    self.transitions.restated += (
                        offset,
                        timestamp_ms,
                        number,
                        partition_id,
                        broker,
                        was,
                        now,
                    )

    def _moved(
        self, at: tuple[int, int, int, int], before: Replicas | None, after: Replicas | None
    ) -> None:
        told = self.transitions
        if before is None and after is not None:
            count = len(after.brokers)
            told.heads += (*at, count)
            told.brokers += after.brokers
            told.was += (ABSENT,) * count
            told.now += after.directories
        elif before is not None and after is not None and before.brokers == after.brokers:
            told.heads += (*at, len(after.brokers))
            told.brokers += after.brokers
            told.was += before.directories
            told.now += after.directories
        else:
            for broker, was, now in moves(before, after):
                told.heads += (*at, 1)
                told.brokers.append(broker)
                told.was.append(ABSENT if was is None else was)
                told.now.append(ABSENT if now is None else now)

    def _topic_number(self, topic_id: bytes, name: str) -> int:
        number = self._topic_numbers.get(topic_id)
        if number is None:
            number = self._topic_numbers[topic_id] = len(self._topic_numbers)
            self.transitions.topics.append((topic_id, name))
        return number

    def _contradicts(self, offset: int, timestamp_ms: int, topic_id: bytes, why: str) -> None:
        fields: dict[str, str | int] = {"topic_id": to_text(topic_id), "reason": why}
        self._report.notes.append(Note(offset, timestamp_ms, "record_contradicts", fields))


def _place(directory: int, online: frozenset[int]) -> int:
    """As `migration.partitions.classify`, in numbers."""
    if directory <= LOST_NUMBER:
        return _RESERVED_PLACES[directory]
    if online and directory not in online:
        return place(directory, OFFLINE_STATE)
    return place(directory, ASSIGNED_STATE)
