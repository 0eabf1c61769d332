"""One shard of a cluster's replicas: every partition of the topics that hash to it.

A shard does the work for each replica. It applies committed records in order and reports to the
cluster-wide image, in a `ShardReport`, only the changes of the counts per broker and directory, and
the records at which a broker's pending replicas in this shard reach zero. So the cluster-wide work
grows with brokers and directories, not with replicas.

Records about a broker are `barriers`: the image needs the number of pending replicas at each of
them, so the report groups movements by the next barrier of the broker.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from migration.comparison.differences import Comparisons
from migration.comparison.log_dirs import against_disks
from migration.comparison.zookeeper import TOPIC_RESOURCE, against_zookeeper
from migration.metadata.directory_ids import DirectoryId, to_text
from migration.metadata.event_kinds import EventKind
from migration.metadata.partitions import (
    InvalidReplicaDirectories,
    Numbers,
    Replicas,
    is_unclean,
    merge,
    register,
)
from migration.metadata.records import Config, Partition, RemoveTopic, Topic
from migration.observed.facts import ShardFact, ZkContentSeen
from migration.shard.fold import Placed, elected, fold, moves, replica_changes
from migration.shard.lists import Integers, Lists, ranked
from migration.shard.partition_records import (
    NO_NUMBER,
    IdIndex,
    Ids,
    PartitionRecords,
    distinct,
    id_at,
)
from migration.shard.partition_table import (
    PartitionTable,
    keys_of,
    partition_of,
    replication_change,
    topic_of,
)
from migration.shard.records import Barrier, OtherRecord, TopicName
from migration.shard.report import Note, ShardReport
from migration.shard.transitions import (
    ABSENT,
    COLUMNS,
    PendingSteps,
    Transitions,
    directory_changes,
    last_assignments,
)
from migration.shard.transitions import Numbers as Table

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
_EVER: Final = np.iinfo(np.int64).min


class ShardTopic(NamedTuple):
    """A topic's name, and its number in the shard, which no other topic ever gets."""

    name: str
    number: int


@dataclass(slots=True)
class Shard:
    """The state of one shard between batches.

    Attributes:
        numbers: of the directories.
        topics: by topic id.
        next_topic: the number of the next topic.
        partitions: of all topics.
        registered: directories of each broker's latest registration, by number.
        pending: number of pending replicas by broker; without zeros.
        compared: results of the last comparisons.
        configs: settings of the names that hash to this shard, by type and name of the resource.
        names: names of the topics whose settings may be in `configs`, by topic id.
    """

    numbers: Numbers = field(default_factory=Numbers)
    topics: dict[bytes, ShardTopic] = field(default_factory=dict)
    next_topic: int = 0
    partitions: PartitionTable = field(default_factory=PartitionTable.absent)
    registered: dict[int, frozenset[int]] = field(default_factory=dict)
    pending: dict[int, int] = field(default_factory=dict)
    compared: Comparisons = field(default_factory=Comparisons)
    configs: Settings = field(default_factory=dict)
    names: dict[bytes, str] = field(default_factory=dict)

    def add(self, topic_id: bytes, name: str) -> ShardTopic:
        """Add a topic without partitions."""
        topic = self.topics[topic_id] = ShardTopic(name, self.next_topic)
        self.next_topic += 1
        return topic

    def logged(self) -> dict[bytes, "LoggedTopic"]:
        """Return the topics with their partitions as objects."""
        return {
            topic_id: LoggedTopic(topic.name, self.partitions, topic.number)
            for topic_id, topic in self.topics.items()
        }


class LoggedTopic:
    """A topic and its partitions as objects, which are made at the first access."""

    def __init__(self, name: str, table: PartitionTable, number: int) -> None:
        self.name = name
        self._table = table
        self._number = number

    @cached_property
    def partitions(self) -> dict[int, Replicas]:
        objects = self._table.of_topic(self._number).objects()
        return {partition_of(key): replicas for key, replicas in objects.items()}


class _Registration(NamedTuple):
    """A broker's new directories, by number."""

    offset: int
    timestamp_ms: int
    broker: int
    log_dirs: frozenset[int]


