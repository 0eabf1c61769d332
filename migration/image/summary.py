"""What is told of a cluster at one metadata offset: what `replay`, `status` and screens print.

All values here are results; the rules that make them are in `migration.image.advance` and
`migration.image.cluster`. Timestamps are ms since the epoch, UTC, as the records carry them;
durations are ms.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from migration.comparison.result import Compared
from migration.metadata.replica_state import ReplicaState
from migration.observed.jmx import JmxImage
from migration.observed.log_dirs import DisksImage
from migration.observed.zookeeper import ZooKeeperImage
from migration.shard.progress import Step


class Mode(enum.StrEnum):
    """How a broker takes part."""

    ZOOKEEPER = "zookeeper"
    MIGRATING = "migrating"
    KRAFT = "kraft"


class Phase(enum.StrEnum):
    """Where the migration stands, in order; `kraft` is a cluster that never had a ZooKeeper."""

    ZOOKEEPER = "zookeeper"
    PRE_MIGRATION = "pre-migration"
    COPYING = "copying"
    HYBRID = "hybrid"
    DUAL_WRITE = "dual-write"
    FINALIZED = "finalized"
    ROLLED_BACK = "rolled-back"
    KRAFT = "kraft"


WAY: Final = (
    Phase.ZOOKEEPER,
    Phase.PRE_MIGRATION,
    Phase.COPYING,
    Phase.HYBRID,
    Phase.DUAL_WRITE,
    Phase.FINALIZED,
)
"""The phases of a migration in their order; `rolled-back` and `kraft` are beside it."""
WITHOUT_ZOOKEEPER: Final = (Phase.FINALIZED, Phase.KRAFT)
"""In these phases the cluster does not use ZooKeeper: it may be switched off, as planned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfencedEarly:
    """Kafka unfenced a broker while it was held.

    Attributes:
        pending: the broker's migrating plus unassigned replicas at the unfencing record.
        duration_ms: from that record's timestamp to the completing one's; None while pending.
    """

    pending: int
    duration_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How fast a held broker's replicas got their directories since its registration.

    Attributes:
        assigned: replicas that left `migrating` or `unassigned`.
        first_ms: timestamp of the first such record.
        last_ms: timestamp of the latest one.
        recent: the latest steps in which they did, in order of time.
    """

    assigned: int
    first_ms: int
    last_ms: int
    recent: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoriesGone:
    """A broker lacks log directories that it had, since a moment when replicas had no known one.

    Attributes:
        directories: their ids.
        pending: the broker's migrating plus unassigned replicas at that moment.
        at_ms: the record's timestamp; None: unknown.
    """

    directories: tuple[str, ...]
    pending: int
    at_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSummary:
    """One broker at one metadata offset; incarnation fields describe its latest registration.

    Attributes:
        epoch: None for a broker that only ZooKeeper knows.
        gone: directories that it came back without.
        failed: those that failed since it did, while replicas that are pending still were so.
        host: of its first listener; None: not known.
        supports: the highest metadata.version that it can work with; None: not known.
        under_replicated: partitions of which it is a replica and not in the ISR; None: not known.
        assigned_ms: when a replica of it was last assigned to a directory; None: not seen.
        directories: replicas by real directory id, those that are offline included.
        reverted: it was in KRaft mode before it was in migration mode, as in a rollback.
    """

    id: int
    epoch: int | None
    mode: Mode
    fenced: bool
    in_controlled_shutdown: bool
    held: bool
    log_dirs: tuple[str, ...]
    replicas: Mapping[ReplicaState, int]
    registered_offset: int | None
    registered_ms: int | None
    unfenced_offset: int | None
    unfenced_ms: int | None
    assignments_complete_offset: int | None
    assignments_complete_ms: int | None
    unfenced_early: UnfencedEarly | None
    progress: Progress | None
    gone: DirectoriesGone | None = None
    failed: DirectoriesGone | None = None
    host: str | None = None
    rack: str | None = None
    supports: int | None = None
    under_replicated: int | None = None
    assigned_ms: int | None = None
    directories: Mapping[str, int] = field(default_factory=dict)
    reverted: bool = False

    @property
    def pending(self) -> int:
        """Replicas without a real directory id."""
        return self.replicas[ReplicaState.MIGRATING] + self.replicas[ReplicaState.UNASSIGNED]


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSummary:
    """A controller's latest registration (RegisterControllerRecord); it need not be alive.

    Attributes:
        zk_migration_ready: it runs with zookeeper.metadata.migration.enable.
        registered_offset: None, and so its time: before the snapshot that was read.
    """

    id: int
    zk_migration_ready: bool
    registered_offset: int | None
    registered_ms: int | None
    host: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Vanished:
    """Topics that went from ZooKeeper one soon after the other.

    Attributes:
        since_ms: when Kraftgate saw the first one go.
        last_ms: the last one.
        topics: how many went.
        named: the first of them.
    """

    since_ms: int
    last_ms: int
    topics: int
    named: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiped:
    """Topics were deleted from ZooKeeper by a KRaft controller that had never copied them."""

    controller: int
    gone: Vanished


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSummary:
    """One cluster at one metadata offset.

    Attributes:
        metadata_log: which of the cluster's metadata logs is followed, counted from 1: another one
            begins when controllers are provisioned anew, after a roll-back.
        metadata_offset: the last record of it seen, no-op records included; None before the first.
        observed_ms: that record's timestamp.
        zookeeper: as last seen; None: it is not followed.
        disks: as last seen; None: they are not followed.
        content: the last comparison of ZooKeeper's content with the metadata log.
        places: that of what lies on the disks.
        under_replicated: partitions with a replica that is not in the ISR; None: not known.
        leaderless: partitions without a leader; None: not known.
        reassigning: partitions with replicas that are being added or removed; None: not known.
        controllers: by id; None: not known.
        wiped: topics that a quorum without a copy deleted from ZooKeeper; None: none.
        jmx: the nodes' JMX numbers as last seen; None: they are not followed.
    """

    cluster: str
    metadata_offset: int | None
    observed_ms: int | None
    leader_epoch: int | None
    active_controller: int | None
    phase: Phase
    metadata_version: int | None
    topics: int
    partitions: int
    unknown_records: int
    brokers: tuple[BrokerSummary, ...]
    metadata_log: int = 1
    zookeeper: ZooKeeperImage | None = None
    disks: DisksImage | None = None
    content: Compared = field(default_factory=Compared)
    places: Compared = field(default_factory=Compared)
    under_replicated: int | None = None
    leaderless: int | None = None
    reassigning: int | None = None
    controllers: tuple[ControllerSummary, ...] | None = None
    wiped: Wiped | None = None
    jmx: JmxImage | None = None
