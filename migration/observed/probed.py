"""The data gathered about a cluster before its window: plain values, each of which may be unknown.

Nothing is interpreted here. A value that is not available is an `Unknown` with the reason, so that
a check that needs it can report the reason. No value is a secret: only harmless settings are
requested, and of dynamic configurations only the names of the keys are stored.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that is not available.

    Attributes:
        why: a description of the cause: `broker 2 at b2:9092 refused`.
        denied: whether the node answers, and the principal lacks the right.
    """

    why: str
    denied: bool = False


Maybe: TypeAlias = T | Unknown
NOT_ASKED: Final = Unknown("not polled yet")

QUORUM_SETTINGS: Final = ("controller.quorum.voters", "controller.quorum.bootstrap.servers")
"""The server properties that name the controllers: of a static quorum, of a dynamic one."""
UNCLEAN: Final = "unclean.leader.election.enable"
"""The setting of brokers and topics: a replica that is not in the ISR may be elected."""
LISTENER_SETTINGS: Final = (
    "inter.broker.listener.name",
    "listener.security.protocol.map",
    "security.inter.broker.protocol",
)
"""The server properties of a broker's listeners that a new controller needs, too."""
LOG_DIR_SETTINGS: Final = ("log.dirs", "log.dir")
"""The server properties that name a broker's log directories: the second one without the first."""


def log_dirs_of(settings: Mapping[str, str]) -> tuple[str, ...]:
    """Return a broker's log directories in the order of its setting; empty: not reported.

    Kafka puts the metadata log into the first one. A broker's answer about its directories has
    another order.
    """
    named = next((found for name in LOG_DIR_SETTINGS if (found := settings.get(name))), "")
    return tuple(path for each in named.split(",") if (path := each.strip()))


