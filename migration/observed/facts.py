"""What is seen of a cluster beside its metadata log: znodes, the brokers' disks, JMX numbers.

Facts as they were observed, not yet interpreted: `migration.observed.zookeeper`,
`migration.observed.log_dirs` and `migration.observed.jmx` say what they mean. `seen_ms` is
Kraftgate's clock, in ms since the epoch; every other time is the cluster's own, unless it is said.
Named tuples of plain values, so that a journal can keep them.
"""

from typing import NamedTuple, TypeAlias

from migration.observed.topic_facts import ZkConfigSeen, ZkTopicFact


class ZnodeSeen(NamedTuple):
    """A znode's content, whenever it differs from what was seen before.

    Attributes:
        path: absolute, below the chroot (`/controller`).
        data: as it is stored; empty when there is none.
        version: of the data.
        mzxid: the ZooKeeper transaction that wrote it last.
        mtime_ms: ZooKeeper's time of that.
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
    """A znode that was seen before is not there any more."""

    seen_ms: int
    path: str


class NotificationsMissed(NamedTuple):
    """Log directory notifications came and went without their content being read.

    None of them (`number` 0) only says that counting goes on at `first`.

    Attributes:
        first: sequence number of the first one missed.
        number: how many, counted by the parent's cversion.
    """

    seen_ms: int
    first: int
    number: int


class ZooKeeperBlind(NamedTuple):
    """The connection to ZooKeeper is lost: from here on changes may go unseen.

    Attributes:
        why: in words.
    """

    seen_ms: int
    why: str


class ZooKeeperSeen(NamedTuple):
    """Everything was read (again), up to `zxid`.

    Attributes:
        server: host:port that answers.
        session: the session's id; another one than before when it had expired.
        blind_since_ms: when the view was lost, None for the first reading.
        zxid: the latest transaction that server had applied.
    """

    seen_ms: int
    server: str
    session: int
    blind_since_ms: int | None
    zxid: int


class LogDirSeen(NamedTuple):
    """One log directory of one broker (DescribeLogDirsResponse).

    Attributes:
        path: as the broker configures it.
        error: 0, or Kafka's error code; 56 (KAFKA_STORAGE_ERROR) for an offline directory.
        total_bytes: of the volume; None when the broker does not tell (before v4).
        usable_bytes: the same of what is free.
        replicas: current ones.
        bytes: their size.
        futures: future replicas, which a move between directories is filling.
        future_lag_max: the largest lag of one of them, in messages.
        directory_id: 22 characters, when Kraftgate could read `meta.properties` there itself.
        readable: whether Kraftgate, on the broker's own host, can read it; None on another host.
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


class DisksSeen(NamedTuple):
    """A broker's answer to DescribeLogDirs."""

    seen_ms: int
    broker: int
    log_dirs: tuple[LogDirSeen, ...]


class DisksUnreachable(NamedTuple):
    """A broker that is expected did not answer.

    Attributes:
        log_dirs: what can still be said of its directories, read on the broker's own host.
    """

    seen_ms: int
    broker: int
    why: str
    log_dirs: tuple[LogDirSeen, ...]


class ReplicaSeen(NamedTuple):
    """A replica as it was last seen on a disk.

    Attributes:
        bytes: its log's size.
        end_offset: the partition's, as its leader last told; None when it was never told.
        replicas: how many replicas the partition has.
    """

    topic: str
    partition: int
    bytes: int
    end_offset: int | None
    replicas: int


class ReplicasCutOff(NamedTuple):
    """The replicas that lay in a directory when it was last readable; it is not any more.

    When it was bad from the first look on: those that the broker hosts and that lie in no other.
    """

    seen_ms: int
    broker: int
    path: str
    replicas: tuple[ReplicaSeen, ...]


class ReplicasBack(NamedTuple):
    """A directory that had been cut off is readable again, or its broker gave it up."""

    seen_ms: int
    broker: int
    path: str


