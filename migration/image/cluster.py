"""The image of one cluster: brokers, replica counts by broker and directory, phase, provenance.

The state of each replica is in the shards (`migration.shard.apply`); the image joins their reports
with the cluster-wide records, in metadata order. An image is immutable: `migration.image.advance`
returns the next one.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from migration.comparison.result import Comparing
from migration.image.phases import MigrationState, phase_of
from migration.image.summary import (
    WITHOUT_ZOOKEEPER,
    BrokerSummary,
    ClusterSummary,
    ControllerSummary,
    DirectoriesGone,
    MetadataLost,
    Mode,
    Phase,
    Registered,
    UncleanElection,
    UnfencedEarly,
    Vanished,
    Wiped,
)
from migration.metadata.directory_ids import DirectoryId, is_reserved, to_text
from migration.metadata.events import Moment
from migration.metadata.partitions import classify
from migration.metadata.records import Stamped
from migration.metadata.replica_state import PENDING_STATES, ReplicaState
from migration.observed.jmx import JmxImage
from migration.observed.log_dirs import DisksImage
from migration.observed.znode_codec import ZkBroker, ZkController
from migration.observed.zookeeper import ZooKeeperImage
from migration.shard.report import Replication

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Early:
    """Unfenced while held, once or more.

    Attributes:
        at: the last such unfencing record; None: only a snapshot shows that it began, or ended.
        pending: number of pending replicas at the first one, or in the snapshot.
        until: the record that ended that time: a fencing, or the end of the hold.
        earlier_ms: the sum of the times before; None: unknown.
    """

    at: Moment | None
    pending: int
    until: Moment | None = None
    earlier_ms: int | None = 0

    @property
    def total_ms(self) -> int | None:
        """The sum of all times; None: unknown, or the last one has not ended."""
        if self.at is None or self.until is None or self.earlier_ms is None:
            return None
        return self.earlier_ms + self.until.timestamp_ms - self.at.timestamp_ms

    def summary(self, *, held: bool) -> UnfencedEarly:
        return UnfencedEarly(pending=self.pending, duration_ms=None if held else self.total_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """Log directories that are no longer registered, and were lost while replicas had no known one.

    Attributes:
        pending: number of the broker's replicas without a directory at that moment; for a snapshot:
            in it, or else before it. At a start in migration mode, those in them count, too. 0: the
            log had no replica of the broker, as before the copy.
        migrating: number of them that were `migrating`, if the broker started in KRaft mode then,
            and had all its directories before; else 0.
        assigned: number of the broker's replicas that got a directory since.
    """

    directories: tuple[DirectoryId, ...]
    pending: int
    at: Moment
    migrating: int = 0
    assigned: int = 0

    @property
    def may_be_untouched(self) -> bool:
        """Whether possibly none of the broker's replicas was recreated since.

        Those of the missing directories may have been moved to other brokers. The broker refuses
        the `migrating` ones while a directory is offline (H3), so they stay pending. If as many
        were assigned as were pending, it created them again.
        """
        return not self.pending or (self.migrating == self.pending and self.assigned < self.pending)

    def after(self, assigned: int) -> "Gone":
        """Return this after more of the broker's replicas got a directory."""
        return replace(self, assigned=self.assigned + assigned) if assigned else self

    def but(self, others: Collection[DirectoryId]) -> "Gone | None":
        left = tuple(each for each in self.directories if each not in others)
        return replace(self, directories=left) if left else None

    def summary(self) -> DirectoriesGone | None:
        """Return what may be lost; None: that start recreated nothing."""
        if not self.pending:
            return None
        return DirectoriesGone(
            directories=tuple(to_text(each) for each in self.directories),
            pending=self.pending,
            migrating=self.migrating,
            at_ms=self.at.timestamp_ms or None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker(Registered):
    """The latest registration of a broker, and its later state.

    Attributes:
        registered: the RegisterBrokerRecord; from a snapshot the timestamp is unknown (0).
        unfenced: the first unfencing since the registration; None: none was observed.
        unfenced_before: a snapshot showed the broker unfenced, so the first unfencing is unknown.
        complete: the record after which no replica was pending; None: held, or not KRaft.
        gone: directories missing from this registration, if replicas may be lost with them.
        failed: directories that failed since, while replicas had no known directory, and still have
            none.
        unregistered: each directory that it registered before, and since when it does not.
    """

    epoch: int
    incarnation: bytes
    log_dirs: tuple[DirectoryId, ...]
    registered: Moment
    unfenced: Moment | None = None
    unfenced_before: bool = False
    complete: Moment | None = None
    early: Early | None = None
    gone: Gone | None = None
    failed: Gone | None = None
    unregistered: Mapping[DirectoryId, Moment] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Controller:
    """The latest registration of a controller; Kafka 3.9 never removes one.

    Attributes:
        registered: None: before the snapshot that was read.
    """

    id: int
    incarnation: bytes
    zk_migration_ready: bool
    registered: Moment | None
    host: str | None = None

    def summary(self) -> ControllerSummary:
        at = self.registered
        return ControllerSummary(
            id=self.id,
            zk_migration_ready=self.zk_migration_ready,
            registered_offset=None if at is None else at.offset,
            registered_ms=None if at is None else at.timestamp_ms,
            host=self.host,
        )

    def in_snapshot(self, known: "Controller | None") -> "Controller":
        """Return a registration from a snapshot, which does not show when it was made."""
        same = known is not None and known.incarnation == self.incarnation
        return replace(self, registered=known.registered if same and known else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """The last record applied (MetadataProvenance)."""

    offset: int
    epoch: int
    timestamp_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterImage:
    """One cluster at one metadata offset.

    Attributes:
        log: number of the cluster's metadata log, counted from 1: newly provisioned controllers
            begin another one.
        provenance: None before the first record.
        held_back: cluster-wide records of an open transaction, in order.
        left: brokers whose registration was removed, and that have not registered since, neither
            with the controllers nor in ZooKeeper.
        departed: the last registration of each broker whose registration was removed.
        directories: broker -> directory -> number of replicas in it, never zero.
        pending_shards: broker -> shards in which it has pending replicas.
        replication: counts of under-replicated, leaderless and reassigning partitions.
        controllers: by id.
        unknown_records: api key -> number of skipped records, since the last snapshot.
        contradiction: the first record that contradicted the state, since the last snapshot, as a
            sentence; None: none.
        zookeeper: last known state; None: ZooKeeper is not followed.
        vanished: topics last deleted from ZooKeeper before the copy; None: none.
        wiped: topics that a quorum without a copy deleted from ZooKeeper; None: none.
        metadata_lost: lost with an earlier metadata log; None: nothing.
        unclean: the latest unclean elections, of earlier metadata logs, too; newest last.
        disks: last known state; None: the disks are not followed.
        content: comparisons of ZooKeeper's content with the metadata log.
        places: comparisons of the logs on the disks with the metadata log.
        jmx: the nodes' last known JMX numbers; None: they are not followed.
        assigned_ms: broker -> timestamp of the last observed record that assigned a replica of it
            to a directory.
    """

    log: int = 1
    provenance: Provenance | None = None
    migration_state: MigrationState = field(default_factory=MigrationState)
    held_back: tuple[Stamped, ...] = ()
    active_controller: int | None = None
    metadata_version: int | None = None
    topics: int = 0
    partitions: int = 0
    brokers: Mapping[int, Broker] = field(default_factory=dict)
    left: frozenset[int] = frozenset()
    departed: Mapping[int, Broker] = field(default_factory=dict)
    directories: Mapping[int, Mapping[DirectoryId, int]] = field(default_factory=dict)
    pending_shards: Mapping[int, frozenset[int]] = field(default_factory=dict)
    replication: Replication = field(default_factory=Replication)
    controllers: Mapping[int, Controller] = field(default_factory=dict)
    unknown_records: Mapping[int, int] = field(default_factory=dict)
    contradiction: str | None = None
    zookeeper: ZooKeeperImage | None = None
    vanished: Vanished | None = None
    wiped: Wiped | None = None
    metadata_lost: MetadataLost | None = None
    unclean: tuple[UncleanElection, ...] = ()
    disks: DisksImage | None = None
    content: Comparing = field(default_factory=Comparing)
    places: Comparing = field(default_factory=Comparing)
    jmx: JmxImage | None = None
    assigned_ms: Mapping[int, int] = field(default_factory=dict)

    @property
    def phase(self) -> Phase:
        return phase_of(self.migration_state, self.brokers.values(), self.zk_controller)

    @property
    def zk_controller(self) -> ZkController | None:
        """The last known holder of /controller."""
        return None if self.zookeeper is None else self.zookeeper.held_by

    def pending(self, broker: int) -> int:
        """Return the number of the broker's replicas without a real directory id."""
        counts = self.directories.get(broker, {}).items()
        return sum(each for id_, each in counts if classify(id_, frozenset()) in PENDING_STATES)


def broker_summary(image: ClusterImage, broker: Broker) -> BrokerSummary:
    replicas = dict.fromkeys(ReplicaState, 0)
    online = frozenset(broker.log_dirs)
    hosted = image.directories.get(broker.id, {})
    for directory, count in hosted.items():
        replicas[classify(directory, online)] += count
    broker = replace(broker, gone=_gone_with_replicas(image, broker))
    unfenced, complete = broker.unfenced, broker.complete
    return BrokerSummary(
        id=broker.id,
        epoch=broker.epoch,
        mode=broker.mode,
        fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        held=broker.held,
        held_before_ms=broker.held_before_ms,
        log_dirs=tuple(to_text(each) for each in broker.log_dirs),
        replicas=replicas,
        registered_offset=broker.registered.offset,
        registered_ms=broker.registered.timestamp_ms or None,
        unfenced_offset=unfenced.offset if unfenced else None,
        unfenced_ms=unfenced.timestamp_ms if unfenced else None,
        assignments_complete_offset=complete.offset if complete else None,
        assignments_complete_ms=complete.timestamp_ms if complete else None,
        unfenced_early=broker.early.summary(held=broker.held) if broker.early else None,
        progress=broker.progress,
        gone=broker.gone.summary() if broker.gone else None,
        failed=broker.failed.summary() if broker.failed else None,
        unregistered={to_text(each): ms for each, ms in _failed(broker, hosted).items()},
        host=broker.host,
        rack=broker.rack,
        supports=broker.supports,
        under_replicated=image.replication.missing.get(broker.id, 0),
        assigned_ms=image.assigned_ms.get(broker.id),
        reverted=broker.reverted,
        directories={
            to_text(each): count for each, count in hosted.items() if not is_reserved(each)
        },
    )


def _gone_with_replicas(image: ClusterImage, broker: Broker) -> Gone | None:
    """Return the lost directories, without those that are known to have had no replica."""
    disks = None if image.disks is None else image.disks.brokers.get(broker.id)
    if broker.gone is None or disks is None:
        return broker.gone
    hosted = image.directories.get(broker.id, {})
    empty = {e for e in broker.gone.directories if e not in hosted and to_text(e) in disks.empty}
    return broker.gone.but(empty)


def _failed(broker: Broker, hosted: Mapping[DirectoryId, int]) -> Mapping[DirectoryId, int | None]:
    """Return the unregistered directories that failed, and since when, if that was observed.

    A directory that was drained, and then removed while the broker was down, did not fail. Nor has
    one that an earlier start lost, if no replica is assigned to it: its disk may be replaced.
    """
    since, began = broker.unregistered, broker.registered.offset
    lost = (each for each in (broker.gone, broker.failed) if each and each.at.offset >= began)
    missing = {each for one in lost for each in one.directories}
    missing |= {each for each, at in since.items() if at.offset > began}
    if broker.log_dirs:
        missing |= {each for each in hosted if not is_reserved(each)}
    missing -= set(broker.log_dirs)
    times = {each: at.timestamp_ms or None for each, at in since.items()}
    return {each: times.get(each) for each in sorted(missing)}


def only_in_zookeeper(broker: ZkBroker) -> BrokerSummary:
    """Return the summary of a broker for which only ZooKeeper's registration counts."""
    return BrokerSummary(
        id=broker.id,
        mode=Mode.ZOOKEEPER,
        fenced=False,
        in_controlled_shutdown=False,
        held=False,
        replicas=dict.fromkeys(ReplicaState, 0),
        host=broker.host,
        rack=broker.rack,
    )


def _after_rollback(image: ClusterImage, broker: ZkBroker) -> BrokerSummary:
    """Return the summary of a broker in /brokers/ids that no controller registers any more.

    It is the process that was registered in migration mode if its znode was written while the
    controllers still wrote the log. A restart writes another znode; so does an expired session.
    """
    known, at = image.brokers.get(broker.id), image.provenance
    registered = known is not None and known.mode is Mode.MIGRATING
    gone = None if known is None else _gone_with_replicas(image, known)
    is_new = at is None or broker.since_ms > at.timestamp_ms
    return replace(
        only_in_zookeeper(broker),
        mode=Mode.MIGRATING if registered and not is_new else Mode.ZOOKEEPER,
        left_migration=registered and is_new,
        # What it recreated before the rollback remains; no registration shows the directory again.
        gone=None if gone is None else gone.summary(),
    )


def _gone(image: ClusterImage) -> frozenset[int]:
    """Return the brokers that left the cluster for good, by every source that could contradict.

    An operator unregistered them (no controller does it by itself: UnregisterBrokerRequest), or
    they ended before the copy. Their disks do not answer, and, while ZooKeeper counts, it is read
    and does not list them.
    """
    disks = image.disks.brokers if image.disks else {}
    left = image.left | _ended_before_the_copy(image)
    silent = left - {id_ for id_, each in disks.items() if each.unreachable is None}
    zookeeper = image.zookeeper
    if zookeeper is None or image.phase in WITHOUT_ZOOKEEPER:
        return silent
    is_read = zookeeper.seen_ms is not None and zookeeper.blind_since_ms is None
    if not is_read:
        return frozenset()
    return frozenset(each for each in silent if not zookeeper.lists(each))


def _ended_before_the_copy(image: ClusterImage) -> frozenset[int]:
    """Return the unregistered brokers whose last answer or report was before the copy.

    There is no copy before each broker with a replica has registered.
    """
    copied_ms = image.migration_state.since_ms
    if copied_ms is None or image.phase not in (Phase.HYBRID, Phase.DUAL_WRITE, *WITHOUT_ZOOKEEPER):
        return frozenset()
    last_ms = dict(image.zookeeper.notified) if image.zookeeper else {}
    for id_, each in (image.disks.brokers if image.disks else {}).items():
        last_ms[id_] = max(each.answered_ms or 0, last_ms.get(id_, 0))
    return frozenset(
        id_ for id_, at_ms in last_ms.items() if at_ms < copied_ms and id_ not in image.brokers
    )


def of_members(image: ClusterImage) -> ClusterImage:
    """Return the image without the disks and notifications of brokers that left for good."""
    gone, zookeeper, disks = _gone(image), image.zookeeper, image.disks
    if not gone:
        return image
    if zookeeper is not None:
        zookeeper = replace(zookeeper, notified=_without(zookeeper.notified, gone))
    if disks is not None:
        disks = replace(disks, brokers=_without(disks.brokers, gone))
    return replace(image, zookeeper=zookeeper, disks=disks)


def _without(by_broker: Mapping[int, T], gone: Collection[int]) -> Mapping[int, T]:
    return {id_: each for id_, each in by_broker.items() if id_ not in gone}


def summarize(cluster: str, image: ClusterImage) -> ClusterSummary:
    """Return the summary of the whole image, with brokers in order of id.

    After a rollback no controller writes the metadata log: for a broker that was in migration mode,
    the log shows only that mode, and only until the broker restarts.
    """
    image = of_members(image)
    at = image.provenance
    void = image.phase is Phase.ROLLED_BACK
    there = image.zookeeper.brokers if image.zookeeper else {}
    brokers = {each: only_in_zookeeper(broker) for each, broker in there.items()}
    if void:
        brokers = {each: _after_rollback(image, broker) for each, broker in there.items()}
    for each in image.brokers.values():
        if not void or (each.mode is Mode.KRAFT and each.id not in there):
            brokers[each.id] = broker_summary(image, each)
    return ClusterSummary(
        cluster=cluster,
        metadata_log=image.log,
        metadata_offset=at.offset if at else None,
        observed_ms=at.timestamp_ms if at else None,
        leader_epoch=at.epoch if at else None,
        active_controller=image.active_controller,
        phase=image.phase,
        metadata_version=image.metadata_version,
        topics=image.topics,
        partitions=image.partitions,
        unknown_records=sum(image.unknown_records.values()),
        contradiction=image.contradiction,
        brokers=tuple(brokers[each] for each in sorted(brokers)),
        zookeeper=image.zookeeper,
        disks=image.disks,
        content=image.content.last,
        places=image.places.last,
        wiped=image.wiped,
        metadata_lost=image.metadata_lost,
        unclean=image.unclean,
        under_replicated=image.replication.under_replicated if at else None,
        leaderless=image.replication.leaderless if at else None,
        reassigning=image.replication.reassigning if at else None,
        controllers=tuple(image.controllers[each].summary() for each in sorted(image.controllers))
        if at
        else None,
        jmx=image.jmx,
        migration_state_ms=image.migration_state.since_ms,
    )
