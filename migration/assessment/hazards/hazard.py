"""One hazard: its name for scripts and alerts, its texts for an operator, and its sources.

The effect of a source that is not current:

- **A recorded fact** (a directory is offline, `/migration` exists): it remains a hazard while its
  source is not current, because only a newer fact can end it. Its evidence then states since when
  the source is not current. The absence of such a fact proves nothing then: gates stay closed.
- **Silence** (nothing was written, or confirmed, for some time): it is a hazard only while the
  source is current, and was observed without a gap for that time. Facts from before a restart,
  compared with the clock after it, prove no silence. The rule that derives it checks that itself.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum, auto
from typing import Final, Self

from migration.assessment.currency import Currency
from migration.assessment.data_source import SOURCE_WORDS, DataSource
from migration.values import evidence
from migration.values.severity import Severity
from migration.values.timestamps import utc_text


class Action(StrEnum):
    """The action that a hazard blocks."""

    RESTART = "restart"
    MIGRATE = "migrate"
    FINALIZE = "finalize"


_CRITICAL: Final = Severity.CRITICAL
_WARNING: Final = Severity.WARNING
_NOTHING: Final = ()
_RESTART: Final = (Action.RESTART,)
_MIGRATE: Final = (Action.MIGRATE,)
_FINALIZE: Final = (Action.FINALIZE,)
_LOG: Final = (DataSource.METADATA_LOG,)
_ZOOKEEPER: Final = (DataSource.ZOOKEEPER,)
_DISKS: Final = (DataSource.LOG_DIRS,)
_JMX: Final = (DataSource.JMX,)


class HazardKind(StrEnum):
    """The kind of a hazard; the name stays when the text changes. In order of importance.

    Attributes:
        severity: of each hazard of this kind.
        blocks: the actions that a hazard of this kind can block; empty: it reports damage or a
            state.
        sources: those that date its evidence; empty for a hazard that records past damage.
    """

    severity: Severity
    blocks: tuple[Action, ...]
    sources: tuple[DataSource, ...]

    def __new__(
        cls,
        value: str,
        severity: Severity = Severity.CRITICAL,
        blocks: tuple[Action, ...] = (),
        sources: tuple[DataSource, ...] = (),
    ) -> Self:
        """Make a member whose value is `value`."""
        kind = str.__new__(cls, value)
        kind._value_ = value
        kind.severity, kind.blocks, kind.sources = severity, blocks, sources
        return kind

    RECORDS_LOST = auto(), _CRITICAL
    METADATA_LOST = auto(), _CRITICAL, _RESTART
    ZOOKEEPER_WIPED = auto(), _CRITICAL, _RESTART
    REPLICAS_RECREATED = auto(), _CRITICAL
    FINALIZED_TOO_EARLY = auto(), _CRITICAL
    RESTART_LOSES_REPLICAS = auto(), _CRITICAL, _RESTART, _DISKS
    HALTED_IN_MIGRATION = auto(), _WARNING, _RESTART, _DISKS
    BROKER_SHUTS_DOWN = auto(), _WARNING, _NOTHING, (*_DISKS, *_LOG)
    STALE_MIGRATION_ZNODE = auto(), _CRITICAL, (Action.MIGRATE, Action.RESTART), _ZOOKEEPER
    CONTROLLER_ENDS_MIGRATION = auto(), _CRITICAL, (Action.RESTART, Action.FINALIZE), _LOG
    DIRECTORY_FAILED_UNDER_PENDING = auto(), _CRITICAL, _RESTART, _LOG
    REPLICA_NOT_ON_DISK = auto(), _CRITICAL, _FINALIZE, (*_DISKS, *_LOG)
    CONTENT_DIFFERS = auto(), _CRITICAL, _FINALIZE, (*_ZOOKEEPER, *_LOG)
    DUAL_WRITE_STUCK = auto(), _CRITICAL, _FINALIZE, (*_ZOOKEEPER, *_LOG)
    ASSIGNMENT_QUEUE_FLAT = auto(), _WARNING, _FINALIZE, (*_JMX, *_LOG)
    DIRECTORY_IDS = auto(), _CRITICAL, _RESTART, _DISKS
    METADATA_VERSION = auto(), _CRITICAL, _MIGRATE, _LOG
    LOG_DIRS_NOT_REGISTERED = auto(), _CRITICAL, _FINALIZE, _LOG
    UNFENCED_EARLY = auto(), _WARNING, _RESTART, _LOG
    REPLICA_MISPLACED = auto(), _WARNING, (Action.FINALIZE, Action.RESTART), (*_DISKS, *_LOG)
    REPLICA_NOT_IN_METADATA = auto(), _WARNING, _NOTHING, (*_DISKS, *_LOG)
    FUTURE_REPLICA_STUCK = auto(), _WARNING, _NOTHING, _DISKS
    ONE_DIRECTORY_LEFT = auto(), _WARNING, _NOTHING, _DISKS
    JMX_CONTRADICTS = auto(), _WARNING, (Action.FINALIZE, Action.RESTART), _JMX
    FINALIZE_TOO_EARLY = auto(), _WARNING, _FINALIZE, _LOG


@dataclass(frozen=True, slots=True, kw_only=True)
class Hazard:
    """One hazard.

    Attributes:
        broker: the broker that it concerns, if any.
        text: one sentence: the problem and its consequence.
        evidence: the named facts behind it; first an entry for each source that is not current.
        way_out: the remedy.
        elects: whether the remedy restarts the active controller, so that another one is elected.
        since_ms: since when, as precisely as known.
        deadline_ms: when what it announces happens at the latest; None: it announces nothing.
        counted: number of facts; 0: all of them are in `evidence`.
        actions: those to avoid while it is active; None: the first one that its kind can block.
        is_due: whether it is dangerous now; False: only when the step that it blocks is near.
            Conditions see both; screens, metrics, alerts and the audit trail show only due hazards.
    """

    kind: HazardKind
    broker: int | None = None
    text: str
    evidence: tuple[str, ...]
    way_out: str
    since_ms: int | None = None
    deadline_ms: int | None = None
    counted: int = 0
    actions: tuple[Action, ...] | None = None
    is_due: bool = True
    elects: bool = False

    @property
    def severity(self) -> Severity:
        return self.kind.severity

    @property
    def _blocked(self) -> tuple[Action, ...]:
        return self.kind.blocks[:1] if self.actions is None else self.actions

    @property
    def blocks(self) -> Action | None:
        """The action to avoid while it is active; None: it reports damage or a state."""
        return next(iter(self._blocked), None)

    @property
    def also_blocks(self) -> Action | None:
        """Another one, if there are two."""
        return next(iter(self._blocked[1:]), None)

    def forbids(self, action: Action | str) -> bool:
        """Return whether the hazard forbids the action while it is active."""
        return action in self._blocked

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


def dated(hazard: Hazard, currency: Currency) -> Hazard:
    """Return the hazard; its evidence begins with each source that is not current."""
    stale = [each for each in hazard.kind.sources if not currency.is_current(each)]
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