class OffsetsFell(NamedTuple):
    """A partition's log ends before where it ended: acknowledged records are gone.

    Attributes:
        broker: the leader that tells so.
        was_end: the largest end offset that was seen.
        was_seen_ms: when.
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
    """A partition as ZooKeeper has it.

    Attributes:
        replicas: of the topic's znode.
        leader: of the partition's state znode; -1: none; None: there is no state znode.
        isr: of the same.
    """

    partition: int
    replicas: tuple[int, ...]
    leader: int | None
    isr: tuple[int, ...]


class ZkTopic(NamedTuple):
    """A topic as ZooKeeper has it; `topic_id`: 16 bytes."""

    topic_id: bytes
    name: str
    partitions: tuple[ZkPartition, ...]


class ZkConfig(NamedTuple):
    """A znode below /config, without its values, which may be secrets.

    Attributes:
        entity: `topics`, `brokers` or `quotas`.
        name: as the metadata log has it; of who has quotas, by `migration.comparison.quotas`.
        entries: key -> digest of the value.
    """

    entity: str
    name: str
    entries: tuple[tuple[str, bytes], ...]


class ZkContentSeen(NamedTuple):
    """What ZooKeeper holds of one shard's topics, for a comparison with the metadata log.

    Every shard gets one in every comparison, also when it holds nothing.

    Attributes:
        comparison: when the reading began, ms; names the comparison.
        names: of the topics that were looked at, the same in every shard, those that are gone
            included; None: all content was read.
        unreadable: path and reason of every znode that says nothing, the same in every shard: of a
            topic whose znode cannot be read the id is not known.
        closed: of `topics`, `brokers` and `quotas`, those that ZooKeeper does not show to us.
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
    """All content of ZooKeeper was read, and every shard got its part.

    Attributes:
        zxid: what the server had applied when the reading began.
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
        path: its place in the fact's `paths`.
        lag: of a future replica, in messages; -1: the broker does not know.
    """

    partition: int
    path: int
    future: bool
    lag: int


class TopicOnDisk(NamedTuple):
    """A topic's replicas on all disks; `topic_id`: 16 bytes, zero when no broker knows its id."""

    topic_id: bytes
    name: str
    replicas: tuple[ReplicaOnDisk, ...]


class DiskContentSeen(NamedTuple):
    """What lies on the disks of one shard's topics, for a comparison with the metadata log.

    Every shard gets one in every comparison, also when it holds nothing.

    Attributes:
        comparison: when the comparison began, ms; names it.
        paths: (broker, path) of every directory that could be read, the same in every shard.
        whole: brokers all of whose directories could be read.
    """

    seen_ms: int
    comparison: int
    shard: int
    paths: tuple[tuple[int, str], ...]
    whole: tuple[int, ...]
    topics: tuple[TopicOnDisk, ...]


class JmxNodes(NamedTuple):
    """Which nodes are asked for their JMX numbers from here on: those that are expected to answer.

    Attributes:
        nodes: ids of brokers and controllers.
    """

    seen_ms: int
    nodes: tuple[int, ...]


class JmxSeen(NamedTuple):
    """A node's JMX numbers.

    Attributes:
        node: the broker or controller.
        endpoint: who told.
        read_ms: when they were read out of the node's process, by Kraftgate's clock: earlier than
            `seen_ms` where a Prometheus scraped them.
        numbers: by the beans' names (`migration.observed.jmx_names`); what is not there is not
        known.
    """

    seen_ms: int
    node: int
    endpoint: str
    read_ms: int
    numbers: tuple[tuple[str, int], ...]


class JmxUnreachable(NamedTuple):
    """A node's JMX numbers cannot be had at present."""

    seen_ms: int
    node: int
    why: str


class FactQuarantined(NamedTuple):
    """A fact that cannot be kept or taken in, since a value of it is out of bounds.

    Attributes:
        source: where it was seen (`migration.metadata.events.Source`).
        fact: its type's name.
        subject: what it is about, as far as that can be said: a path, a broker, a node.
        why: in words.
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
"""What goes to a shard, instead of to the cluster's image."""
Observation: TypeAlias = ZooKeeperFact | DiskFact | JmxFact | ShardFact | FactQuarantined
