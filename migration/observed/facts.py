"""Facts from the sources other than the metadata log: znodes, the brokers' disks, JMX numbers.

Facts are observations without interpretation: `migration.observed.zookeeper`,
`migration.observed.log_dirs` and `migration.observed.jmx` interpret them. `seen_ms` is Kraftgate's
clock, in ms since the epoch; every other time is the cluster's, unless stated. They are named
tuples of plain values, so that a journal can store them.
"""

import enum
from typing import NamedTuple, TypeAlias

from migration.observed.topic_facts import ZkConfigSeen, ZkTopicFact


class ZnodeSeen(NamedTuple):
    """A znode's content; there is one fact for each change.

    Attributes:
        path: absolute, below the chroot (`/controller`).
        data: as stored; empty: there is none.
        version: of the data.
        mzxid: the ZooKeeper transaction of the last write.
        mtime_ms: ZooKeeper's time of the last write.
        session: of the owner of an ephemeral znode; 0: the znode is persistent.
    """

    seen_ms: int
    path: str
    data: bytes
    version: int
    mzxid: int
    mtime_ms: int
    session: int


class ZnodeGone(NamedTuple):
    """A znode that existed no longer does."""

    seen_ms: int
    path: str


class NotificationsMissed(NamedTuple):
    """Log directory notifications were created and deleted before their content was read.

    `number` 0: none was missed, and counting continues at `first`.

    Attributes:
        first: sequence number of the first one missed.
        number: number of notifications, from the parent's cversion.
    """

    seen_ms: int
    first: int
    number: int


class ZooKeeperBlind(NamedTuple):
    """The connection to ZooKeeper is lost: later changes may be missed.

    Attributes:
        why: a description of the error.
    """

    seen_ms: int
    why: str


class ZooKeeperSeen(NamedTuple):
    """Everything was read (again), up to `zxid`.

    Attributes:
        server: host:port that answers.
        session: the session's id; it differs from the last one if that session had expired.
        blind_since_ms: when the connection was lost; None for the first reading.
        zxid: the latest transaction that the server had applied.
    """

    seen_ms: int
    server: str
    session: int
    blind_since_ms: int | None
    zxid: int


class FutureSeen(NamedTuple):
    """A future replica, which a move between log directories fills (KIP-113).

    Attributes:
        bytes: its log's size.
        lag: messages that it lacks; -1: unknown, because its current replica is not online.
    """

    topic: str
    partition: int
    bytes: int
    lag: int


class LogDirSeen(NamedTuple):
    """One log directory of one broker (DescribeLogDirsResponse).

    Attributes:
        path: as the broker configures it.
        error: 0, or Kafka's error code; 56 (KAFKA_STORAGE_ERROR) for an offline directory.
        total_bytes: size of the volume; None: the broker does not report it (before v4).
        usable_bytes: free space of the volume; None: as above.
        replicas: number of current replicas.
        bytes: their size.
        futures: number of future replicas, which a move between directories fills.
        future_lag_max: the largest lag of a future replica, in messages.
        directory_id: 22 characters, if Kraftgate itself could read its `meta.properties`.
        readable: whether Kraftgate, on the broker's host, can read it; None on another host.
        moving: the first 200 of the future replicas, by name.
        trouble: the fault of its `meta.properties`, which is missing, malformed or another
            broker's, although the directory is `readable`; a sentence.
        version: of its `meta.properties`; None: not read, or an earlier release recorded the fact.
    """

    path: str
    error: int
    total_bytes: int | None
    usable_bytes: int | None
    replicas: int
    bytes: int
    futures: int
    future_lag_max: int
    directory_id: str | None
    readable: bool | None
    moving: tuple[FutureSeen, ...] = ()
    trouble: str | None = None
    version: int | None = None


class DisksSeen(NamedTuple):
    """A broker's answer to DescribeLogDirs.

    Attributes:
        failure_timeout_ms: its `log.dir.failure.timeout.ms`, requested while a directory is
            offline; None: not requested, or unknown.
    """

    seen_ms: int
    broker: int
    log_dirs: tuple[LogDirSeen, ...]
    failure_timeout_ms: int | None = None


