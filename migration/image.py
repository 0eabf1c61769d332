"""The image of one cluster: brokers, counts of replicas by broker and directory, phase, provenance.

The per-replica truth is in the shards (`migration.shard`); the image joins their reports with the
cluster-wide records, in metadata order. An image is a value: `migration.advance` makes the next.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from migration.brokers import Broker
from migration.compared import Comparing
from migration.directory_ids import PENDING, DirectoryId, to_text
from migration.disks import DisksImage
from migration.partitions import classify
from migration.phases import MigrationState, phase_of
from migration.replica_state import ReplicaState
from migration.shard import Stamped
from migration.summary import BrokerSummary, ClusterSummary, Mode, Phase
from migration.zookeeper import ZkController, ZooKeeperImage


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Up to where the log is known (MetadataProvenance): the last record seen."""

    offset: int
    epoch: int
    timestamp_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterImage:
    """One cluster at one metadata offset.

    Attributes:
        provenance: None before the first record.
        held_back: cluster-wide records of an open transaction, in order.
        directories: broker -> directory -> number of replicas in it, never zero.
        pending_shards: broker -> shards in which replicas of it are pending.
        unknown_records: api key -> how many were skipped.
        zookeeper: as last seen; None: it is not followed.
        disks: as last seen; None: they are not followed.
        content: comparisons of ZooKeeper's content with the metadata log.
        places: comparisons of what lies on the disks with the same.
    """

    provenance: Provenance | None = None
    migration_state: MigrationState = field(default_factory=MigrationState)
    held_back: tuple[Stamped, ...] = ()
    active_controller: int | None = None
    metadata_version: int | None = None
    topics: int = 0
    partitions: int = 0
    brokers: Mapping[int, Broker] = field(default_factory=dict)
    directories: Mapping[int, Mapping[DirectoryId, int]] = field(default_factory=dict)
    pending_shards: Mapping[int, frozenset[int]] = field(default_factory=dict)
    unknown_records: Mapping[int, int] = field(default_factory=dict)
    zookeeper: ZooKeeperImage | None = None
    disks: DisksImage | None = None
    content: Comparing = field(default_factory=Comparing)
    places: Comparing = field(default_factory=Comparing)

    @property
    def phase(self) -> Phase:
        """Where the migration stands."""
        return phase_of(self.migration_state, self.brokers.values(), self.zk_controller)

    @property
    def zk_controller(self) -> ZkController | None:
        """Who holds /controller, as last seen."""
        return None if self.zookeeper is None else self.zookeeper.controller

    def pending(self, broker: int) -> int:
        """The broker's replicas without a real directory id."""
        counts = self.directories.get(broker, {})
        return sum(counts.get(each, 0) for each in PENDING)


def broker_summary(image: ClusterImage, broker: Broker) -> BrokerSummary:
    """Tell one broker of the image."""
    replicas = dict.fromkeys(ReplicaState, 0)
    online = frozenset(broker.log_dirs)
    for directory, count in image.directories.get(broker.id, {}).items():
        replicas[classify(directory, online)] += count
    unfenced, complete = broker.unfenced, broker.complete
    return BrokerSummary(
        id=broker.id,
        epoch=broker.epoch,
        mode=broker.mode,
        fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        held=broker.held,
        log_dirs=tuple(to_text(each) for each in broker.log_dirs),
        replicas=replicas,
        registered_offset=broker.registered.offset,
        registered_ms=broker.registered.timestamp_ms or None,
        unfenced_offset=unfenced.offset if unfenced else None,
        unfenced_ms=unfenced.timestamp_ms if unfenced else None,
        assignments_complete_offset=complete.offset if complete else None,
        assignments_complete_ms=complete.timestamp_ms if complete else None,
        unfenced_early=broker.early.told() if broker.early else None,
        progress=broker.progress,
        gone=broker.gone.told() if broker.gone else None,
    )


def only_in_zookeeper(broker: int) -> BrokerSummary:
    """Tell a broker that has registered nowhere but in ZooKeeper."""
    return BrokerSummary(
        id=broker,
        epoch=None,
        mode=Mode.ZOOKEEPER,
        fenced=False,
        in_controlled_shutdown=False,
        held=False,
        log_dirs=(),
        replicas=dict.fromkeys(ReplicaState, 0),
        registered_offset=None,
        registered_ms=None,
        unfenced_offset=None,
        unfenced_ms=None,
        assignments_complete_offset=None,
        assignments_complete_ms=None,
        unfenced_early=None,
        progress=None,
    )


def summarize(cluster: str, image: ClusterImage) -> ClusterSummary:
    """Tell the whole image, brokers in the order of their ids."""
    at = image.provenance
    brokers = {each.id: broker_summary(image, each) for each in image.brokers.values()}
    for each in image.zookeeper.brokers if image.zookeeper else ():
        brokers.setdefault(each, only_in_zookeeper(each))
    return ClusterSummary(
        cluster=cluster,
        metadata_offset=at.offset if at else None,
        observed_ms=at.timestamp_ms if at else None,
        leader_epoch=at.epoch if at else None,
        active_controller=image.active_controller,
        phase=image.phase,
        metadata_version=image.metadata_version,
        topics=image.topics,
        partitions=image.partitions,
        unknown_records=sum(image.unknown_records.values()),
        brokers=tuple(brokers[each] for each in sorted(brokers)),
        zookeeper=image.zookeeper,
        disks=image.disks,
        content=image.content.last,
        places=image.places.last,
    )
