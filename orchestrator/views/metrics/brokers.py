"""The metrics of one broker or node: registration, hold, replicas, ETA, directories, JMX."""

from collections.abc import Sequence
from typing import Final

from migration.assessment.eta import Eta, NoEstimate, rate_per_second
from migration.assessment.failed_directories import DirectoryFailed, state_of
from migration.image.summary import BrokerSummary, Mode
from migration.metadata.replica_state import ReplicaState
from migration.observed.jmx import JmxImage
from migration.observed.jmx_names import JmxName
from migration.observed.log_dirs import BrokerDisks, LogDirState
from orchestrator.run.assessed import Assessed
from orchestrator.views.metrics.exposition import Exposition, Metric, Subject

BROKER: Final = Subject("kraftgate_broker", "cluster", "broker")
REPLICAS: Final = Subject("kraftgate", "cluster", "broker")
ALL: Final = Subject("kraftgate", "cluster")

_MODE: Final = BROKER.gauge("mode", "Whether the broker is in this mode.", "mode")
_FENCED: Final = BROKER.gauge("fenced", "Whether the controllers fence the broker.")
_SHUTTING_DOWN: Final = BROKER.gauge(
    "in_controlled_shutdown",
    "Whether the broker reported a controlled shutdown to the controllers.",
)
_REGISTERED: Final = BROKER.gauge(
    "registered_timestamp_seconds", "When the broker last registered with the controllers."
)
_LOG_DIRS: Final = BROKER.gauge(
    "registered_log_dirs", "Log directories that the broker's registration names as online."
)
_UNFENCED: Final = BROKER.gauge(
    "unfenced_timestamp_seconds", "When the broker was first unfenced after its registration."
)
_HELD: Final = BROKER.gauge(
    "held", "Whether the broker is held: registered in KRaft mode, with pending replicas."
)
_HELD_SINCE: Final = BROKER.gauge(
    "held_since_timestamp_seconds", "When the hold began. Only while the broker is held."
)
_PROGRESS: Final = BROKER.gauge(
    "last_progress_timestamp_seconds",
    "When a replica of a held broker last got its directory; before the first one, "
    "when the hold began. Only while the broker is held.",
)
_COMPLETE: Final = BROKER.gauge(
    "assignments_complete_timestamp_seconds",
    "When the broker's last pending replica got its directory after the KRaft registration.",
)
_EARLY: Final = BROKER.gauge(
    "unfenced_early", "Whether the broker is unfenced although it is held."
)
_EARLY_PENDING: Final = BROKER.gauge(
    "unfenced_early_pending_replicas",
    "Pending replicas when Kafka unfenced the broker early, after its latest registration.",
)
_EARLY_SECONDS: Final = BROKER.gauge(
    "unfenced_early_duration_seconds",
    "Time that the broker was unfenced until each of these replicas had a directory.",
)
_UNDER_REPLICATED: Final = BROKER.gauge(
    "under_replicated_partitions", "Partitions of which the broker is a replica and not in the ISR."
)
_REPLICAS: Final = REPLICAS.gauge(
    "replicas", "The broker's replicas by the state of their directory.", "state"
)


def add_broker(
    into: Exposition, cluster: str, broker: BrokerSummary, *, knows_partitions: bool
) -> None:
    """Add the metrics of one broker.

    `knows_partitions`: whether the metadata log is authoritative for replicas.
    """
    at = (cluster, broker.id)
    into.state(_MODE, broker.mode, Mode, *at)
    if broker.epoch is None:
        return  # it is in /brokers/ids, but not registered with the controllers
    into.value(_FENCED, broker.fenced, *at)
    into.value(_SHUTTING_DOWN, broker.in_controlled_shutdown, *at)
    into.time(_REGISTERED, broker.registered_ms, *at)
    into.value(_LOG_DIRS, len(broker.log_dirs), *at)
    into.time(_UNFENCED, broker.unfenced_ms, *at)
    if not knows_partitions:
        return
    for state in ReplicaState:
        into.value(_REPLICAS, broker.replicas[state], *at, state)
    into.value(_UNDER_REPLICATED, broker.under_replicated, *at)
    _add_hold(into, broker, at)


def _add_hold(into: Exposition, broker: BrokerSummary, at: tuple[str, int]) -> None:
    early = broker.unfenced_early
    into.value(_HELD, broker.held, *at)
    into.value(_EARLY, broker.is_unfenced_early, *at)
    if broker.held:
        into.time(_HELD_SINCE, broker.held_since_ms, *at)
        into.time(_PROGRESS, broker.last_progress_ms, *at)
    into.time(_COMPLETE, broker.assignments_complete_ms, *at)
    if early is not None:
        into.value(_EARLY_PENDING, early.pending, *at)
        into.time(_EARLY_SECONDS, early.duration_ms, *at)


