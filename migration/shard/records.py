"""The input of a shard: the records of its topics and settings, and barriers of brokers."""

from typing import NamedTuple, TypeAlias

from migration.metadata.directory_ids import DirectoryId
from migration.metadata.records import (
    BrokerRegistrationChange,
    Config,
    FenceBroker,
    Record,
    RegisterBroker,
    RemoveTopic,
    Topic,
    UnfenceBroker,
    UnregisterBroker,
)


class Barrier(NamedTuple):
    """What a shard uses of a record about a broker; `log_dirs` None: they did not change."""

    broker_id: int
    log_dirs: tuple[DirectoryId, ...] | None


class TopicName(NamedTuple):
    """A topic's name, for the shard that keeps the settings of that name; None: it was removed."""

    topic_id: bytes
    name: str | None


def barrier(record: Record) -> Barrier | None:
    """Return what a shard uses of a cluster-wide record; None: nothing."""
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


OtherRecord: TypeAlias = Topic | RemoveTopic | Barrier | Config | TopicName
"""All records except those of partitions (`migration.shard.partition_records`)."""