class ShardBatch:
    """Applies one batch of committed records to a shard.

    Input is the records of the shard's topics and all registrations of brokers, in log order. After
    the last record, `finish` reports the changes.
    """

    def __init__(self, shard: Shard) -> None:
        self.shard = shard
        self.table: Table | None = None
        self.topics: list[tuple[bytes, str]] = []
        self._transitions = Transitions(shard.registered, shard.numbers)
        self._named = {each.number: (of, each.name) for of, each in shard.topics.items()}
        self._created_at: dict[int, int] = {}
        self._removed: set[int] = set()
        self._registrations: list[_Registration] = []
        self._topic_index: IdIndex | None = None
        self._barriers: dict[int, list[int]] = {}
        self._ends: list[int] = []
        self._report = ShardReport()

    def apply(
        self,
        partitions: PartitionRecords,
        others: Iterable[tuple[int, int, OtherRecord]],
        until: int,
    ) -> None:
        """Apply the records of one part of the log.

        A record that contradicts the state is reported and changes nothing.

        Args:
            partitions: Records of partitions, in order.
            others: Offset, timestamp in ms and record of the others, in order.
            until: The end offset of the part of the log; it is a barrier, too.
        """
        directories = partitions.directories
        numbers = self._numbers_of(partitions.directory_ids)[directories.values]
        numbered = directories._replace(values=numbers)
        done = 0
        for offset, timestamp_ms, record in others:
            if isinstance(record, RemoveTopic):
                end = int(np.searchsorted(partitions.offsets, offset))
                self._partitions(partitions.take(slice(done, end)), numbered.take(slice(done, end)))
                done = end
            self._other(offset, timestamp_ms, record)
        self._partitions(partitions.take(slice(done, None)), numbered.take(slice(done, None)))
        self._forget_removed()
        self._created_at = {}
        self._ends.append(until)

    def replace(
        self,
        offset: int,
        timestamp_ms: int,
        partitions: PartitionRecords,
        others: Iterable[tuple[int, int, OtherRecord]],
    ) -> None:
        """Replace the state by a snapshot's records; only the differences are reported."""
        shard = self.shard
        loaded = Shard(numbers=shard.numbers)
        scratch = ShardBatch(loaded)
        scratch.apply(partitions, others, offset + 1)
        self._report.notes.extend(
            each._replace(offset=offset, timestamp_ms=timestamp_ms)
            for each in scratch.finish().notes
        )
        self._report.topics += len(loaded.topics) - len(shard.topics)
        self._report.partitions += len(loaded.partitions.keys) - len(shard.partitions.keys)
        numbers = np.zeros(loaded.next_topic, dtype=np.int64)
        topics = {}
        for topic_id, topic in loaded.topics.items():
            known = shard.topics.get(topic_id) or shard.add(topic_id, topic.name)
            numbers[topic.number] = known.number
            topics[topic_id] = ShardTopic(topic.name, known.number)
            self._named[known.number] = (topic_id, topic.name)
        before, after = shard.partitions, loaded.partitions
        after = after._replace(keys=keys_of(numbers[after.topics()], after.partitions()))
        after = after.take(np.argsort(after.keys, kind="stable"))
        shard.topics, shard.partitions = topics, after
        self._topic_index = None
        if loaded.topics:
            # A registration may change the state of a replica that stays in its directory.
            changed = [
                _Registration(
                    offset, timestamp_ms, each, loaded.registered.get(each, NOT_REGISTERED)
                )
                for each in sorted(shard.registered.keys() | loaded.registered.keys())
            ]
            self._register(changed, before, np.empty((0, COLUMNS), dtype=np.int64))
        self._elected_before(offset, timestamp_ms, partitions, before, after)
        keys = np.union1d(before.keys, after.keys)
        self._tell(offset, timestamp_ms, before.looked_up(keys), after.looked_up(keys))
        if not loaded.topics:
            # The state of a removed replica follows from its broker's old directories.
            self._transitions.reload(loaded.registered)
        shard.registered, shard.configs, shard.names = (
            loaded.registered,
            loaded.configs,
            loaded.names,
        )
        self._ends.append(offset + 1)

    def restart(self, timestamp_ms: int) -> None:
        """Clear the state: another metadata log begins, before its offset 0."""
        self.replace(-1, timestamp_ms, PartitionRecords.of(()), ())
        self.shard.compared = Comparisons()

    def compare(self, seen: ShardFact) -> None:
        """Compare the shard, after the records so far, with what another source reports."""
        shard = self.shard
        if isinstance(seen, ZkContentSeen):
            found = against_zookeeper(shard.logged(), shard.configs, shard.compared, seen)
        else:
            found = against_disks(shard.logged(), shard.numbers, shard.compared, seen)
        self._report.comparisons.append(found)

    def finish(self) -> ShardReport:
        """Return what the batch changed; call it once, at the end.

        Then `table` is complete, and the number of a topic in it is a position in `topics`.
        """
        report, table = self._report, self._transitions.table()
        report.notes.sort(key=lambda note: note.offset)
        if table is not None:
            report.directories = directory_changes(table, self.shard.numbers.ids())
            report.assigned_ms = last_assignments(table)
            steps = PendingSteps(table)
            report.movements = steps.movements(self._barriers, self._ends)
            report.crossings = steps.crossings(self.shard.pending)
            numbers, table[:, 2] = ranked(table[:, 2])
            self.topics = [self._named[each] for each in numbers.tolist()]
        self.table = table
        return report

    def _partitions(self, records: PartitionRecords, directories: Lists) -> None:
        """Apply records between which no topic is removed, and the registrations among them.

        `directories`: of the records, with the directories' numbers.
        """
        registrations, self._registrations = self._registrations, []
        topics = self._topics_of(records)
        known = topics != NO_NUMBER
        if not known.all():
            for row in np.flatnonzero(~known).tolist():
                self._contradicts(records, row, None)
            rows = np.flatnonzero(known)
            topics, records, directories = topics[rows], records.take(rows), directories.take(rows)
        self._forget_removed()
        table = self.shard.partitions
        changes = np.empty((0, 4), dtype=np.int64)
        if len(topics):
            changes = self._changes(topics, records, directories)
        at = changes[:, 0]
        rows = np.empty((len(changes), COLUMNS), dtype=np.int64)
        rows[:, 0] = records.offsets[at]
        rows[:, 1] = records.timestamps[at]
        rows[:, 2] = topics[at]
        rows[:, 3] = records.partitions[at]
        rows[:, 4:] = changes[:, 1:]
        if registrations:
            rows = self._register(registrations, table, rows)
        self._transitions.extend(rows)

    def _changes(self, topics: Integers, records: PartitionRecords, directories: Lists) -> Integers:
        """Apply records of existing topics; return the replicas that may have moved, as `fold`."""
        shard = self.shard
        keys = keys_of(topics, records.partitions)
        found = fold(shard.partitions, keys, records._replace(directories=directories))
        before, after, changes = found.before, found.after, found.changes
        for at, row in enumerate(found.unclean.tolist()):
            self._note_election(records, row, int(topics[row]), found.in_sync.at(at))
        if len(found.odd):
            odd_before, odd_after, odd_changes = self._one_by_one(keys, records, found.odd)
            before = PartitionTable.joined([before, odd_before])
            after = PartitionTable.joined([after, odd_after])
            after = after.take(np.argsort(after.keys, kind="stable"))
            changes = np.concatenate([changes, odd_changes])
            changes = changes[np.argsort(changes[:, 0], kind="stable")]
        shard.partitions = shard.partitions.replaced(after)
        change = replication_change(before, after)
        self._report.replication = self._report.replication.plus([change])
        self._report.partitions += _count(after) - _count(before)
        return changes

    def _elected_before(
        self,
        offset: int,
        timestamp_ms: int,
        partitions: PartitionRecords,
        before: PartitionTable,
        after: PartitionTable,
    ) -> None:
        """Report the unclean elections that a snapshot shows, and the state before it does not.

        A snapshot has only the present leader, until whose next change of the ISR it is recovering.
        """
        records = partitions.take(np.flatnonzero(partitions.recovering & partitions.created))
        records = records._replace(
            offsets=np.full_like(records.offsets, offset),
            timestamps=np.full_like(records.timestamps, timestamp_ms),
        )
        topics = self._topics_of(records)
        keys = keys_of(topics, records.partitions)
        was, now = before.looked_up(keys), after.looked_up(keys)
        known = (was.leaders == now.leaders) & was.isr.equals(now.isr)
        for row in np.flatnonzero((now.brokers.lengths >= 0) & ~known).tolist():
            self._note_election(records, row, int(topics[row]), was.isr.at(row))

    def _topics_of(self, records: PartitionRecords) -> Integers:
        """Return the number of each record's topic; NO_NUMBER: there is none at its offset."""
        if self._topic_index is None:
            topics = self.shard.topics
            self._topic_index = IdIndex(list(topics), [each.number for each in topics.values()])
        found = self._topic_index.find(records.topic_ids)
        if self._created_at:
            created_at = np.full(self.shard.next_topic + 1, _EVER, dtype=np.int64)
            created_at[list(self._created_at)] = list(self._created_at.values())
            found[created_at[found] > records.offsets] = NO_NUMBER
        return found

    def _numbers_of(self, directories: Ids) -> Integers:
        """Return the number of each directory; an unknown one gets the next number."""
        numbers = self.shard.numbers
        found = IdIndex(list(numbers), list(numbers.values())).find(directories)
        if (found == NO_NUMBER).any():
            for each in distinct(directories[found == NO_NUMBER]):
                numbers[DirectoryId(each)]
            found = IdIndex(list(numbers), list(numbers.values())).find(directories)
        return found

    def _one_by_one(
        self, keys: Integers, records: PartitionRecords, rows: Integers
    ) -> tuple[PartitionTable, PartitionTable, Integers]:
        """Apply these rows; return their partitions before and after, and the changes."""
        shard = self.shard
        before = shard.partitions.looked_up(np.unique(keys[rows]))
        partitions: dict[int, Replicas] = before.objects()
        changes: list[tuple[int, int, int, int]] = []
        for row in rows.tolist():
            key, record = int(keys[row]), records.record(row)
            was = partitions.get(key)
            try:
                if isinstance(record, Partition):
                    now = register(record, shard.numbers)
                elif was is not None:
                    now = merge(was, record, shard.numbers)
                    if is_unclean(was, record):
                        self._note_election(records, row, topic_of(key), was.isr)
                else:
                    self._contradicts(records, row, None)
                    continue
            except InvalidReplicaDirectories as error:
                self._contradicts(records, row, str(error))
                continue
            partitions[key] = now
            changes += [(row, *move) for move in moves(was, now)]
        after = PartitionTable.of(partitions).looked_up(before.keys)
        return before, after, np.array(changes, dtype=np.int64).reshape(-1, 4)

    def _tell(
        self, offset: int, timestamp_ms: int, before: PartitionTable, after: PartitionTable
    ) -> None:
        """Report that these partitions changed at one offset."""
        change = replication_change(before, after)
        self._report.replication = self._report.replication.plus([change])
        changes = replica_changes(
            Placed(before.brokers, before.directories), Placed(after.brokers, after.directories)
        )
        rows = np.empty((len(changes), COLUMNS), dtype=np.int64)
        rows[:, 0] = offset
        rows[:, 1] = timestamp_ms
        rows[:, 2] = before.topics()[changes[:, 0]]
        rows[:, 3] = before.partitions()[changes[:, 0]]
        rows[:, 4:] = changes[:, 1:]
        self._transitions.extend(rows)

    def _other(self, offset: int, timestamp_ms: int, record: OtherRecord) -> None:
        match record:
            case Topic():
                self._topic(offset, timestamp_ms, record)
            case RemoveTopic():
                self._remove(offset, timestamp_ms, record)
            case Barrier():
                self._barriers.setdefault(record.broker_id, []).append(offset)
                if record.log_dirs is not None:
                    log_dirs = frozenset(map(self.shard.numbers.__getitem__, record.log_dirs))
                    found = _Registration(offset, timestamp_ms, record.broker_id, log_dirs)
                    self._registrations.append(found)
            case Config():
                take_config(self.shard.configs, record)
            case TopicName():
                take_name(self.shard.names, self.shard.configs, record)

    def _topic(self, offset: int, timestamp_ms: int, record: Topic) -> None:
        if record.topic_id in self.shard.topics:
            self._note_contradiction(
                offset, timestamp_ms, record.topic_id, "the topic exists already"
            )
            return
        topic = self.shard.add(record.topic_id, record.name)
        self._named[topic.number] = (record.topic_id, record.name)
        self._created_at[topic.number] = offset
        self._topic_index = None
        self._report.topics += 1
        fields: dict[str, str | int] = {"topic": record.name, "topic_id": to_text(record.topic_id)}
        self._report.notes.append(Note(offset, timestamp_ms, EventKind.TOPIC_CREATED, fields))

    def _remove(self, offset: int, timestamp_ms: int, record: RemoveTopic) -> None:
        topic = self.shard.topics.pop(record.topic_id, None)
        if topic is None:
            self._note_contradiction(
                offset, timestamp_ms, record.topic_id, "no such topic to remove"
            )
            return
        self._topic_index = None
        self._removed.add(topic.number)
        before = self.shard.partitions.of_topic(topic.number)
        self._tell(
            offset,
            timestamp_ms,
            before,
            PartitionTable.absent(len(before.keys))._replace(keys=before.keys),
        )
        self._report.topics -= 1
        self._report.partitions -= len(before.keys)
        fields: dict[str, str | int] = {
            "topic": topic.name,
            "topic_id": to_text(record.topic_id),
            "partitions": len(before.keys),
        }
        self._report.notes.append(Note(offset, timestamp_ms, EventKind.TOPIC_DELETED, fields))

    def _forget_removed(self) -> None:
        """Drop the rows of removed topics: once, since each time copies the table."""
        if self._removed:
            table = self.shard.partitions
            self.shard.partitions = table.take(~np.isin(table.topics(), list(self._removed)))
            self._removed = set()

    def _register(
        self, registrations: "list[_Registration]", table: PartitionTable, rows: Integers
    ) -> Integers:
        """Apply registrations: replicas in other directories go offline, or online again.

        Nearly every registration leaves each replica's state as it is; then the rows around it need
        not be separated.

        Args:
            registrations: In order.
            table: The partitions before the rows.
            rows: Of `Transitions.extend`. Those that precede a change of states are reported.

        Returns:
            The rows that are left to be reported.
        """
        used = _used(table, rows)
        registered, done = self.shard.registered, 0
        for offset, timestamp_ms, broker, after in registrations:
            before = registered.get(broker, NOT_REGISTERED)
            changed = self._transitions.changed(used[broker], before, after)
            if changed:
                end = int(np.searchsorted(rows[:, 0], offset))
                self._transitions.extend(rows[done:end].copy())
                done = end
                hosted = _hosted(table, rows[:end], broker)
                restated = [
                    (offset, timestamp_ms, topic_of(key), partition_of(key), broker, each, each)
                    for key, each in hosted.items()
                    if each in changed
                ]
                block = np.array(restated, dtype=np.int64).reshape(-1, COLUMNS)
                self._transitions.restated(block, before, after)
            if after:
                registered[broker] = after
            else:
                registered.pop(broker, None)
            self._transitions.registered(broker, after)
        return rows[done:]

    def _contradicts(self, records: PartitionRecords, row: int, why: str | None) -> None:
        if why is None:
            why = "a change of a partition that does not exist"
            if records.created[row]:
                why = "a partition without a topic"
        offset, timestamp_ms = int(records.offsets[row]), int(records.timestamps[row])
        self._note_contradiction(offset, timestamp_ms, id_at(records.topic_ids, row), why)

    def _note_election(
        self, records: PartitionRecords, row: int, topic: int, in_sync: tuple[int, ...] | None
    ) -> None:
        """Report that a record elects a leader that is not in the ISR; None: the ISR is unknown."""
        fields: dict[str, str | int] = {
            "topic": self._named[topic][1],
            "partition": int(records.partitions[row]),
            "leader": int(elected(records, np.array([row]))[0]),
            "isr": "unknown" if in_sync is None else ", ".join(map(str, in_sync)),
        }
        at = int(records.offsets[row]), int(records.timestamps[row])
        self._report.notes.append(Note(*at, EventKind.UNCLEAN_ELECTION, fields))

    def _note_contradiction(
        self, offset: int, timestamp_ms: int, topic_id: bytes, why: str
    ) -> None:
        fields: dict[str, str | int] = {"topic_id": to_text(topic_id), "reason": why}
        self._report.notes.append(Note(offset, timestamp_ms, EventKind.RECORD_CONTRADICTS, fields))