class TopicPartition(NamedTuple):
    """One partition."""

    topic: str
    number: int

    def __str__(self) -> str:
        """Return Kafka's name of its directory: `orders-3`."""
        return f"{self.topic}-{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDir:
    """One log directory as its broker describes it (DescribeLogDirs).

    Attributes:
        path: as the broker names it.
        error: 0, or Kafka's error code.
        total_bytes: size of the volume; None: the broker does not report it (before 3.3).
        usable_bytes: free space of the volume; None: as above.
        replicas: those with their log in the directory.
        futures: those that a move between directories fills.
        sizes: bytes of each of `replicas`.
        future_lags: how many messages each of `futures` is behind; None: the broker does not know.
        future_sizes: bytes of each of `futures`.
    """

    path: str
    error: int = 0
    total_bytes: int | None = None
    usable_bytes: int | None = None
    replicas: frozenset[TopicPartition] = frozenset()
    futures: frozenset[TopicPartition] = frozenset()
    sizes: Mapping[TopicPartition, int] = field(default_factory=dict)
    future_lags: Mapping[TopicPartition, int | None] = field(default_factory=dict)
    future_sizes: Mapping[TopicPartition, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaProperties:
    """A directory's `meta.properties`, read on the broker's own host.

    Attributes:
        path: of the log directory.
        version: 0, with `broker.id`; 1, with `node.id`.
        node_id: `broker.id` or `node.id`.
        old_ids: whether the file has `directory.ids`, which no released Kafka writes.
        error: why Kafka cannot read the file; None: it can.
        missing: whether the directory has no such file.
        partitions: the folders of partitions in the directory: Kafka's names of their logs.
        metadata_log: whether the folder of the metadata log is in it.
        voters: the controllers by the metadata log's quorum-state; None: not known, as in a dynamic
            quorum.
    """

    path: str
    version: int = 0
    node_id: int | None = None
    cluster_id: str | None = None
    directory_id: str | None = None
    old_ids: bool = False
    error: str | None = None
    missing: bool = False
    partitions: frozenset[str] = frozenset()
    metadata_log: bool = False
    voters: tuple[int, ...] | None = None

    @property
    def readable(self) -> bool:
        return self.error is None and not self.missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """One broker.

    Attributes:
        endpoint: host:port of the requests; "" if none is known.
        rack: None: it has none, or it is unknown.
        release: (major, minor), inferred from the supported APIs; they do not show the patch.
        settings: the server properties that checks read, including Kafka's defaults.
        meta: None if Kraftgate does not run on the broker's host.
        unread_meta: the paths whose file it cannot read there, each with the reason.
    """

    id: int
    endpoint: str = ""
    rack: str | None = None
    release: Maybe[tuple[int, ...]] = NOT_ASKED
    settings: Maybe[Mapping[str, str]] = NOT_ASKED
    log_dirs: Maybe[tuple[LogDir, ...]] = NOT_ASKED
    meta: tuple[MetaProperties, ...] | None = None
    unread_meta: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A partition in the brokers' metadata; `leader` is None if there is none."""

    at: TopicPartition
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Topics:
    """The brokers' metadata of the whole cluster.

    Attributes:
        cluster_id: as the brokers report it.
        broker_ids: those that are alive.
        min_isr: `min.insync.replicas` by topic.
        unclean: those with `unclean.leader.election.enable`, of the same answer as `min_isr`.
        reassignments: a description of each open one.
    """

    cluster_id: str | None
    broker_ids: frozenset[int]
    partitions: tuple[Partition, ...]
    min_isr: Maybe[Mapping[str, int]] = NOT_ASKED
    unclean: frozenset[str] = frozenset()
    reassignments: Maybe[tuple[str, ...]] = NOT_ASKED


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperServer:
    """One server of the ensemble.

    Attributes:
        version: as `srvr` reports it, such as (3, 8, 4); or why it did not answer.
        mode: standalone, leader, follower, observer; "": not reported.
    """

    endpoint: str
    version: Maybe[tuple[int, ...]]
    mode: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeper:
    """Kafka's znodes, as raw data where checks parse the content; None: there is no such znode.

    Attributes:
        broker_ids: the children of /brokers/ids.
        assignments: the replicas' broker ids by topic, from /brokers/topics.
        deletions: the children of /admin/delete_topics.
        notifications: the children of /log_dir_event_notification.
        unreadable: path and reason of each payload that differs from Kafka's format.
        dynamic_keys: names of the dynamically set keys, by znode below /config/brokers.
        restricted: paths whose ACL does not let everyone write.
        closed: path below /config/brokers and reason, for znodes that Kraftgate is not authorized
            to read.
        hidden: the same of the other znodes, except quotas and SCRAM secrets.
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
    hidden: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Voter:
    """A controller of the quorum, as its leader reports it.

    Attributes:
        log_end_offset: -1: unknown to the leader.
        last_caught_up_ms: when it last had all of the leader's records, by the leader's clock;
            None: unknown.
    """

    id: int
    log_end_offset: int
    last_caught_up_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Quorum:
    """The quorum as its leader describes it.

    Attributes:
        high_watermark: None: unknown, until a majority has fetched in the leader's epoch.
        progress: of each voter, in order of id.
    """

    leader: int
    epoch: int
    high_watermark: int | None
    voters: tuple[int, ...]
    progress: tuple[Voter, ...] = ()


def latest_quorum(reports: Iterable[Quorum | None]) -> Quorum | None:
    """Return the report of the latest epoch: a leader that lost contact may still report its own.

    `reports`: of each controller, None if it does not lead.
    """
    known = (each for each in reports if each is not None)
    return max(known, key=lambda each: each.epoch, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Controller:
    """One configured controller.

    Attributes:
        unreachable: why it does not answer; None: it does.
        exists: whether something accepts connections there, even if Kraftgate cannot query it, for
            example because of a wrong password.
        metadata_version: the finalized level; None before there is one.
        migration_ready: its own report (zkMigrationReady in ApiVersions).
        may_fetch: whether Kraftgate's principal may follow the metadata log (CLUSTER_ACTION).
        may_describe: whether the principal may describe the quorum (DESCRIBE on CLUSTER).
        quorum: None if it does not lead.
        settings: its server properties that checks read.
    """

    endpoint: str
    unreachable: str | None = None
    exists: bool = True
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
    """All data about one cluster.

    Attributes:
        cluster: its name in the configuration.
        wanted_id: the cluster id that is configured or was followed before; None: unknown.
        zookeeper_connect: as configured, with the chroot; None: not configured.
        zookeeper_identity: whether the configuration has Kraftgate's ZooKeeper credentials.
        brokers: all known ones, including those that are down, in order of id.
        bootstrap_ids: the cluster id by address, of the addresses in `brokers.bootstrap` that
            answered.
        controllers: the configured ones; empty: none is configured.
    """

    cluster: str
    wanted_id: str | None = None
    zookeeper_connect: str | None = None
    zookeeper_identity: bool = False
    zookeeper: Maybe[ZooKeeper] = NOT_ASKED
    ensemble: tuple[ZooKeeperServer, ...] = ()
    topics: Maybe[Topics] = NOT_ASKED
    brokers: tuple[Broker, ...] = ()
    bootstrap_ids: Mapping[str, str] = field(default_factory=dict)
    controllers: tuple[Controller, ...] = ()

    @property
    def answering(self) -> tuple[Controller, ...]:
        return tuple(one for one in self.controllers if one.unreachable is None)

    @property
    def quorum(self) -> Quorum | None:
        """The quorum as its leader reports it; None: no leader does."""
        return latest_quorum(one.quorum for one in self.answering)

    @property
    def has_controllers(self) -> bool:
        """Whether a controller answers, or may: its address accepts connections."""
        return any(one.exists for one in self.controllers)

    @property
    def nothing_reached(self) -> bool:
        """Whether neither ZooKeeper nor any broker or controller answered."""
        return (
            isinstance(self.zookeeper, Unknown)
            and isinstance(self.topics, Unknown)
            and not self.answering
        )
