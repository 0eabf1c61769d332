"""The summary of a cluster at one metadata offset: the data of `replay`, `status` and the screens.

All values are results; `migration.image.advance` and `migration.image.cluster` have the rules.
Timestamps are those of the records, in ms since the epoch, UTC; durations are in ms.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from migration.comparison.result import Compared, Identity, certain, identify
from migration.metadata.replica_state import PENDING_STATES, ReplicaState
from migration.observed.jmx import JmxImage
from migration.observed.log_dirs import BrokerDisks, DisksImage
from migration.observed.zookeeper import ZooKeeperImage
from migration.shard.report import Step


class Mode(enum.StrEnum):
    """A broker's mode."""

    ZOOKEEPER = "zookeeper"
    MIGRATING = "migrating"
    KRAFT = "kraft"


class Phase(enum.StrEnum):
    """The phase of the migration, in order; `kraft`: the cluster never had a ZooKeeper."""

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
"""The phases of a migration in their order; `rolled-back` and `kraft` are not part of it."""
WITHOUT_ZOOKEEPER: Final = (Phase.FINALIZED, Phase.KRAFT)
"""The phases in which the cluster does not use ZooKeeper: it may be stopped, as planned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfencedEarly:
    """Kafka unfenced a broker while it was held.

    Attributes:
        pending: number of the broker's pending replicas at the first unfencing record.
        duration_ms: how long it was unfenced, by the records' timestamps, until the completing one;
            None while pending, or if only a snapshot shows a beginning or an end.
    """

    pending: int
    duration_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How fast a held broker's replicas got their directories since its registration.

    Attributes:
        assigned: number of replicas that left `migrating` or `unassigned`.
        first_ms: timestamp of the first such record.
        last_ms: timestamp of the latest one.
        recent: the latest steps, in order of time.
    """

    assigned: int
    first_ms: int
    last_ms: int
    recent: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoriesGone:
    """A broker lost log directories at a moment when replicas had no known directory.

    Attributes:
        directories: their ids.
        pending: number of the broker's pending replicas at that moment.
        at_ms: the record's timestamp; None: unknown.
        migrating: number of them that are known to have been `migrating` at a first such start in
            KRaft mode.
    """

    directories: tuple[str, ...]
    pending: int
    at_ms: int | None
    migrating: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """A broker's latest registration, in the image and in its summary.

    Attributes:
        held: in KRaft mode, with replicas that have no directory since the registration.
        held_before_ms: when the hold, or the last one, began, if it was held by an earlier
            registration, too.
        host: of its first listener; None: unknown.
        supports: the highest metadata.version that it supports; None: unknown.
        reverted: it was in KRaft mode before it was in migration mode, as in a rollback.
    """

    id: int
    mode: Mode
    fenced: bool
    in_controlled_shutdown: bool
    held: bool
    held_before_ms: int | None = None
    progress: Progress | None = None
    host: str | None = None
    rack: str | None = None
    supports: int | None = None
    reverted: bool = False

    @property
    def is_unfenced_early(self) -> bool:
        """Whether Kafka lets the broker serve although it is held."""
        return self.held and not self.fenced


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSummary(Registered):
    """One broker at one metadata offset; incarnation fields describe its latest registration.

    Attributes:
        epoch: None for a broker that is only in ZooKeeper.
        unfenced_early: since its registration; None: it never was.
        gone: directories missing from its latest registration.
        failed: directories that failed since then, while the replicas that are still pending were
            pending.
        unregistered: each directory id that it no longer registers, and that failed: since when,
            if known.
        under_replicated: number of partitions with a replica on it that is not in the ISR; None:
            unknown.
        assigned_ms: when a replica of it was last assigned to a directory; None: not observed.
        directories: number of replicas by real directory id, including offline directories.
        left_migration: after a rollback, only a newer znode shows that it is no longer in migration
            mode; an expired session writes one, too.
    """

    epoch: int | None = None
    log_dirs: tuple[str, ...] = ()
    replicas: Mapping[ReplicaState, int]
    registered_offset: int | None = None
    registered_ms: int | None = None
    unfenced_offset: int | None = None
    unfenced_ms: int | None = None
    assignments_complete_offset: int | None = None
    assignments_complete_ms: int | None = None
    unfenced_early: UnfencedEarly | None = None
    gone: DirectoriesGone | None = None
    failed: DirectoriesGone | None = None
    unregistered: Mapping[str, int | None] = field(default_factory=dict)
    under_replicated: int | None = None
    assigned_ms: int | None = None
    directories: Mapping[str, int] = field(default_factory=dict)
    left_migration: bool = False

    def __post_init__(self) -> None:
        """Complete the counts: a summary that is older than a state has no replica in it."""
        counts = dict.fromkeys(ReplicaState, 0) | dict(self.replicas)
        object.__setattr__(self, "replicas", counts)

    @property
    def pending(self) -> int:
        """The number of replicas without a real directory id."""
        return sum(self.replicas[each] for each in PENDING_STATES)

    @property
    def held_since_ms(self) -> int | None:
        """When the hold, or the last one, began; a restart begins no new one."""
        return self.registered_ms if self.held_before_ms is None else self.held_before_ms

    @property
    def last_progress_ms(self) -> int | None:
        """When a held broker last made progress; before the first, when its hold began."""
        if self.progress is not None:
            return self.progress.last_ms
        since_ms = self.held_since_ms
        return None if since_ms is None else max(since_ms, self.assigned_ms or 0)

    def is_stalled(self, now_ms: int, stall_after_ms: int) -> bool:
        """Whether the broker is held and made no progress for longer than `stall_after_ms`."""
        since = self.last_progress_ms
        return self.held and since is not None and now_ms - since > stall_after_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSummary:
    """A controller's latest registration (RegisterControllerRecord); it need not be running.

    Attributes:
        zk_migration_ready: it runs with zookeeper.metadata.migration.enable.
        registered_offset: None, like its time: before the snapshot that was read.
    """

    id: int
    zk_migration_ready: bool
    registered_offset: int | None
    registered_ms: int | None
    host: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Vanished:
    """Topics that were deleted from ZooKeeper in quick succession.

    Attributes:
        since_ms: when Kraftgate observed the first deletion.
        last_ms: when it observed the last one.
        topics: number of topics.
        named: the first of them.
    """

    since_ms: int
    last_ms: int
    topics: int
    named: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiped:
    """A KRaft controller that had never copied topics deleted them from ZooKeeper.

    Attributes:
        gone: those that are not back.
    """

    controller: int
    gone: Vanished


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataLost:
    """What the metadata log of a cluster without ZooKeeper had when another log replaced it.

    Attributes:
        at_ms: the timestamp of the other log's first record; None: unknown.
    """

    phase: Phase
    topics: int
    partitions: int
    at_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UncleanElection:
    """A partition got a leader that was not in its ISR: acknowledged records may be lost.

    Attributes:
        broker: the leader.
        isr: the ISR before the election, as text.
        at_ms: the timestamp of its record; None: before the snapshot that was read.
    """

    topic: str
    partition: int
    broker: int
    isr: str
    at_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSummary:
    """One cluster at one metadata offset.

    Attributes:
        metadata_log: number of the cluster's metadata log that is followed, counted from 1:
            controllers that are newly provisioned after a rollback begin another one.
        metadata_offset: its last observed record, including no-op records; None before the first.
        observed_ms: that record's timestamp.
        unknown_records: number of records of an unknown type that were skipped.
        contradiction: the first record that contradicted the state and was skipped, as a sentence;
            None: none.
        zookeeper: last known state; None: ZooKeeper is not followed.
        disks: last known state; None: the disks are not followed.
        content: the last comparison of ZooKeeper's content with the metadata log.
        places: the last comparison of the logs on the disks with the metadata log.
        under_replicated: number of partitions with a replica that is not in the ISR; None: unknown.
        leaderless: number of partitions without a leader; None: unknown.
        reassigning: number of partitions with replicas that are being added or removed; None:
            unknown.
        controllers: by id; None: unknown.
        wiped: topics that a quorum without a copy deleted from ZooKeeper; None: none.
        metadata_lost: lost with an earlier metadata log; None: nothing.
        unclean: the latest unclean elections, newest last.
        jmx: the nodes' last known JMX numbers; None: they are not followed.
        migration_state_ms: the time of the first ZkMigrationStateRecord with the present state, or
            an earlier one (`migration.image.phases.MigrationState`).
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
    metadata_lost: MetadataLost | None = None
    unclean: tuple[UncleanElection, ...] = ()
    jmx: JmxImage | None = None
    migration_state_ms: int | None = None
    contradiction: str | None = None

    def broker(self, id_: int | None) -> BrokerSummary | None:
        """Return a broker of the cluster; None: neither the log nor ZooKeeper has it."""
        return next((each for each in self.brokers if each.id == id_), None)

    @property
    def broker_disks(self) -> Mapping[int, BrokerDisks]:
        """The disks of each broker that was polled."""
        return {} if self.disks is None else self.disks.brokers

    def directory_ids(self) -> dict[int, dict[str, Identity]]:
        """Return the id of each path whose id is certain, by broker and path."""
        files = identify((), DisksImage(brokers=self.broker_disks))
        by_path = {(each.broker, each.path): each for each in (*files, *self.places.identities)}
        found: dict[int, dict[str, Identity]] = {}
        for each in certain(by_path.values()):
            found.setdefault(each.broker, {})[each.path] = each
        return found

    def replicas_on_disk(self, broker: int) -> int | None:
        """Return the number of replicas on a broker's disks at its last answer; None: unknown."""
        disks = self.broker_disks.get(broker)
        if disks is None or disks.answered_ms is None or disks.unreachable is not None:
            return None
        return sum(each.replicas for each in disks.log_dirs)

    @property
    def known_phase(self) -> Phase | None:
        """The phase; None: the metadata log was not read, which alone shows how far a migration is.

        Without it only ZooKeeper can show that none has begun.
        """
        seen = self.zookeeper
        before = seen is not None and seen.seen_ms is not None and not seen.has_migration
        return self.phase if before or self.metadata_offset is not None else None

    @property
    def rolls_back(self) -> bool:
        """Whether a broker went from KRaft mode back to migration mode, and others may follow."""
        return self.phase is Phase.HYBRID and any(each.reverted for each in self.brokers)

    @property
    def copied_ms(self) -> int | None:
        """When the copy was completed, or earlier (`migration_state_ms`).

        None: it is not, or ZooKeeper is not used any more.
        """
        is_copied = self.phase in (Phase.HYBRID, Phase.DUAL_WRITE)
        return (self.migration_state_ms or 0) if is_copied else None

    @property
    def ends_migration(self) -> tuple[int, ...]:
        """The controllers without the migration, any of which ends it once it leads (KAFKA-20960).

        There is no copy before each voter has the migration enabled (QuorumFeatures), so a
        registration from before the copy is of a controller that has left, which Kafka keeps.
        """
        copied_ms = self.copied_ms
        if copied_ms is None:
            return ()
        return tuple(
            each.id
            for each in self.controllers or ()
            if not each.zk_migration_ready
            and (each.registered_ms is None or each.registered_ms > copied_ms)
        )

    def stalled(self, now_ms: int, stall_after_ms: int) -> frozenset[int]:
        return frozenset(e.id for e in self.brokers if e.is_stalled(now_ms, stall_after_ms))
