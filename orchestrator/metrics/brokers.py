"""One broker: its registration, its hold, its replicas by what is known of their directory."""

from typing import Final

from migration.image.holds import last_progress_ms, serves_early
from migration.image.summary import BrokerSummary, Mode
from migration.metadata.replica_state import ReplicaState
from orchestrator.metrics.exposition import Exposition, Subject

BROKER: Final = Subject("kraftgate_broker", "cluster", "broker")
REPLICAS: Final = Subject("kraftgate", "cluster", "broker")

_MODE: Final = BROKER.gauge("mode", "Whether the broker takes part in this mode.", "mode")
_FENCED: Final = BROKER.gauge("fenced", "Whether the controllers fence the broker.")
_SHUTTING_DOWN: Final = BROKER.gauge(
    "in_controlled_shutdown", "Whether the broker told the controllers that it shuts down."
)
_REGISTERED: Final = BROKER.gauge(
    "registered_timestamp_seconds", "When the broker last registered with the controllers."
)
_LOG_DIRS: Final = BROKER.gauge(
    "registered_log_dirs", "Log directories that its registration names as online."
)
_UNFENCED: Final = BROKER.gauge(
    "unfenced_timestamp_seconds", "When it was first unfenced after it registered."
)
_HELD: Final = BROKER.gauge(
    "held", "Whether it registered in KRaft mode and has replicas without a directory since."
)
_HELD_SINCE: Final = BROKER.gauge(
    "held_since_timestamp_seconds", "Since when it is held; only while it is."
)
_PROGRESS: Final = BROKER.gauge(
    "last_progress_timestamp_seconds",
    "When a replica of a held broker last got its directory, or, before the first, when it"
    " registered; only while it is held.",
)
_COMPLETE: Final = BROKER.gauge(
    "assignments_complete_timestamp_seconds",
    "When its last replica got a directory after it registered in KRaft mode.",
)
_EARLY: Final = BROKER.gauge(
    "unfenced_early", "Whether Kafka lets the broker serve although it is held."
)
_EARLY_PENDING: Final = BROKER.gauge(
    "unfenced_early_pending_replicas",
    "Replicas without a directory when it was unfenced early, by its latest registration.",
)
_EARLY_SECONDS: Final = BROKER.gauge(
    "unfenced_early_duration_seconds", "From there until each of them had one."
)
_UNDER_REPLICATED: Final = BROKER.gauge(
    "under_replicated_partitions", "Partitions of which it is a replica and not in the ISR."
)
_REPLICAS: Final = REPLICAS.gauge(
    "replicas", "The broker's replicas by what is known of their directory.", "state"
)


def tell_broker(
    into: Exposition, cluster: str, broker: BrokerSummary, *, knows_partitions: bool
) -> None:
    """Give what is known of one broker.

    `knows_partitions`: whether the metadata log has a say about replicas.
    """
    at = (cluster, broker.id)
    into.state(_MODE, broker.mode, Mode, *at)
    if broker.epoch is None:
        return  # it is in /brokers/ids, and no controller knows it
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
    into.value(_EARLY, serves_early(broker), *at)
    if broker.held:
        into.time(_HELD_SINCE, broker.registered_ms, *at)
        into.time(_PROGRESS, last_progress_ms(broker), *at)
    into.time(_COMPLETE, broker.assignments_complete_ms, *at)
    if early is not None:
        into.value(_EARLY_PENDING, early.pending, *at)
        into.time(_EARLY_SECONDS, early.duration_ms, *at)
