"""What is told of a cluster at one metadata offset: what `replay`, `status` and screens print.

All values here are results; the rules that make them are in `migration.advance` and
`migration.image`. Timestamps are ms since the epoch, UTC, as the records carry them; durations
are ms.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from migration.compared import Compared
from migration.disks import DisksImage
from migration.replica_state import ReplicaState
from migration.zookeeper import ZooKeeperImage


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


def iso(timestamp_ms: int) -> str:
    """A record's timestamp (ms since the epoch) as ISO 8601 in UTC with milliseconds."""
    moment = datetime.fromtimestamp(timestamp_ms / 1000, tz=UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


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
    """

    assigned: int
    first_ms: int
    last_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoriesGone:
    """A broker lacks log directories that it had, since a moment when replicas had no known one.

    Attributes:
        directories: their ids.
        pending: the broker's migrating plus unassigned replicas at that moment.
        at_ms: the record's timestamp; None: unknown.
        at_registration: it came back without them; False: they failed while it ran.
    """

    directories: tuple[str, ...]
    pending: int
    at_ms: int | None
    at_registration: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSummary:
    """One broker at one metadata offset; incarnation fields describe its latest registration.

    Attributes:
        epoch: None for a broker that only ZooKeeper knows.
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

    @property
    def pending(self) -> int:
        """Replicas without a real directory id."""
        return self.replicas[ReplicaState.MIGRATING] + self.replicas[ReplicaState.UNASSIGNED]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSummary:
    """One cluster at one metadata offset.

    Attributes:
        metadata_offset: the last record seen, no-op records included; None before the first.
        observed_ms: that record's timestamp.
        zookeeper: as last seen; None: it is not followed.
        disks: as last seen; None: they are not followed.
        content: the last comparison of ZooKeeper's content with the metadata log.
        places: that of what lies on the disks.
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
    zookeeper: ZooKeeperImage | None = None
    disks: DisksImage | None = None
    content: Compared = field(default_factory=Compared)
    places: Compared = field(default_factory=Compared)
