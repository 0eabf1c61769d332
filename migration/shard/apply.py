"""One shard of a cluster's replicas: every partition of the topics that hash to it.

A shard does the work for each replica. It applies committed records in order and reports to the
cluster-wide image, in a `ShardReport`, only the changes of the counts per broker and directory, and
the records at which a broker's pending replicas in this shard reach zero. So the cluster-wide work
grows with brokers and directories, not with replicas.

Records about a broker are `barriers`: the image needs the number of pending replicas at each of
them, so the report groups movements by the next barrier of the broker.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from migration.comparison.differences import Comparisons
from migration.comparison.log_dirs import against_disks
from migration.comparison.zookeeper import TOPIC_RESOURCE, against_zookeeper
from migration.metadata.directory_ids import DirectoryId, to_text
from migration.metadata.event_kinds import EventKind
from migration.metadata.partitions import (
    InvalidReplicaDirectories,
    Numbers,
    Replicas,
    merge,
    register,
)
from migration.metadata.records import Config, Partition, PartitionChange, RemoveTopic, Topic
from migration.observed.facts import ShardFact, ZkContentSeen
from migration.shard.records import Barrier, ShardRecord, TopicName
from migration.shard.report import Note, ShardReport
from migration.shard.transitions import Numbers as Table
from migration.shard.transitions import (
    PendingSteps,
    Transitions,
    directory_changes,
    last_assignments,
)

Settings: TypeAlias = dict[tuple[int, str], dict[str, bytes]]
"""By type and name of the resource: key -> digest of the value."""


def take_config(settings: Settings, record: Config) -> None:
    """Set or delete a key; a resource without keys is removed."""
    of = (record.resource_type, record.resource_name)
    if record.digest is not None:
        settings.setdefault(of, {})[record.name] = record.digest
    elif of in settings:
        settings[of].pop(record.name, None)
        if not settings[of]:
            del settings[of]


def take_name(names: dict[bytes, str], settings: Settings, record: TopicName) -> None:
    """Store a topic's name; a deleted topic loses its settings (ConfigurationsDelta)."""
    if record.name is not None:
        names[record.topic_id] = record.name
        return
    name = names.pop(record.topic_id, None)
    if name is not None:
        settings.pop((TOPIC_RESOURCE, name), None)