def _used(table: PartitionTable, rows: Integers) -> defaultdict[int, set[int]]:
    """Return the directories of each broker with replicas in them before or after these rows."""
    brokers, broker_of = ranked(np.append(table.brokers.flat(), rows[:, 4]))
    directories, directory_of = ranked(np.append(table.directories.flat(), rows[:, 6]))
    pairs, _ = ranked(broker_of * len(directories) + directory_of)
    used: defaultdict[int, set[int]] = defaultdict(set)
    for pair in pairs.tolist():
        broker, directory = divmod(pair, len(directories))
        used[int(brokers[broker])].add(int(directories[directory]))
    return used


def _hosted(table: PartitionTable, rows: Integers, broker: int) -> dict[int, int]:
    """Return the directories of a broker's replicas, by the partition's key, after these rows."""
    values = np.flatnonzero(table.brokers.flat() == broker)
    keys = table.keys[table.brokers.owners()[values]]
    found = dict(zip(keys.tolist(), table.directories.flat()[values].tolist(), strict=True))
    moved = rows[rows[:, 4] == broker]
    keys = keys_of(moved[:, 2], moved[:, 3])
    found.update(zip(keys.tolist(), moved[:, 6].tolist(), strict=True))
    return {key: directory for key, directory in found.items() if directory != ABSENT}


def _count(table: PartitionTable) -> int:
    return int((table.brokers.lengths >= 0).sum())
