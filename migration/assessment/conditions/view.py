"""The input of conditions and alerts: one cluster at one moment, and what is not current."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from migration.assessment.data_source import FOLLOWED, DataSource
from migration.assessment.failed_directories import DirectoryFailed, failed_directories
from migration.assessment.finding import Finding
from migration.assessment.hazards import Hazard, due
from migration.image.summary import ClusterSummary, Mode
from migration.observed.probed import Voter
from migration.observed.source_status import (
    NO_STATUS,
    STALE_AFTER_MS,
    SourceStatus,
    controllers_now_ms,
)

STEP_NEEDS_DECISION: Final = "KraftgateStepNeedsDecision"
"""The alert of an execution that asks (`Execution.asks`), and the topic of its page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicsSeen:
    """The brokers' data about all partitions (Metadata), in ZooKeeper and in KRaft mode.

    Attributes:
        at_ms: time of the poll.
        partitions: number of partitions, including internal topics.
        under_replicated: number of partitions with a replica that is not in the ISR.
        missing: broker -> number of partitions with a replica on it that is not in the ISR; no
            zeros.
        alone: broker -> number of partitions with several replicas whose only one in the ISR is on
            it; no zeros.
        leaderless: number of partitions without a leader.
        reassigning: number of partitions with an open reassignment; None: unknown.
        controller: the controller by the same answer; arbitrary under a KRaft controller.
        odd: number of partitions with a replica that is not in the ISR, or without a leader.
        named: descriptions of some of those.
    """

    at_ms: int
    partitions: int
    under_replicated: int = 0
    missing: Mapping[int, int] = field(default_factory=dict)
    alone: Mapping[int, int] = field(default_factory=dict)
    leaderless: int = 0
    reassigning: int | None = None
    controller: int | None = None
    odd: int = 0
    named: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsSeen:
    """Each broker's mode according to its own settings (DescribeConfigs).

    Attributes:
        modes: of the brokers that answered.
        silent: broker -> why it did not answer.
        listeners: broker -> its `LISTENER_SETTINGS`, for the texts of steps.
        log_dirs: broker -> its log directories, in the order of its setting, likewise.
    """

    at_ms: int
    modes: Mapping[int, Mode]
    silent: Mapping[int, str] = field(default_factory=dict)
    listeners: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    log_dirs: Mapping[int, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumSeen:
    """The metadata quorum (DescribeQuorum), as its leader reports it.

    Attributes:
        leader: None: none of the polled controllers leads.
        voters: empty if no leader answered.
        refused: endpoints on a reachable host where no process listens.
        silent: the other endpoints that did not answer -> why.
        answering: number of endpoints that answered.
        settings: the leader's `QUORUM_SETTINGS`, for the texts of steps; empty: unknown.
    """

    at_ms: int
    leader: int | None
    epoch: int | None = None
    high_watermark: int | None = None
    voters: tuple[Voter, ...] = ()
    refused: tuple[str, ...] = ()
    silent: Mapping[str, str] = field(default_factory=dict)
    answering: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSeen:
    """A check before the window that blocks, is unknown, or warns."""

    id: str
    text: str
    is_unknown: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PreflightSeen:
    """The result of the checks before the window.

    Attributes:
        checks: number of checks.
        blocking: those that block, also because their result is unknown.
        warning: those that warn and do not block.
    """

    at_ms: int
    checks: int
    blocking: tuple[CheckSeen, ...] = ()
    warning: tuple[CheckSeen, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """The execution of a runbook, as far as an assessment depends on it.

    Attributes:
        at_ms: when the orchestrator recorded it.
        checkpoint: None: the execution has ended, is between two, or is of another runbook than the
            orchestrator has.
        outcome: how it ended; None: it is in progress.
        path: the rollback in progress; None: no rollback.
        asks: why it does not continue without an operator's decision; None: it needs none.
        violated: descriptions of its conditions that need an operator.
        place: where it is, "checkpoint 6 of 9, broker 2 of 3".
        turn: what an operator must do now, as a sentence; "": nothing.
        why: the cause of `turn`.
        commands: that `turn` needs, complete, the most likely first.
        shown: the instructions, if `turn` is a step by hand that may be begun now.
        holds: why it does not continue, the most severe reason first.
        findings: of the guards or the gate.
        finalize_is_near: whether the checkpoint that finalizes is in progress or next; None: no
            checkpoint decides it.
        finalize_is_in_progress: whether that checkpoint is in progress or passed; None as above.
        controllers_stop: whether its step that stops the controllers was begun, or is passed.
        in_zookeeper_mode: the brokers whose settings said so, with the time of that poll (ms).
    """

    at_ms: int
    checkpoint: str | None
    outcome: str | None = None
    path: str | None = None
    asks: str | None = None
    violated: tuple[str, ...] = ()
    finalize_is_near: bool | None = None
    finalize_is_in_progress: bool | None = None
    controllers_stop: bool = False
    place: str = ""
    turn: str = ""
    why: str = ""
    commands: tuple[str, ...] = ()
    shown: str | None = None
    holds: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    in_zookeeper_mode: Mapping[int, int] = field(default_factory=dict)

    @property
    def whereabouts(self) -> str:
        """The checkpoint, with its place."""
        checkpoint = self.checkpoint or "an unknown checkpoint"
        return f"{checkpoint} ({self.place})" if self.place else checkpoint

    def is_recent(self, now_ms: int) -> bool:
        """Return whether the orchestrator still records the execution."""
        return abs(now_ms - self.at_ms) <= STALE_AFTER_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One cluster at one moment.

    Attributes:
        stall_after_ms: a held broker without progress for longer needs an operator.
        not_current: a source -> why it is not current (stale, not configured, not polled yet); an
            absent source is current.
        configured: the followed sources in the configuration.
        sources: the followed sources' own reports; absent: none.
        hazards: of `summary`, at `now_ms`; including those that are not due.
        topics: None: the brokers were not polled.
        settings: None: the brokers were not polled.
        quorum: None: the controllers were not polled.
        preflight: None: the checks did not run.
        external: the results of the users' own conditions, by name.
        phase_began_ms: when the phase began; None: unknown.
        phase_seen_ms: when a metadata snapshot showed the phase, which has lasted since then; None:
            none did.
        store_since_ms: when the store got its first event, by the wall clock; None: it has none.
        execution: None: no runbook is executed.
        satisfied_since_ms: since when all other conditions of the same gate have held without a
            break; None: they do not hold. For `soak`.
        rolls_back: whether brokers in KRaft mode restart in migration mode next, in a rollback.
        stalled: the brokers that are held and make no progress.
        failed: the failed log directories.
    """

    summary: ClusterSummary
    now_ms: int
    stall_after_ms: int
    not_current: Mapping[DataSource, str]
    configured: frozenset[DataSource] = frozenset(FOLLOWED)
    sources: Mapping[DataSource, SourceStatus] = field(default_factory=dict)
    hazards: tuple[Hazard, ...] = ()
    topics: TopicsSeen | None = None
    settings: SettingsSeen | None = None
    quorum: QuorumSeen | None = None
    preflight: PreflightSeen | None = None
    external: Mapping[str, Finding] = field(default_factory=dict)
    phase_began_ms: int | None = None
    phase_seen_ms: int | None = None
    store_since_ms: int | None = None
    execution: Execution | None = None
    satisfied_since_ms: int | None = None
    rolls_back: bool = False
    stalled: frozenset[int] = field(init=False)
    failed: tuple[DirectoryFailed, ...] = field(init=False)

    def __post_init__(self) -> None:
        found = self.summary.stalled(self.log_now_ms, self.stall_after_ms)
        object.__setattr__(self, "stalled", found)
        object.__setattr__(self, "failed", failed_directories(self.summary))

    @property
    def log_now_ms(self) -> int:
        """The present by the controllers' clock, for the age of what a record says."""
        return controllers_now_ms(self.status(DataSource.METADATA_LOG), self.now_ms)

    @property
    def cluster(self) -> str:
        return self.summary.cluster

    @property
    def due_hazards(self) -> tuple[Hazard, ...]:
        """The due hazards: those that are shown, measured, alerted and recorded."""
        return due(self.hazards)

    @property
    def active_controller(self) -> int | None:
        """The leader of the metadata quorum by its last answer; without one, by the metadata log.

        None: the quorum knows no leader, or a snapshot began the log and nothing was answered.
        """
        answered = self.status(DataSource.METADATA_LOG)
        return (self.summary if answered.leader_epoch is None else answered).active_controller

    def status(self, source: DataSource) -> SourceStatus:
        return self.sources.get(source, NO_STATUS)
