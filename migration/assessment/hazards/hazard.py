"""One hazard: its name for scripts and alerts, its texts for an operator, and its sources.

The effect of a source that is not current:

- **A recorded fact** (a directory is offline, `/migration` exists): it remains a hazard while its
  source is not current, because only a newer fact can end it. Its evidence then states since when
  the source is not current. The absence of such a fact proves nothing then: gates stay closed.
- **Silence** (nothing was written, or confirmed, for some time): it is a hazard only while the
  source is current, and was observed without a gap for that time. Facts from before a restart,
  compared with the clock after it, prove no silence. The rule that derives it checks that itself.
"""

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from migration.assessment.currency import Currency
from migration.assessment.data_source import SOURCE_WORDS, DataSource
from migration.values import evidence
from migration.values.severity import Severity
from migration.values.timestamps import utc_text


class HazardKind(enum.StrEnum):
    """The kind of a hazard; the name stays when the text changes. In order of importance."""

    RECORDS_LOST = "records_lost"
    ZOOKEEPER_WIPED = "zookeeper_wiped"
    REPLICAS_RECREATED = "replicas_recreated"
    FINALIZED_TOO_EARLY = "finalized_too_early"
    RESTART_LOSES_REPLICAS = "restart_loses_replicas"
    HALTED_IN_MIGRATION = "halted_in_migration"
    BROKER_SHUTS_DOWN = "broker_shuts_down"
    STALE_MIGRATION_ZNODE = "stale_migration_znode"
    DIRECTORY_FAILED_UNDER_PENDING = "directory_failed_under_pending"
    REPLICA_NOT_ON_DISK = "replica_not_on_disk"
    CONTENT_DIFFERS = "content_differs"
    DUAL_WRITE_STUCK = "dual_write_stuck"
    ASSIGNMENT_QUEUE_FLAT = "assignment_queue_flat"
    DIRECTORY_IDS = "directory_ids"
    METADATA_VERSION = "metadata_version"
    LOG_DIRS_NOT_REGISTERED = "log_dirs_not_registered"
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
        also_blocks: another one, if there are two.
        broker: the broker that it concerns, if any.
        text: one sentence: the problem and its consequence.
        evidence: the named facts behind it; first an entry for each source that is not current.
        way_out: the remedy.
        since_ms: since when, as precisely as known.
        deadline_ms: when what it announces happens at the latest; None: it announces nothing.
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
    deadline_ms: int | None = None
    counted: int = 0
    is_due: bool = True
    also_blocks: Action | None = None

    def forbids(self, action: Action | str) -> bool:
        """Return whether the hazard forbids the action while it is active."""
        return action in (self.blocks, self.also_blocks)

    @property
    def action(self) -> str:
        """The first sentence of the remedy: what to do first."""
        return self.way_out.partition(". ")[0].removesuffix(".")

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


_LOG: Final = DataSource.METADATA_LOG
_ZOOKEEPER: Final = DataSource.ZOOKEEPER
_DISKS: Final = DataSource.LOG_DIRS
_JMX: Final = DataSource.JMX

SOURCES: Final[Mapping[str, tuple[DataSource, ...]]] = {
    HazardKind.RECORDS_LOST: (),
    HazardKind.ZOOKEEPER_WIPED: (),
    HazardKind.REPLICAS_RECREATED: (),
    HazardKind.FINALIZED_TOO_EARLY: (),
    HazardKind.RESTART_LOSES_REPLICAS: (_DISKS,),
    HazardKind.HALTED_IN_MIGRATION: (_DISKS,),
    HazardKind.BROKER_SHUTS_DOWN: (_DISKS, _LOG),
    HazardKind.STALE_MIGRATION_ZNODE: (_ZOOKEEPER,),
    HazardKind.DIRECTORY_FAILED_UNDER_PENDING: (_LOG,),
    HazardKind.REPLICA_NOT_ON_DISK: (_DISKS,),
    HazardKind.CONTENT_DIFFERS: (_ZOOKEEPER,),
    HazardKind.DUAL_WRITE_STUCK: (_ZOOKEEPER, _LOG),
    HazardKind.ASSIGNMENT_QUEUE_FLAT: (_JMX, _LOG),
    HazardKind.DIRECTORY_IDS: (_DISKS,),
    HazardKind.METADATA_VERSION: (_LOG,),
    HazardKind.LOG_DIRS_NOT_REGISTERED: (_LOG,),
    HazardKind.UNFENCED_EARLY: (_LOG,),
    HazardKind.REPLICA_MISPLACED: (_DISKS,),
    HazardKind.REPLICA_NOT_IN_METADATA: (_DISKS,),
    HazardKind.FUTURE_REPLICA_STUCK: (_DISKS,),
    HazardKind.ONE_DIRECTORY_LEFT: (_DISKS,),
    HazardKind.JMX_CONTRADICTS: (_JMX,),
    HazardKind.FINALIZE_TOO_EARLY: (_LOG,),
}
"""The sources that date a hazard's evidence; empty for a hazard that records past damage."""


def dated(hazard: Hazard, currency: Currency) -> Hazard:
    """Return the hazard; its evidence begins with each source that is not current."""
    stale = [each for each in SOURCES[hazard.kind] if not currency.is_current(each)]
    if not stale:
        return hazard
    lines = [_stale(each, currency) for each in stale]
    counted = hazard.counted + len(lines) if hazard.counted else 0
    return replace(hazard, evidence=(*lines, *hazard.evidence), counted=counted)


def _stale(source: DataSource, currency: Currency) -> str:
    last_ms = currency.last_ms.get(source)
    answered = "" if last_ms is None else f", last answer {utc_text(last_ms)}"
    words, why = SOURCE_WORDS[source], currency.not_current[source]
    return f"not current, as last known: {words}{answered} ({why})"