_RATE: Final = BROKER.gauge(
    "assigned_replicas_per_second",
    "Replicas of a held broker that got their directory, per second, over the latest "
    "steps of its progress. Only while the broker is held.",
)
_BROKER_ETA: Final = BROKER.gauge(
    "eta_timestamp_seconds",
    "Estimated time at which the last replica of a held broker has its directory; "
    "`bound` is the estimate, or an end of the interval that nine of ten such "
    "estimates keep to. Absent without a rate, for stale data, or if the broker is "
    "stalled.",
    "bound",
)
_ETA: Final = ALL.gauge(
    "eta_timestamp_seconds",
    "Estimated time at which no broker is held. Absent unless every held broker has an estimate.",
    "bound",
)


def add_etas(into: Exposition, one: Assessed) -> None:
    """Add the rates and estimates of the held brokers, and the estimate for all."""
    etas = one.assessment.etas
    for broker in one.summary.brokers:
        if broker.id in etas:
            into.value(_RATE, rate_per_second(broker), one.name, broker.id)
            _add_eta(into, _BROKER_ETA, etas[broker.id], one.now_ms, one.name, broker.id)
    _add_eta(into, _ETA, one.assessment.eta, one.now_ms, one.name)


def _add_eta(
    into: Exposition, metric: Metric, eta: Eta | None, now_ms: int, *labels: object
) -> None:
    if eta is None or isinstance(eta, NoEstimate):
        return
    bounds = {"expected": eta.seconds, "earliest": eta.low, "latest": eta.high}
    for bound, seconds in bounds.items():
        into.value(metric, now_ms / 1000 + seconds, *labels, bound)


LOG_DIR: Final = Subject("kraftgate_log_dir", "cluster", "broker", "log_dir")

_DIRS: Final = BROKER.gauge(
    "log_dirs",
    "Log directories by state. Unknown: the source is not current, or the broker does not "
    "answer and Kraftgate does not run on its host.",
    "state",
)
_DIRS_DESCRIBED: Final = BROKER.gauge(
    "log_dirs_told_timestamp_seconds",
    "When the broker last described its log directories; at least once a minute while it answers.",
)
_DIRS_SILENT: Final = BROKER.gauge(
    "log_dirs_silent_since_timestamp_seconds",
    "Since when the broker does not describe its log directories. Only while that lasts.",
)
_ONLINE: Final = LOG_DIR.gauge("online", "Whether the directory can be used.")
_DIR_REPLICAS: Final = LOG_DIR.gauge(
    "replicas", "Replicas in the directory, without those that are being moved into it."
)
_SIZE: Final = LOG_DIR.gauge("size_bytes", "The size of the logs of these replicas.")
_VOLUME: Final = LOG_DIR.gauge("volume_bytes", "The size of the directory's volume.")
_USABLE: Final = LOG_DIR.gauge("volume_usable_bytes", "The usable space of that volume.")


def add_log_dirs(
    into: Exposition, cluster: str, disks: BrokerDisks, failed: Sequence[DirectoryFailed]
) -> None:
    """Add the directories of one broker; sizes only for current data of online directories.

    Of a broker that never described its directories, only those that failed are counted.
    """
    at = (cluster, disks.id)
    into.time(_DIRS_DESCRIBED, disks.answered_ms, *at)
    into.time(_DIRS_SILENT, disks.unreachable_since_ms, *at)
    states = {each.path: state_of(each, disks, failed) for each in disks.log_dirs}
    counts = {each: list(states.values()).count(each) for each in LogDirState if states}
    if states or failed:
        counts[LogDirState.OFFLINE] = len(failed)
    for state, count in counts.items():
        into.value(_DIRS, count, *at, state)
    for each in disks.log_dirs:
        state = states[each.path]
        if state is not LogDirState.UNKNOWN:
            into.value(_ONLINE, state is LogDirState.ONLINE, *at, each.path)
        if state is LogDirState.ONLINE and disks.unreachable is None:
            into.value(_DIR_REPLICAS, each.replicas, *at, each.path)
            into.value(_SIZE, each.bytes, *at, each.path)
            into.value(_VOLUME, each.total_bytes, *at, each.path)
            into.value(_USABLE, each.usable_bytes, *at, each.path)


NODE: Final = Subject("kraftgate_jmx", "cluster", "node")

_NUMBERS: Final = {
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
_READ: Final = NODE.gauge("read_timestamp_seconds", "When the node's numbers were last read.")
_SILENT: Final = NODE.gauge(
    "silent_since_timestamp_seconds",
    "Since when the node's numbers cannot be read. Only while that lasts.",
)
_CONTRADICTIONS: Final = NODE.gauge(
    "contradictions",
    "Numbers of the node that contradict other sources in two readings.",
)


def add_jmx(into: Exposition, cluster: str, image: JmxImage) -> None:
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
