"""What was gathered of a cluster before its window: plain values, each of which may be unknown.

Nothing is interpreted here. A value that could not be had is an `Unknown` that says why, so that a
check which needs it can say so too. No secret is ever among them: of settings only harmless ones
are asked for, of dynamic configurations only the names of their keys are kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that could not be had.

    Attributes:
        why: what was in the way, in words: `broker 2 at b2:9092 refused`.
    """

    why: str


Maybe: TypeAlias = T | Unknown
NOT_ASKED: Final = Unknown("not polled yet")


class TopicPartition(NamedTuple):
    """One partition."""

    topic: str
    number: int

    def __str__(self) -> str:
        """Print as Kafka names its directory: `orders-3`."""
        return f"{self.topic}-{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDir:
    """One log directory as its broker describes it (DescribeLogDirs).

    Attributes:
        path: as the broker names it.
        error: 0, or Kafka's error code.
        total_bytes: of the volume; None when the broker does not tell (before 3.3).
        usable_bytes: the same of what is free.
        replicas: those whose log lies there.
        futures: those that a move between directories is filling.
    """

    path: str
    error: int = 0
    total_bytes: int | None = None
    usable_bytes: int | None = None
    replicas: frozenset[TopicPartition] = frozenset()
    futures: frozenset[TopicPartition] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaProperties:
    """A directory's `meta.properties`, read on the broker's own host.

    Attributes:
        path: of the log directory.
        node_id: `broker.id` or `node.id`.
        old_ids: whether the file has `directory.ids`, which no Kafka that shipped writes.
    """

    path: str
    node_id: int | None = None
    cluster_id: str | None = None
    directory_id: str | None = None
    old_ids: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """One broker.

    Attributes:
        endpoint: host:port where it was asked; "" when nobody told one.
        rack: None when it has none, or nobody told.
        release: (major, minor), inferred from the APIs that it offers; patches do not show.
        settings: the server properties that checks look at, without defaults of Kafka left out.
        meta: None when Kraftgate does not run on the broker's host.
    """

    id: int
    endpoint: str = ""
    rack: str | None = None
    release: Maybe[tuple[int, ...]] = NOT_ASKED
    settings: Maybe[Mapping[str, str]] = NOT_ASKED
    log_dirs: Maybe[tuple[LogDir, ...]] = NOT_ASKED
    meta: tuple[MetaProperties, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A partition as the brokers' metadata has it; `leader` is None when there is none."""

    at: TopicPartition
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Topics:
    """What the brokers say of the cluster as a whole.

    Attributes:
        cluster_id: as the brokers tell it.
        broker_ids: those that are alive.
        min_isr: `min.insync.replicas` by topic.
        reassignments: the open ones, in words.
    """

    cluster_id: str | None
    broker_ids: frozenset[int]
    partitions: tuple[Partition, ...]
    min_isr: Maybe[Mapping[str, int]] = NOT_ASKED
    reassignments: Maybe[tuple[str, ...]] = NOT_ASKED


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperServer:
    """One server of the ensemble.

    Attributes:
        version: as `srvr` tells it, such as (3, 8, 4); or why it did not answer.
        mode: standalone, leader, follower, observer; "" when not told.
    """

    endpoint: str
    version: Maybe[tuple[int, ...]]
    mode: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeper:
    """Kafka's znodes, raw where their content is judged; None: there is no such znode.

    Attributes:
        broker_ids: the children of /brokers/ids.
        assignments: the replicas' broker ids by topic, of /brokers/topics.
        deletions: the children of /admin/delete_topics.
        notifications: the children of /log_dir_event_notification.
        unreadable: path and reason of every payload that is not what Kafka writes.
        dynamic_keys: names of the dynamically set keys, by znode below /config/brokers.
        restricted: paths whose ACL does not let anyone write.
        closed: path below /config/brokers and reason, of what Kraftgate may not read.
    """

    controller: bytes | None = None
    controller_epoch: bytes | None = None
    migration: bytes | None = None
    cluster_id: bytes | None = None
    reassign_partitions: bytes | None = None
    broker_ids: frozenset[int] = frozenset()
    assignments: Mapping[str, frozenset[int]] = field(default_factory=dict)
    deletions: tuple[str, ...] = ()
    notifications: tuple[str, ...] = ()
    unreadable: tuple[tuple[str, str], ...] = ()
    dynamic_keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    restricted: tuple[str, ...] = ()
    closed: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Voter:
    """A controller of the quorum, as its leader sees it.

    Attributes:
        log_end_offset: -1: the leader does not know it.
        last_caught_up_ms: when it last had all that the leader had, by the leader's clock; None:
            not known.
    """

    id: int
    log_end_offset: int
    last_caught_up_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Quorum:
    """The quorum as its leader describes it.

    Attributes:
        progress: of each of the voters, in the order of their ids.
    """

    leader: int
    epoch: int
    high_watermark: int
    voters: tuple[int, ...]
    progress: tuple[Voter, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Controller:
    """One controller that was to be asked.

    Attributes:
        unreachable: why it does not answer; None when it does.
        metadata_version: the finalized level; None before there is one.
        migration_ready: what it says of itself (zkMigrationReady in ApiVersions).
        may_fetch: whether our principal may follow the metadata log (CLUSTER_ACTION).
        may_describe: whether it may describe the quorum (DESCRIBE on CLUSTER).
        quorum: None when it does not lead.
        settings: its server properties that checks look at.
    """

    endpoint: str
    unreachable: str | None = None
    node_id: Maybe[int] = NOT_ASKED
    release: Maybe[tuple[int, ...]] = NOT_ASKED
    metadata_version: Maybe[int | None] = NOT_ASKED
    migration_ready: Maybe[bool] = NOT_ASKED
    cluster_id: Maybe[str] = NOT_ASKED
    may_fetch: Maybe[bool] = NOT_ASKED
    may_describe: Maybe[bool] = NOT_ASKED
    quorum: Quorum | None = None
    settings: Maybe[Mapping[str, str]] = NOT_ASKED


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything that is known of one cluster.

    Attributes:
        cluster: its name in the configuration.
        wanted_id: the cluster id that the configuration demands, if any.
        zookeeper_connect: as configured, with the chroot; None when it names none.
        zookeeper_identity: whether the configuration says who Kraftgate is for ZooKeeper.
        brokers: all that are known of, also those that are down; in order of id.
        controllers: those that the configuration names; empty when it names none.
    """

    cluster: str
    wanted_id: str | None = None
    zookeeper_connect: str | None = None
    zookeeper_identity: bool = False
    zookeeper: Maybe[ZooKeeper] = NOT_ASKED
    ensemble: tuple[ZooKeeperServer, ...] = ()
    topics: Maybe[Topics] = NOT_ASKED
    brokers: tuple[Broker, ...] = ()
    controllers: tuple[Controller, ...] = ()

    @property
    def answering(self) -> tuple[Controller, ...]:
        """The controllers that answer."""
        return tuple(one for one in self.controllers if one.unreachable is None)

    @property
    def nothing_reached(self) -> bool:
        """Whether neither ZooKeeper nor any broker or controller answered."""
        return (
            isinstance(self.zookeeper, Unknown)
            and isinstance(self.topics, Unknown)
            and not self.answering
        )