class DisksUnreachable(NamedTuple):
    """An expected broker did not answer.

    Attributes:
        log_dirs: its directories, as read on the broker's own host.
    """

    seen_ms: int
    broker: int
    why: str
    log_dirs: tuple[LogDirSeen, ...]


class ReplicaSeen(NamedTuple):
    """The last known state of a replica on a disk.

    Attributes:
        bytes: its log's size.
        end_offset: the partition's end offset that the leader last reported; None: never reported.
        replicas: the partition's number of replicas.
    """

    topic: str
    partition: int
    bytes: int
    end_offset: int | None
    replicas: int


class ReplicasCutOff(NamedTuple):
    """The replicas of a directory that became unreadable, as of its last readable state.

    If the first poll already found it unreadable: the replicas that the broker hosts and that are
    in no other directory.
    """

    seen_ms: int
    broker: int
    path: str
    replicas: tuple[ReplicaSeen, ...]


class CutOffEnd(enum.StrEnum):
    """Why replicas are no longer cut off."""

    READABLE = "readable"
    """The directory is readable, and has its replicas."""
    EMPTY = "empty"
    """The directory is in use without some of them, and the broker has these nowhere else."""
    RECREATED = "recreated"
    """The broker created some of them again, in its other directories."""
    ELSEWHERE = "elsewhere"
    """The broker has them in other directories, and none has fewer bytes: moved, or a new path."""
    NOT_HOSTED = "not_hosted"
    """They moved to other brokers, or were deleted."""


class ReplicasBack(NamedTuple):
    """The replicas of a directory are no longer cut off.

    Attributes:
        why: None: an earlier release recorded the fact, without the reason.
        recreated: those that the broker now has in another directory, with fewer bytes than these.
        directory_id: of the directory, as it was last read; None: unknown.
    """

    seen_ms: int
    broker: int
    path: str
    why: CutOffEnd | None = None
    recreated: tuple[ReplicaSeen, ...] = ()
    directory_id: str | None = None


class OffsetsFell(NamedTuple):
    """A partition's log ends before its earlier end: acknowledged records are lost.

    Attributes:
        broker: the leader that reports it.
        was_end: the largest end offset observed.
        was_seen_ms: when it was observed.
        now_start: the log's start offset now.
        now_end: the log's end offset now.
    """

    seen_ms: int
    topic: str
    partition: int
    broker: int
    was_end: int
    was_seen_ms: int
    now_start: int
    now_end: int


class ZkPartition(NamedTuple):
    """A partition in ZooKeeper.

    Attributes:
        replicas: from the topic's znode.
        leader: from the partition's state znode; -1: none; None: there is no state znode.
        isr: from the partition's state znode.
    """

    partition: int
    replicas: tuple[int, ...]
    leader: int | None
    isr: tuple[int, ...]


class ZkTopic(NamedTuple):
    """A topic in ZooKeeper; `topic_id`: 16 bytes."""

    topic_id: bytes
    name: str
    partitions: tuple[ZkPartition, ...]


class ZkConfig(NamedTuple):
    """A znode below /config, without its values, which may be secrets.

    Attributes:
        entity: `topics`, `brokers` or `quotas`.
        name: the name in the metadata log; for quotas the name that `migration.comparison.quotas`
            gives.
        entries: key -> digest of the value.
    """

    entity: str
    name: str
    entries: tuple[tuple[str, bytes], ...]


class ZkContentSeen(NamedTuple):
    """ZooKeeper's content about one shard's topics, for a comparison with the metadata log.

    Each shard gets one in each comparison, even without content.

    Attributes:
        comparison: when the reading began, in ms; identifies the comparison.
        names: the topics that were read, the same in each shard, including deleted ones; None: all
            content was read.
        unreadable: path and reason of each znode that cannot be parsed, the same in each shard: the
            id of a topic with an unreadable znode is unknown.
        closed: those of `topics`, `brokers` and `quotas` that Kraftgate is not authorized to read.
    """

    seen_ms: int
    comparison: int
    shard: int
    topics: tuple[ZkTopic, ...]
    configs: tuple[ZkConfig, ...]
    names: tuple[str, ...] | None = None
    unreadable: tuple[tuple[str, str], ...] = ()
    closed: tuple[str, ...] = ()


