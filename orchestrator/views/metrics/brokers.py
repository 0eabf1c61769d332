"""The metrics of one broker: its registration, its hold, its replicas by directory state."""

from typing import Final

from migration.image.holds import is_unfenced_early, last_progress_ms
from migration.image.summary import BrokerSummary, Mode
from migration.metadata.replica_state import ReplicaState
from orchestrator.views.metrics.exposition import Exposition, Subject

BROKER: Final = Subject("kraftgate_broker", "cluster", "broker")
REPLICAS: Final = Subject("kraftgate", "cluster", "broker")

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
    "when the broker registered. Only while the broker is held.",
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
    "Time from the early unfencing until each of these replicas had a directory.",
)
_UNDER_REPLICATED: Final = BROKER.gauge(
    "under_replicated_partitions", "Partitions of which the broker is a replica and not in the ISR."
)
_REPLICAS: Final = REPLICAS.gauge(
    "replicas", "The broker's replicas by the state of their directory.", "state"
)


def tell_broker(
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
    _tell_hold(into, broker, at)


def _tell_hold(into: Exposition, broker: BrokerSummary, at: tuple[str, int]) -> None:
    early = broker.unfenced_early
    into.value(_HELD, broker.held, *at)
    into.value(_EARLY, is_unfenced_early(broker), *at)
    if broker.held:
        into.time(_HELD_SINCE, broker.registered_ms, *at)
        into.time(_PROGRESS, last_progress_ms(broker), *at)
    into.time(_COMPLETE, broker.assignments_complete_ms, *at)
    if early is not None:
        into.value(_EARLY_PENDING, early.pending, *at)
        into.time(_EARLY_SECONDS, early.duration_ms, *at)
