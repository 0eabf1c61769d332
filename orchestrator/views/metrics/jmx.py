"""The nodes' JMX numbers as Kraftgate read them, under names independent of any exporter's rules.

A site that scrapes the nodes has these numbers already, under names that depend on the rules of its
jmx_exporter. These are the numbers that the hazards are evaluated from, with the time of reading.
"""

from types import MappingProxyType
from typing import Final

from migration.observed.jmx import JmxImage
from migration.observed.jmx_names import JmxName
from orchestrator.views.metrics.exposition import Exposition, Subject

NODE: Final = Subject("kraftgate_jmx", "cluster", "node")

_NUMBERS: Final = MappingProxyType(
    {
        str(JmxName.ZK_MIGRATION_STATE): NODE.gauge(
            "zk_migration_state",
            "ZkMigrationState: 0 none, 1 migration, 2 pre-migration, 3 post-migration, 4 "
            "ZooKeeper (a broker that uses ZooKeeper always reads 4); negative before the "
            "controller sets it.",
        ),
        str(JmxName.MIGRATING_ZK_BROKER_COUNT): NODE.gauge(
            "migrating_zk_brokers",
            "MigratingZkBrokerCount of a controller: registrations in migration mode, dead brokers"
            " included.",
        ),
        str(JmxName.ZK_WRITE_BEHIND_LAG): NODE.gauge(
            "zk_write_behind_lag_records",
            "ZkWriteBehindLag of a controller: records that are not written to ZooKeeper. It "
            "is near 0 also while every write fails.",
        ),
        str(JmxName.ACTIVE_CONTROLLER_COUNT): NODE.gauge(
            "active_controllers", "ActiveControllerCount: 1 on the active controller."
        ),
        str(JmxName.QUEUED_REPLICA_TO_DIR_ASSIGNMENTS): NODE.gauge(
            "queued_replica_to_dir_assignments",
            "QueuedReplicaToDirAssignments of a broker in KRaft mode: assignments that the"
            " controller has not confirmed.",
        ),
        str(JmxName.OFFLINE_LOG_DIRECTORY_COUNT): NODE.gauge(
            "offline_log_directories",
            "OfflineLogDirectoryCount of a broker: log directories that it took offline.",
        ),
    }
)
_READ: Final = NODE.gauge("read_timestamp_seconds", "When the node's numbers were last read.")
_SILENT: Final = NODE.gauge(
    "silent_since_timestamp_seconds",
    "Since when the node's numbers cannot be read. Only while that lasts.",
)
_CONTRADICTIONS: Final = NODE.gauge(
    "contradictions",
    "Numbers of the node that contradict other sources in two readings.",
)


def tell_jmx(into: Exposition, cluster: str, image: JmxImage) -> None:
    """Add each node's numbers; for a node that cannot be read now, only since when."""
    lasting = [each.node for each in image.contradictions if each.lasting]
    for node in image.nodes.values():
        at = (cluster, node.id)
        into.time(_READ, node.read_ms, *at)
        into.time(_SILENT, node.unreachable_since_ms, *at)
        if node.read_ms is None or node.unreachable is not None:
            continue
        into.value(_CONTRADICTIONS, lasting.count(node.id), *at)
        for name, metric in _NUMBERS.items():
            into.value(metric, node.numbers.get(name), *at)
