"""Makes the snapshot of every cluster at each tick and assesses it; no other module does.

Every consumer formats the assessments of a `Tick`, and none evaluates again.
"""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial

from migration.assessment.alerts import AlertStates
from migration.assessment.assess import Assessment, Snapshot, assess
from migration.assessment.conditions import Execution, Verdict
from migration.assessment.data_source import DataSource
from migration.assessment.polled import NOT_POLLED, Polled
from migration.image.summary import BrokerSummary, ClusterSummary, Mode
from migration.metadata.replica_state import ReplicaState
from migration.observed.log_dirs import BrokerDisks
from migration.observed.source_status import STALE_AFTER_MS, SourceStatus, behind
from orchestrator.audit import AuditLog
from orchestrator.config.load import Config
from orchestrator.config.models import ClusterEntry
from orchestrator.config.state_dir import not_followed
from orchestrator.run import alert_file
from orchestrator.run.execution_status import ExecutionStatus
from orchestrator.run.reader import ClusterRead, Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessed:
    """One cluster at one tick."""

    entry: ClusterEntry
    read: ClusterRead
    assessment: Assessment = field(compare=False)

    @property
    def name(self) -> str:
        return self.summary.cluster

    @property
    def now_ms(self) -> int:
        """The time of the tick, by the wall clock."""
        return self.assessment.now_ms

    @property
    def summary(self) -> ClusterSummary:
        return self.read.summary

    @property
    def disks(self) -> Mapping[int, BrokerDisks]:
        """The disks of each broker; while their source is not current, as if no broker answered."""
        disks = self.summary.broker_disks
        why = self.assessment.currency.not_current.get(DataSource.LOG_DIRS)
        return disks if why is None else {id_: _silent(each, why) for id_, each in disks.items()}

    @property
    def leader_epoch(self) -> int | None:
        """The leader epoch of the metadata quorum: by its last answer, or else by the log."""
        answered = self.read.status.leader_epoch
        return self.summary.leader_epoch if answered is None else answered

    @property
    def configured(self) -> Mapping[DataSource, SourceStatus]:
        """The status that each configured source reports."""
        return {
            source: each.status
            for source, each in self.assessment.sources.items()
            if source in self.assessment.snapshot.configured
        }

    @property
    def unread(self) -> Mapping[DataSource, int]:
        """How many records or facts of each source the store does not include yet."""
        found = {
            source: max(0, journal.last - journal.read)
            for source, journal in self.read.journals.items()
            if journal.last is not None
        }
        if self.read.status.high_watermark is not None:
            found[DataSource.METADATA_LOG] = behind(self.read.status, self.summary.metadata_offset)
        return found


