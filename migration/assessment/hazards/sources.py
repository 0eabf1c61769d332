"""The sources of each kind of hazard, and the effect of a source that is not current.

- **A recorded fact** (a directory is offline, `/migration` exists): it remains a hazard while its
  source is not current, because only a newer fact can end it. Its evidence then states since when
  the source is not current. The absence of such a fact proves nothing then: gates hold.
- **Silence** (nothing was written, or confirmed, for some time): it is a hazard only while the
  source is current, and was observed without a gap for that time. Facts from before a restart,
  compared with the clock after it, prove no silence. The rule that derives it checks that itself.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from migration.assessment.currency import Currency
from migration.assessment.data_source import SOURCE_WORDS, DataSource
from migration.assessment.hazards.hazard import Hazard, HazardKind
from migration.values.timestamps import iso

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
    HazardKind.STALE_MIGRATION_ZNODE: (_ZOOKEEPER,),
    HazardKind.DIRECTORY_FAILED_UNDER_PENDING: (_LOG,),
    HazardKind.REPLICA_NOT_ON_DISK: (_DISKS,),
    HazardKind.CONTENT_DIFFERS: (_ZOOKEEPER,),
    HazardKind.DUAL_WRITE_STUCK: (_ZOOKEEPER, _LOG),
    HazardKind.ASSIGNMENT_QUEUE_FLAT: (_JMX, _LOG),
    HazardKind.DIRECTORY_IDS: (_DISKS,),
    HazardKind.METADATA_VERSION: (_LOG,),
    HazardKind.UNFENCED_EARLY: (_LOG,),
    HazardKind.REPLICA_MISPLACED: (_DISKS,),
    HazardKind.REPLICA_NOT_IN_METADATA: (_DISKS,),
    HazardKind.FUTURE_REPLICA_STUCK: (_DISKS,),
    HazardKind.ONE_DIRECTORY_LEFT: (_DISKS,),
    HazardKind.JMX_CONTRADICTS: (_JMX,),
    HazardKind.FINALIZE_TOO_EARLY: (_LOG,),
}
"""The sources whose facts show a hazard; empty for a hazard that records past damage."""


def is_end_known(kind: str, currency: Currency) -> bool:
    """Return whether an absent hazard of this kind has ended; False: its source is stale.

    `kind`: may be one that an earlier version recorded and this version does not know.
    """
    return all(map(currency.is_current, SOURCES.get(kind, ())))


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
    answered = "" if last_ms is None else f", last answer {iso(last_ms)}"
    words, why = SOURCE_WORDS[source], currency.not_current[source]
    return f"not current, as last known: {words}{answered} ({why})"