class ZkContentRead(NamedTuple):
    """All content of ZooKeeper was read, and each shard got its part.

    Attributes:
        zxid: the latest transaction that the server had applied when the reading began.
        brokers: ids below /brokers/ids.
    """

    seen_ms: int
    comparison: int
    zxid: int
    topics: int
    partitions: int
    brokers: tuple[int, ...]


class ReplicaOnDisk(NamedTuple):
    """One replica in one log directory.

    Attributes:
        path: index into the fact's `paths`.
        lag: of a future replica, in messages; -1: unknown to the broker.
    """

    partition: int
    path: int
    future: bool
    lag: int


class TopicOnDisk(NamedTuple):
    """A topic's replicas on all disks; `topic_id`: 16 bytes, zero if no broker knows its id."""

    topic_id: bytes
    name: str
    replicas: tuple[ReplicaOnDisk, ...]


class DiskContentSeen(NamedTuple):
    """The logs of one shard's topics on the disks, for a comparison with the metadata log.

    Each shard gets one in each comparison, even without content.

    Attributes:
        comparison: when the comparison began, in ms; identifies it.
        paths: (broker, path) of each directory that could be read, the same in each shard.
        whole: brokers of which all directories could be read.
        without_id: names of the topics on the disks for which METADATA has no id, the same in each
            shard: the metadata log may have them, in any shard.
    """

    seen_ms: int
    comparison: int
    shard: int
    paths: tuple[tuple[int, str], ...]
    whole: tuple[int, ...]
    topics: tuple[TopicOnDisk, ...]
    without_id: tuple[str, ...] = ()


class JmxNodes(NamedTuple):
    """The nodes whose JMX numbers are polled from now on: those that are expected to answer.

    Attributes:
        nodes: ids of brokers and controllers.
    """

    seen_ms: int
    nodes: tuple[int, ...]


class JmxSeen(NamedTuple):
    """A node's JMX numbers.

    Attributes:
        node: the broker or controller.
        endpoint: the source of the numbers.
        read_ms: when the numbers were read from the node's process, by Kraftgate's clock; earlier
            than `seen_ms` if a Prometheus scraped them.
        numbers: by the beans' names (`migration.observed.jmx_names`); an absent number is unknown.
    """

    seen_ms: int
    node: int
    endpoint: str
    read_ms: int
    numbers: tuple[tuple[str, int], ...]


class JmxUnreachable(NamedTuple):
    """A node's JMX numbers are currently not available."""

    seen_ms: int
    node: int
    why: str


class FactQuarantined(NamedTuple):
    """A fact that cannot be stored or applied, because one of its values is out of bounds.

    Attributes:
        source: of the fact (`migration.metadata.events.Source`).
        fact: its type's name.
        subject: the path, broker or node of the fact, if known.
        why: a description of the flaw.
    """

    seen_ms: int
    source: str
    fact: str
    subject: str
    why: str


ZooKeeperFact: TypeAlias = (
    ZnodeSeen
    | ZkConfigSeen
    | ZnodeGone
    | NotificationsMissed
    | ZooKeeperBlind
    | ZooKeeperSeen
    | ZkTopicFact
    | ZkContentRead
)
DiskFact: TypeAlias = DisksSeen | DisksUnreachable | ReplicasCutOff | ReplicasBack | OffsetsFell
JmxFact: TypeAlias = JmxNodes | JmxSeen | JmxUnreachable
ShardFact: TypeAlias = ZkContentSeen | DiskContentSeen
"""Facts that go to a shard, instead of to the cluster's image."""
Observation: TypeAlias = ZooKeeperFact | DiskFact | JmxFact | ShardFact | FactQuarantined
