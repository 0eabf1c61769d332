"""Metrics of the brokers' log directories, as last described by a broker or read on its host."""

from typing import Final

from migration.observed.log_dirs import BrokerDisks, LogDirState, log_dir_state
from orchestrator.views.metrics.exposition import Exposition, Subject

DISKS: Final = Subject("kraftgate_broker", "cluster", "broker")
LOG_DIR: Final = Subject("kraftgate_log_dir", "cluster", "broker", "log_dir")

_COUNT: Final = DISKS.gauge(
    "log_dirs",
    "Log directories by state. Unknown: the broker does not answer, and Kraftgate "
    "does not run on its host.",
    "state",
)
_TOLD: Final = DISKS.gauge(
    "log_dirs_told_timestamp_seconds",
    "When the broker last described its log directories; at least once a minute while it answers.",
)
_SILENT: Final = DISKS.gauge(
    "log_dirs_silent_since_timestamp_seconds",
    "Since when the broker does not describe its log directories. Only while that lasts.",
)
_ONLINE: Final = LOG_DIR.gauge("online", "Whether the directory can be used.")
_REPLICAS: Final = LOG_DIR.gauge(
    "replicas", "Replicas in the directory, without those that are being moved into it."
)
_SIZE: Final = LOG_DIR.gauge("size_bytes", "The size of the logs of these replicas.")
_VOLUME: Final = LOG_DIR.gauge("volume_bytes", "The size of the directory's volume.")
_USABLE: Final = LOG_DIR.gauge("volume_usable_bytes", "The usable space of that volume.")


def tell_log_dirs(into: Exposition, cluster: str, disks: BrokerDisks) -> None:
    """Add the directories of one broker; sizes only for current data of online directories."""
    at = (cluster, disks.id)
    into.time(_TOLD, disks.answered_ms, *at)
    into.time(_SILENT, disks.unreachable_since_ms, *at)
    states = {each.path: log_dir_state(each, disks) for each in disks.log_dirs}
    for state in LogDirState if states else ():
        into.value(_COUNT, sum(each is state for each in states.values()), *at, state)
    for each in disks.log_dirs:
        state = states[each.path]
        if state is not LogDirState.UNKNOWN:
            into.value(_ONLINE, state is LogDirState.ONLINE, *at, each.path)
        if state is LogDirState.ONLINE and disks.unreachable is None:
            into.value(_REPLICAS, each.replicas, *at, each.path)
            into.value(_SIZE, each.bytes, *at, each.path)
            into.value(_VOLUME, each.total_bytes, *at, each.path)
            into.value(_USABLE, each.usable_bytes, *at, each.path)