def _silent(disks: BrokerDisks, why: str) -> BrokerDisks:
    log_dirs = tuple(each._replace(readable=None) for each in disks.log_dirs)
    return replace(disks, unreachable=disks.unreachable or why, log_dirs=log_dirs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """The assessments of all clusters, in the configuration's order.

    Attributes:
        at_ms: the time of the tick, by the wall clock.
    """

    at_ms: int
    clusters: tuple[Assessed, ...]

    @property
    def alerts(self) -> Mapping[str, AlertStates]:
        return {each.entry.name: each.assessment.alerts for each in self.clusters}

    def cluster(self, name: str) -> Assessed:
        return next(each for each in self.clusters if each.entry.name == name)


class Assessor:
    """Assesses all configured clusters, tick by tick.

    Attributes:
        polled: returns the latest answers of the polled sources of a cluster.
        not_followed: returns why no source is current although its report is recent: no
            `kraftgate run` is running. None: one is, or that is unknown.
        starting_since_ms: returns since when a `kraftgate run` starts; None: none does now.
    """

    def __init__(self, config: Config, reader: Reader, log: AuditLog | None = None) -> None:
        """Read the stored alert states of every cluster; from `log` if their file was lost."""
        self._config = config
        self._options = shlex.join(config.option)
        self._reader = reader
        self._alerts = {
            each.name: alert_file.read(
                alert_file.file_of(config, each.name),
                tuple if log is None else partial(log.entries, each.name),
            )
            for each in config.clusters
        }
        self.polled: Callable[[str], Polled] = lambda _: NOT_POLLED
        self.not_followed: Callable[[], str | None] = partial(not_followed, config.state_dir)
        self.starting_since_ms: Callable[[int], int | None] = lambda _: None

    def tick(self, now_ms: int) -> Tick:
        """Read and assess every cluster once.

        Raises:
            FollowingError: the store cannot be read.
        """
        found = self._reader.read(now_ms)
        not_followed = self.not_followed()
        starting_since_ms = self.starting_since_ms(now_ms)
        clusters = []
        for entry, one in zip(self._config.clusters, found, strict=True):
            snapshot = replace(
                snapshot_of(entry, one, now_ms, stall_after_ms=self._config.stall_after_ms),
                not_followed=not_followed,
                polled=self.polled(entry.name),
                alerts=self._alerts[entry.name],
                options=self._options,
            )
            if starting_since_ms is not None:
                old_ms = max(starting_since_ms, now_ms - STALE_AFTER_MS)
                before = {
                    each for each in snapshot.configured if one.sources[each].observed_ms <= old_ms
                }
                snapshot = replace(snapshot, resuming=frozenset(before))
            assessment = assess(snapshot)
            self._alerts[entry.name] = assessment.alerts
            clusters.append(Assessed(entry=entry, read=one, assessment=assessment))
        return Tick(at_ms=now_ms, clusters=tuple(clusters))


def snapshot_of(
    entry: ClusterEntry, one: ClusterRead, now_ms: int, *, stall_after_ms: int
) -> Snapshot:
    """Return the snapshot of what was read of one cluster; other fields have their defaults."""
    return Snapshot(
        summary=one.summary,
        now_ms=now_ms,
        stall_after_ms=stall_after_ms,
        configured=configured_sources(entry),
        sources=one.sources,
        journals=one.journals,
        resuming=one.resuming,
        phase_began_ms=one.tally.phase_began_ms(one.summary.phase),
        phase_seen_ms=one.tally.phase_seen_ms(one.summary.phase),
        store_since_ms=one.tally.since_ms,
        execution=None if one.execution is None else _execution(one.execution),
    )


def configured_sources(entry: ClusterEntry) -> frozenset[DataSource]:
    """Return the followed sources that the configuration names."""
    named = (
        (DataSource.METADATA_LOG, entry.controllers),
        (DataSource.ZOOKEEPER, entry.zookeeper),
        (DataSource.LOG_DIRS, entry.brokers),
        (DataSource.JMX, entry.jmx),
    )
    return frozenset(source for source, given in named if given is not None)


def _execution(execution: ExecutionStatus) -> Execution:
    findings = tuple(each.finding() for each in execution.findings)
    violated = tuple(
        f"{each.condition}: {each.reason}" for each in findings if each.verdict is Verdict.VIOLATED
    )
    same = {each.name for each in fields(Execution)} - {"findings", "violated"}
    copied = {name: getattr(execution, name) for name in same}
    return Execution(**copied, findings=findings, violated=violated)


def is_in_order(broker: BrokerSummary, *, has_failed: bool) -> bool:
    """Return whether a broker needs no attention; one that has not migrated yet needs none.

    `has_failed`: it has a failed log directory.
    """
    return all(_calm(broker, has_failed))


def urgency(broker: BrokerSummary, *, has_failed: bool) -> int:
    """Return the rank of a broker by its need of attention.

    0 first: held, unreachable replicas, a failed directory, fenced, not yet in KRaft mode, the
    rest.
    """
    calm = (*_calm(broker, has_failed), broker.mode is Mode.KRAFT)
    return sum(each << place for place, each in enumerate(reversed(calm)))


def _calm(broker: BrokerSummary, has_failed: bool) -> tuple[bool, ...]:
    unreachable = broker.replicas[ReplicaState.OFFLINE] + broker.replicas[ReplicaState.LOST]
    return not broker.held, not unreachable, not has_failed, not broker.fenced
