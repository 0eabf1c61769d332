"""Random metadata logs: what a controller could have written, and some of what it would not.

A log is drawn as a list of small numbers, so that hypothesis can shrink it; `values` makes
records of them, `write_segment` Kafka's bytes.
"""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from hypothesis import strategies as st
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i8, i32, i64

from streams.wire.schema import (
    AbortTransactionRecordV0,
    BeginTransactionRecordV0,
    BrokerRegistrationChangeRecordV2,
    ConfigRecordV0,
    EndTransactionRecordV0,
    MetadataRecord,
    NoOpRecordV0,
    PartitionChangeRecordV1,
    PartitionRecordV0,
    PartitionRecordV1,
    RegisterBrokerRecordV3,
    RegisterControllerRecordV0,
    RemoveTopicRecordV0,
    TopicRecordV0,
    UnregisterBrokerRecordV0,
    ZkMigrationStateRecordV0,
)
from tests.support.wire_writing import write_batch, write_leader_change, write_value

Action = tuple[int, int, int, int]
"""What to do, and three numbers to do it with."""

BROKERS = 3
DIRECTORIES = 3
TOPICS = 5
PARTITIONS = 3

actions = st.lists(
    st.tuples(st.integers(0, 17), st.integers(0, 7), st.integers(0, 7), st.integers(0, 7)),
    min_size=1,
    max_size=60,
)


def directory(broker: int, index: int) -> UUID:
    """A directory id; the first ones of a broker are real, the last ones reserved."""
    reserved = {
        DIRECTORIES: UUID(int=0),
        DIRECTORIES + 1: UUID(int=1),
        DIRECTORIES + 2: UUID(int=2),
        DIRECTORIES + 3: UUID(int=3),
    }
    return reserved.get(index, UUID(int=(broker << 64) + (index + 1 << 100)))


def _config(a: int, b: int, c: int) -> ConfigRecordV0:
    """A setting of a topic, or of a broker, or the end of one."""
    resource = (2, f"topic-{a % TOPICS}") if c < 7 else (4, str(a % BROKERS))
    return ConfigRecordV0(
        resource_type=i8(resource[0]),
        resource_name=resource[1],
        name=f"setting-{b % 3}",
        value=None if b > 5 else f"value-{c}",
    )


def topic_id(number: int) -> UUID:
    """A topic id that spreads over the shards."""
    return UUID(int=(1 << 96) + number * 7 + 3)


class _Writer:
    """Turns actions into records, knowing just enough to keep transactions legal."""

    def __init__(self) -> None:
        self.epochs = dict.fromkeys(range(1, BROKERS + 1), 0)
        self.in_transaction = False

    def records(self, offset: int, action: Action) -> list[MetadataRecord]:
        what, a, b, c = action
        broker = 1 + a % BROKERS
        topic = topic_id(a % TOPICS)
        partition = i32(b % PARTITIONS)
        match what:
            case 0 | 1:
                return [TopicRecordV0(name=TopicName(f"topic-{a % TOPICS}"), topic_id=topic)]
            case 2 | 3 | 4:
                make = _partition_v0 if what == 2 else _partition_v1
                made = make(topic, partition, c)
                return [replace(made, leader_recovery_state=i8(what == 4 and c > 5))]
            case 5 | 6 | 7:
                return [_assigned(topic, partition, c)]
            case 8:
                return [_reassigned(topic, partition, c)]
            case 9 | 10:
                self.epochs[broker] = offset
                return [_registered(broker, offset, b, c)]
            case 11 | 12:
                return [_changed(broker, self.epochs[broker] + (c == 7), b, c)]
            case 13:
                return self._rare(topic, broker, b, c)
            case 14:
                return self._transaction(c)
            case 15 | 16:
                changed = _in_sync(topic, partition, b, c)
                return [
                    replace(changed, leader_recovery_state=i8(1 if what == 16 and b & 1 else -1))
                ]
            case _:
                return [_config(a, b, c)] if c > 3 else [NoOpRecordV0()]

    def _rare(self, topic: UUID, broker: int, b: int, c: int) -> list[MetadataRecord]:
        if b < 3:
            return [RemoveTopicRecordV0(topic_id=topic)]
        if b < 5:
            return [ZkMigrationStateRecordV0(zk_migration_state=i8(c % 4))]
        if b == 5:
            return [_controller(c)]
        epoch = i64(self.epochs[broker])
        return [UnregisterBrokerRecordV0(broker_id=BrokerId(broker), broker_epoch=epoch)]

    def _transaction(self, c: int) -> list[MetadataRecord]:
        if not self.in_transaction:
            self.in_transaction = True
            return [BeginTransactionRecordV0(name="ZK Migration" if c % 2 else None)]
        self.in_transaction = False
        return [AbortTransactionRecordV0() if c == 0 else EndTransactionRecordV0()]


def _brokers(c: int) -> tuple[BrokerId, ...]:
    first = c % BROKERS
    return tuple(BrokerId(1 + (first + each) % BROKERS) for each in range(1 + c % 2))


