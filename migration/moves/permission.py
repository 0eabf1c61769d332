"""What forbids a move on a broker: its mode, its hold, and hazards that the move would worsen.

A move deletes the log in the source directory at its end, and in KRaft mode it ends only when the
controller has recorded the new directory (KIP-858). So it needs a broker whose directories the
controller knows, and must not change the evidence of a loss before an operator has examined it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from migration.assessment.hazards import Hazard, HazardKind
from migration.image.summary import ClusterSummary, Mode
from migration.observed.probed import Maybe, Unknown

WORSENED: Final[Mapping[HazardKind, str | None]] = {
    HazardKind.RECORDS_LOST: None,
    HazardKind.METADATA_LOST: "the controllers do not know the partitions' logs",
    HazardKind.ZOOKEEPER_WIPED: "the brokers' logs are the only copy of what ZooKeeper lost",
    HazardKind.REPLICAS_RECREATED: "a partition may have two logs, and a move deletes one",
    HazardKind.FINALIZED_TOO_EARLY: None,
    HazardKind.RESTART_LOSES_REPLICAS: None,
    HazardKind.HALTED_IN_MIGRATION: "the broker's next start recreates replicas",
    HazardKind.BROKER_SHUTS_DOWN: "the broker does not reach the controllers",
    HazardKind.STALE_MIGRATION_ZNODE: None,
    HazardKind.CONTROLLER_ENDS_MIGRATION: None,
    HazardKind.DIRECTORY_FAILED_UNDER_PENDING: "replicas have no known directory",
    HazardKind.REPLICA_NOT_ON_DISK: "a log is not where the metadata log has it",
    HazardKind.CONTENT_DIFFERS: None,
    HazardKind.DUAL_WRITE_STUCK: None,
    HazardKind.ASSIGNMENT_QUEUE_FLAT: "the controller does not record new directories",
    HazardKind.DIRECTORY_IDS: "the controller would record a doubtful directory",
    HazardKind.METADATA_VERSION: "the controller does not record directories at this version",
    HazardKind.LOG_DIRS_NOT_REGISTERED: "the controllers do not know the broker's directories",
    HazardKind.UNFENCED_EARLY: "replicas have no known directory",
    HazardKind.REPLICA_MISPLACED: "a log is not where the metadata log has it",
    HazardKind.REPLICA_NOT_IN_METADATA: None,
    HazardKind.FUTURE_REPLICA_STUCK: "a move of this broker does not end",
    HazardKind.ONE_DIRECTORY_LEFT: None,
    HazardKind.JMX_CONTRADICTS: None,
    HazardKind.FINALIZE_TOO_EARLY: None,
}
"""Why a move would worsen a hazard of its broker, or of the cluster; None: it would not.

With one healthy directory left, draining a directory that still answers stays allowed, and so does
a move while a restart would lose replicas: it takes replicas away from the fault.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """Whether the moves of a broker may happen: both are empty if they may.

    Attributes:
        forbidden: the reasons against them.
        unknown: what would have to be known.
    """

    forbidden: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def permission(
    broker: int,
    mode: Maybe[Mode],
    summary: ClusterSummary | None,
    hazards: Iterable[Hazard],
    not_known: Iterable[str],
) -> Permission:
    """Return whether replicas may move between the directories of a broker now.

    Args:
        broker: Its id.
        mode: By its own settings.
        summary: Of the cluster; None: nothing was observed yet.
        hazards: The due hazards of the cluster.
        not_known: Why a source is not current that would show a hazard or a hold.
    """
    forbidden: list[str] = []
    unknown = list(not_known)
    registered = None if summary is None else summary.broker(broker)
    modes = {registered.mode} if registered else set()
    if isinstance(mode, Unknown):
        unknown.append(f"the mode of broker {broker}: {mode.why}")
    else:
        modes.add(mode)
    if Mode.MIGRATING in modes:
        forbidden.append(
            f"broker {broker} is in migration mode: a directory that fails halts the broker,"
            " and the controller does not record its directories"
        )
    if registered and registered.held:
        forbidden.append(f"broker {broker} is held: not all its replicas have a known directory")
    if registered is None and mode is Mode.KRAFT:
        unknown.append(f"whether broker {broker} is held: `kraftgate run` has not observed it")
    for each in hazards:
        reason = WORSENED[each.kind]
        if reason is not None and each.broker in (None, broker):
            forbidden.append(f"hazard {each.kind}: {each.text} ({reason})")
    return Permission(forbidden=tuple(forbidden), unknown=tuple(unknown))