NOT_REGISTERED: Final[frozenset[int]] = frozenset()


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
        pending: number of pending replicas by broker; without zeros.
        compared: results of the last comparisons.
        configs: settings of the names that hash to this shard, by type and name of the resource.
        names: names of the topics whose settings may be in `configs`, by topic id.
    """

    numbers: Numbers = field(default_factory=Numbers)
    topics: dict[bytes, ShardTopic] = field(default_factory=dict)
    registered: dict[int, frozenset[int]] = field(default_factory=dict)
    pending: dict[int, int] = field(default_factory=dict)
    compared: Comparisons = field(default_factory=Comparisons)
    configs: Settings = field(default_factory=dict)
    names: dict[bytes, str] = field(default_factory=dict)


class ShardBatch:
    """Applies one batch of committed records to a shard.

    Input is the records of the shard's topics and all registrations of brokers, in log order. After
    the last record, `finish` reports the changes.
    """

    def __init__(self, shard: Shard) -> None:
        self.shard = shard
        self.table: Table | None = None
        self.transitions = Transitions(shard.registered, shard.numbers)
        self._barriers: dict[int, list[int]] = {}
        self._ends: list[int] = []
        self._report = ShardReport()

    def apply(self, records: Iterable[tuple[int, int, ShardRecord]], until: int) -> None:
        """Apply (offset, timestamp in ms, record) in order.

        A record that contradicts the state is reported and changes nothing. `until`: the end offset
        of the part of the log that the records are from; it is a barrier, too.
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
        """Replace the state by a snapshot; only the differences are reported."""
        loaded = Shard(numbers=self.shard.numbers)
        scratch = ShardBatch(loaded)
        scratch.apply(((offset, timestamp_ms, each) for each in records), offset + 1)
        before, self.shard.topics = self.shard.topics, loaded.topics
        self.shard.registered = loaded.registered
        self.shard.configs, self.shard.names = loaded.configs, loaded.names
        if loaded.topics:
            self.transitions.reload(loaded.registered)
        self._report.notes.extend(scratch._report.notes)
        self._report.topics += len(loaded.topics) - len(before)
        for topic_id in before.keys() | loaded.topics.keys():
            old, new = before.get(topic_id), loaded.topics.get(topic_id)
            was = old.partitions if old is not None else {}
            now = new.partitions if new is not None else {}
            name = (new or old or ShardTopic("")).name
            topic = self.transitions.topic(topic_id, name)
            self._report.partitions += len(now) - len(was)
            for partition_id in was.keys() | now.keys():
                at = (offset, timestamp_ms, topic, partition_id)
                self.transitions.moved(at, was.get(partition_id), now.get(partition_id))
                self._report.replication.take(was.get(partition_id), now.get(partition_id))
        if not loaded.topics:
            # The state of a removed replica follows from its broker's old directories.
            self.transitions.all_gone(loaded.registered)
        self._ends.append(offset + 1)

    def restart(self, timestamp_ms: int) -> None:
        """Clear the state: another metadata log begins, before its offset 0."""
        self.replace(-1, timestamp_ms, ())
        self.shard.compared = Comparisons()

    def compare(self, seen: ShardFact) -> None:
        """Compare the shard, after the records so far, with what another source reports."""
        shard = self.shard
        if isinstance(seen, ZkContentSeen):
            found = against_zookeeper(shard.topics, shard.configs, shard.compared, seen)
        else:
            found = against_disks(shard.topics, shard.numbers, shard.compared, seen)
        self._report.comparisons.append(found)

    def finish(self) -> ShardReport:
        """Return what the batch changed; call it once, at the end. Then `table` is complete."""
        report, table = self._report, self.transitions.table()
        if table is not None:
            report.directories = directory_changes(table, self.shard.numbers.ids())
            report.assigned_ms = last_assignments(table)
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
                take_config(self.shard.configs, record)
            case TopicName():
                take_name(self.shard.names, self.shard.configs, record)

    def _topic(self, offset: int, timestamp_ms: int, record: Topic) -> None:
        if record.topic_id in self.shard.topics:
            self._contradicts(offset, timestamp_ms, record.topic_id, "the topic exists already")
            return
        self.shard.topics[record.topic_id] = ShardTopic(record.name)
        self._report.topics += 1
        fields: dict[str, str | int] = {"topic": record.name, "topic_id": to_text(record.topic_id)}
        self._report.notes.append(Note(offset, timestamp_ms, EventKind.TOPIC_CREATED, fields))

    def _remove(self, offset: int, timestamp_ms: int, record: RemoveTopic) -> None:
        topic = self.shard.topics.pop(record.topic_id, None)
        if topic is None:
            self._contradicts(offset, timestamp_ms, record.topic_id, "no such topic to remove")
            return
        number = self.transitions.topic(record.topic_id, topic.name)
        for partition_id, replicas in topic.partitions.items():
            self.transitions.moved((offset, timestamp_ms, number, partition_id), replicas, None)
            self._report.replication.take(replicas, None)
        self._report.topics -= 1
        self._report.partitions -= len(topic.partitions)
        fields: dict[str, str | int] = {
            "topic": topic.name,
            "topic_id": to_text(record.topic_id),
            "partitions": len(topic.partitions),
        }
        self._report.notes.append(Note(offset, timestamp_ms, EventKind.TOPIC_DELETED, fields))

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
        number = self.transitions.topic(topic_id, topic.name)
        self.transitions.moved((offset, timestamp_ms, number, partition_id), before, after)
        self._report.replication.take(before, after)

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
            number = self.transitions.topic(topic_id, topic.name)
            self.transitions.moved((offset, timestamp_ms, number, partition_id), before, after)
        if after[2:] != before[2:] or after.brokers != before.brokers:
            self._report.replication.take(before, after)

    def _registered(
        self, offset: int, timestamp_ms: int, broker: int, log_dirs: tuple[DirectoryId, ...]
    ) -> None:
        """Apply a broker's directories: replicas in others go offline, or online again."""
        registered = self.shard.registered
        before = registered.get(broker, NOT_REGISTERED)
        directories = frozenset(map(self.shard.numbers.__getitem__, log_dirs))
        if directories == before:
            return
        if directories:
            registered[broker] = directories
        else:
            registered.pop(broker, None)
        self.transitions.registered(broker, directories)
        for topic_id, topic in self.shard.topics.items():
            number = self.transitions.topic(topic_id, topic.name)
            for partition_id, replicas in topic.partitions.items():
                if broker in replicas.brokers:
                    directory = replicas.directories[replicas.brokers.index(broker)]
                    at = (offset, timestamp_ms, number, partition_id)
                    self.transitions.restated(at, broker, directory, before, directories)

    def _contradicts(self, offset: int, timestamp_ms: int, topic_id: bytes, why: str) -> None:
        fields: dict[str, str | int] = {"topic_id": to_text(topic_id), "reason": why}
        self._report.notes.append(Note(offset, timestamp_ms, EventKind.RECORD_CONTRADICTS, fields))