def _partition_v0(topic: UUID, partition: i32, c: int) -> PartitionRecordV0:
    replicas = _brokers(c)
    return PartitionRecordV0(
        partition_id=partition,
        topic_id=topic,
        replicas=replicas,
        isr=replicas,
        removing_replicas=(),
        adding_replicas=(),
        leader=replicas[0],
        leader_epoch=i32(0),
        partition_epoch=i32(0),
    )


def _partition_v1(topic: UUID, partition: i32, c: int) -> PartitionRecordV1:
    replicas = _brokers(c)
    return PartitionRecordV1(
        partition_id=partition,
        topic_id=topic,
        replicas=replicas,
        isr=replicas,
        removing_replicas=(),
        adding_replicas=(),
        leader=replicas[0],
        leader_epoch=i32(0),
        partition_epoch=i32(0),
        directories=tuple(directory(each, c % (DIRECTORIES + 4)) for each in replicas),
    )


def _assigned(topic: UUID, partition: i32, c: int) -> PartitionChangeRecordV1:
    """Directories only, sometimes of the wrong number."""
    return PartitionChangeRecordV1(
        partition_id=partition,
        topic_id=topic,
        directories=tuple(directory(each, c % (DIRECTORIES + 2)) for each in _brokers(c)),
    )


def _reassigned(topic: UUID, partition: i32, c: int) -> PartitionChangeRecordV1:
    """Replicas, with directories or without."""
    replicas = _brokers(c + 1)
    directories = tuple(directory(each, c % DIRECTORIES) for each in replicas) if c > 3 else None
    return PartitionChangeRecordV1(
        partition_id=partition, topic_id=topic, replicas=replicas, directories=directories
    )


def _in_sync(topic: UUID, partition: i32, b: int, c: int) -> PartitionChangeRecordV1:
    """ISR, leader and reassignment, each changed or not; c is the brokers in sync, bit by bit."""
    in_sync = tuple(BrokerId(each) for each in range(1, BROKERS + 1) if c & (1 << each - 1))
    changes: dict[str, object] = {}
    if b & 1:
        changes["isr"] = in_sync
        changes["leader"] = in_sync[0] if in_sync else BrokerId(-1)
    if b & 2:
        changes["adding_replicas"] = in_sync[:1]
    if b & 4:
        changes["removing_replicas"] = in_sync[1:2]
    return PartitionChangeRecordV1(partition_id=partition, topic_id=topic, **changes)  # type: ignore[arg-type]


def _controller(c: int) -> RegisterControllerRecordV0:
    return RegisterControllerRecordV0(
        controller_id=i32(3000 + c % 2),
        incarnation_id=UUID(int=c + 1),
        zk_migration_ready=c < 4,
        end_points=(),
        features=(),
    )


def _registered(broker: int, offset: int, b: int, c: int) -> RegisterBrokerRecordV3:
    return RegisterBrokerRecordV3(
        broker_id=BrokerId(broker),
        is_migrating_zk_broker=b % 3 == 0,
        incarnation_id=UUID(int=offset + 1),
        broker_epoch=i64(offset),
        end_points=(),
        features=(),
        rack=None,
        fenced=c != 0,
        in_controlled_shutdown=False,
        log_dirs=tuple(directory(broker, each) for each in range(1 + c % DIRECTORIES)),
    )


def _changed(broker: int, epoch: int, b: int, c: int) -> BrokerRegistrationChangeRecordV2:
    left = tuple(directory(broker, each) for each in range(1, 1 + c % 2)) if b == 7 else ()
    return BrokerRegistrationChangeRecordV2(
        broker_id=BrokerId(broker),
        broker_epoch=i64(epoch),
        fenced=i8((b % 3) - 1),
        in_controlled_shutdown=i8(b == 6),
        log_dirs=left,
    )


def values(drawn: Sequence[Action], first_offset: int = 1) -> list[bytes]:
    """The record values of a log whose first data record stands at `first_offset`."""
    writer = _Writer()
    made: list[bytes] = []
    for action in drawn:
        made += [write_value(each) for each in writer.records(first_offset + len(made), action)]
    return made


def write_segment(
    made: Sequence[bytes], sizes: Sequence[int], epochs_at: Sequence[int] = ()
) -> bytes:
    """A segment from offset 0: a LeaderChange, then batches of the given sizes, in turn.

    At each batch number of `epochs_at` another leader takes over first. Offsets of records then
    move, so epochs of brokers may not be their offsets; nothing depends on it.
    """
    written = [write_leader_change(0, 1, 1_000, 3000)]
    offset, epoch, at, number = 1, 1, 0, 0
    while at < len(made):
        if number in epochs_at:
            epoch += 1
            written.append(write_leader_change(offset, epoch, 1_000 + offset * 10, 3000 + epoch))
            offset += 1
        size = sizes[number % len(sizes)]
        part = made[at : at + size]
        written.append(write_batch(offset, epoch, 1_000 + offset * 10, part))
        offset += len(part)
        at += size
        number += 1
    return b"".join(written)


__all__ = ["Action", "actions", "directory", "topic_id", "values", "write_segment"]
