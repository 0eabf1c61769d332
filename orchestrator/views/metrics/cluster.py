"""The metrics of one cluster: its phase, metadata log, ZooKeeper state, comparisons, events."""

from typing import Final

from migration.assessment.conditions.authority import knows_partitions, knows_phase
from migration.assessment.conditions.view import View
from migration.comparison.result import Compared
from migration.image.summary import Mode, Phase
from migration.observed.zookeeper import ZooKeeperImage
from orchestrator.run.cluster_read import Tally
from orchestrator.views.metrics.exposition import Exposition, Subject

CLUSTER: Final = Subject("kraftgate", "cluster")

_PHASE: Final = CLUSTER.gauge(
    "phase", "Whether the migration is in this phase, by the last read state.", "phase"
)
_PHASE_CHANGED: Final = CLUSTER.gauge(
    "phase_changed_timestamp_seconds", "When the current phase began."
)
_OFFSET: Final = CLUSTER.gauge(
    "metadata_offset", "The offset of the last processed record of the metadata log."
)
_HIGH_WATERMARK: Final = CLUSTER.gauge(
    "metadata_high_watermark",
    "The first offset that is not committed, as last reported by a controller.",
)
_RECORD_TIME: Final = CLUSTER.gauge(
    "metadata_record_timestamp_seconds", "The timestamp of the last processed record."
)
_LEADER_EPOCH: Final = CLUSTER.gauge(
    "metadata_leader_epoch", "The leader epoch of the last processed record."
)
_VERSION: Final = CLUSTER.gauge(
    "metadata_version_level", "The level of the finalized metadata.version."
)
_UNKNOWN_RECORDS: Final = CLUSTER.gauge(
    "metadata_unknown_records", "Records of types that this version does not know and skipped."
)
_ACTIVE_CONTROLLER: Final = CLUSTER.gauge(
    "active_controller", "1 for the controller that leads the metadata quorum.", "controller"
)
_BROKERS: Final = CLUSTER.gauge("brokers", "Known brokers by mode.", "mode")
_TOPICS: Final = CLUSTER.gauge("topics", "Topics in the metadata log.")
_PARTITIONS: Final = CLUSTER.gauge("partitions", "Partitions in the metadata log.")
_UNDER_REPLICATED: Final = CLUSTER.gauge(
    "under_replicated_partitions", "Partitions with a replica that is not in the ISR."
)
_LEADERLESS: Final = CLUSTER.gauge("leaderless_partitions", "Partitions without a leader.")
_REASSIGNING: Final = CLUSTER.gauge(
    "reassigning_partitions", "Partitions with replicas that are being added or removed."
)
_ZK_CONTROLLER: Final = CLUSTER.gauge(
    "zookeeper_controller", "Whether a KRaft controller, or a broker, holds /controller.", "holder"
)
_ZNODE_WRITTEN: Final = CLUSTER.gauge(
    "migration_znode_written_timestamp_seconds", "ZooKeeper's time of the last write of /migration."
)
_ZNODE_OFFSET: Final = CLUSTER.gauge(
    "migration_znode_offset", "The metadata offset in /migration; positive once the copy is done."
)
_COMPARED_AT: Final = CLUSTER.gauge(
    "comparison_timestamp_seconds", "When this was last compared with the metadata log.", "of"
)
_DIFFERENCES: Final = CLUSTER.gauge(
    "comparison_differences", "Differences that two comparisons found.", "of"
)
_EVENTS: Final = CLUSTER.counter(
    "events", "Events on the timeline, including earlier runs.", "kind"
)


def tell_cluster(into: Exposition, view: View, tally: Tally) -> None:
    """Add the known values of the cluster as a whole."""
    summary = view.summary
    name = summary.cluster
    if knows_phase(view):
        into.state(_PHASE, summary.phase, Phase, name)
        into.time(_PHASE_CHANGED, tally.phase_began_ms(summary.phase), name)
    if summary.metadata_offset is not None:
        into.value(_OFFSET, summary.metadata_offset, name)
        into.time(_RECORD_TIME, summary.observed_ms, name)
        into.value(_LEADER_EPOCH, summary.leader_epoch, name)
        into.value(_VERSION, summary.metadata_version, name)
        into.value(_UNKNOWN_RECORDS, summary.unknown_records, name)
        if summary.active_controller is not None:
            into.value(_ACTIVE_CONTROLLER, 1, name, summary.active_controller)
    for mode in Mode if summary.brokers else ():
        into.value(_BROKERS, sum(each.mode is mode for each in summary.brokers), name, mode)
    if knows_partitions(view):
        into.value(_TOPICS, summary.topics, name)
        into.value(_PARTITIONS, summary.partitions, name)
        into.value(_UNDER_REPLICATED, summary.under_replicated, name)
        into.value(_LEADERLESS, summary.leaderless, name)
        into.value(_REASSIGNING, summary.reassigning, name)
    if summary.zookeeper is not None:
        _tell_zookeeper(into, name, summary.zookeeper)
    _tell_comparison(into, name, "zookeeper", summary.content)
    _tell_comparison(into, name, "log_dirs", summary.places)
    for kind, count in sorted(tally.counts.items()):
        into.value(_EVENTS, count, name, kind)


def tell_high_watermark(into: Exposition, cluster: str, offset: int | None) -> None:
    """Add the high watermark of the metadata log, None if unknown."""
    into.value(_HIGH_WATERMARK, offset, cluster)


def _tell_zookeeper(into: Exposition, cluster: str, seen: ZooKeeperImage) -> None:
    if seen.controller is not None:
        kraft = seen.controller.is_kraft
        into.value(_ZK_CONTROLLER, kraft, cluster, "kraft")
        into.value(_ZK_CONTROLLER, not kraft, cluster, "zookeeper")
    if seen.migration is not None:
        into.time(_ZNODE_WRITTEN, seen.migration.written_ms, cluster)
        into.value(_ZNODE_OFFSET, seen.migration.offset, cluster)


def _tell_comparison(into: Exposition, cluster: str, of: str, found: Compared) -> None:
    if found.at_ms is not None:
        into.time(_COMPARED_AT, found.at_ms, cluster, of)
        into.value(_DIFFERENCES, sum(found.lasting.values()), cluster, of)
