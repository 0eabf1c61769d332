"""One hazard: its name for scripts and alerts, and its texts for an operator."""

import enum
from collections.abc import Iterable
from dataclasses import dataclass

from migration.values import evidence
from migration.values.severity import Severity


class HazardKind(enum.StrEnum):
    """The kind of a hazard; the name stays when the text changes. In order of importance."""

    RECORDS_LOST = "records_lost"
    ZOOKEEPER_WIPED = "zookeeper_wiped"
    REPLICAS_RECREATED = "replicas_recreated"
    FINALIZED_TOO_EARLY = "finalized_too_early"
    RESTART_LOSES_REPLICAS = "restart_loses_replicas"
    HALTED_IN_MIGRATION = "halted_in_migration"
    STALE_MIGRATION_ZNODE = "stale_migration_znode"
    DIRECTORY_FAILED_UNDER_PENDING = "directory_failed_under_pending"
    REPLICA_NOT_ON_DISK = "replica_not_on_disk"
    CONTENT_DIFFERS = "content_differs"
    DUAL_WRITE_STUCK = "dual_write_stuck"
    ASSIGNMENT_QUEUE_FLAT = "assignment_queue_flat"
    DIRECTORY_IDS = "directory_ids"
    METADATA_VERSION = "metadata_version"
    UNFENCED_EARLY = "unfenced_early"
    REPLICA_MISPLACED = "replica_misplaced"
    REPLICA_NOT_IN_METADATA = "replica_not_in_metadata"
    FUTURE_REPLICA_STUCK = "future_replica_stuck"
    ONE_DIRECTORY_LEFT = "one_directory_left"
    JMX_CONTRADICTS = "jmx_contradicts"
    FINALIZE_TOO_EARLY = "finalize_too_early"


class Action(enum.StrEnum):
    """The action that a hazard blocks."""

    RESTART = "restart"
    MIGRATE = "migrate"
    FINALIZE = "finalize"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hazard:
    """One hazard.

    Attributes:
        blocks: the action to avoid while it is active; None: it reports damage or a state.
        broker: the broker that it concerns, if any.
        text: one sentence: the problem and its consequence.
        evidence: the named facts behind it; first an entry for each source that is not current.
        way_out: the remedy.
        since_ms: since when, as precisely as known.
        counted: number of facts; 0: all of them are in `evidence`.
        is_due: whether it is dangerous now; False: only when the step that it blocks is near.
            Conditions see both; screens, metrics, alerts and the audit trail show only due hazards.
    """

    kind: HazardKind
    severity: Severity
    blocks: Action | None
    broker: int | None = None
    text: str
    evidence: tuple[str, ...]
    way_out: str
    since_ms: int | None = None
    counted: int = 0
    is_due: bool = True

    @property
    def evidence_total(self) -> int:
        """The number of facts behind it, named or not."""
        return evidence.total_of(self.evidence, self.counted)

    @property
    def shown(self) -> tuple[str, ...]:
        """The facts to show, and the number of further ones."""
        return evidence.bounded(self.evidence, self.counted)


def due(found: Iterable[Hazard]) -> tuple[Hazard, ...]:
    """Return the due hazards, which are dangerous now."""
    return tuple(each for each in found if each.is_due)
