"""Makes the snapshot of every cluster at each tick and assesses it; no other module does."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from migration.assessment.alerts import NO_ALERTS, AlertStates
from migration.assessment.assess import assess
from migration.assessment.conditions import Verdict
from migration.assessment.data_source import DataSource
from migration.assessment.execution import Execution
from migration.assessment.polled import NOT_POLLED, Polled
from migration.assessment.snapshot import Snapshot
from orchestrator.config.load import Config
from orchestrator.config.models import ClusterEntry
from orchestrator.run import alert_file
from orchestrator.run.assessed import Assessed, Tick
from orchestrator.run.cluster_read import STATUS_FILES, ClusterRead, Tally, read_status
from orchestrator.run.execution_status import ExecutionStatus
from orchestrator.run.reader import Reader


class Assessor:
    """Assesses all configured clusters, tick by tick.

    Attributes:
        polled: returns the latest answers of the polled sources of a cluster.
        execution: returns the execution of a cluster's runbook in this process. None: the status
            that another process recorded is used.
        not_followed: returns why no source is current although its status reports that it is (no
            `kraftgate run` is running); None: one is running, or that is unknown.
    """

    def __init__(self, config: Config, reader: Reader) -> None:
        """Read the stored alert states of every cluster."""
        self._config = config
        self._reader = reader
        self._alerts = {
            each.name: alert_file.read(
                config.state_dir / "clusters" / each.name / alert_file.ALERTS_FILE
            )
            for each in config.clusters
        }
        self._reported_before: Mapping[str, Mapping[DataSource, int]] = {}
        self.polled: Callable[[str], Polled] = lambda _: NOT_POLLED
        self.execution: Callable[[str], ExecutionStatus | None] | None = None
        self.not_followed: Callable[[], str | None] = lambda: None

    def follow_from_here(self) -> None:
        """Treat every report up to now as a report to an earlier process."""
        self._reported_before = {
            each.name: last_reports(self._config, each.name) for each in self._config.clusters
        }

    def reported_before_ms(self, cluster: str) -> int | None:
        """Return when a source last reported to an earlier process; None: no source did."""
        return max(self._reported_before.get(cluster, {}).values(), default=None)

    def tick(self, now_ms: int) -> Tick:
        """Read and assess every cluster once.

        Raises:
            FollowingError: the store cannot be read.
        """
        found = self._reader.look(now_ms)
        tallies = self._reader.tallies()
        not_followed = self.not_followed()
        return Tick(
            at_ms=now_ms,
            clusters=tuple(
                self._assessed(entry, one, tallies.get(entry.name, Tally()), now_ms, not_followed)
                for entry, one in zip(self._config.clusters, found, strict=True)
            ),
        )

    def _assessed(
        self,
        entry: ClusterEntry,
        one: ClusterRead,
        tally: Tally,
        now_ms: int,
        not_followed: str | None,
    ) -> Assessed:
        name = entry.name
        if self.execution is not None:
            one = replace(one, execution=self.execution(name))
        before = self._reported_before.get(name, {})
        snapshot = snapshot_of(
            entry,
            one,
            now_ms,
            stall_after_ms=self._config.stall_after_ms,
            tally=tally,
            not_followed=not_followed,
            resuming=frozenset(
                source
                for source, status in one.sources.items()
                if status.observed_ms == before.get(source)
            ),
            polled=self.polled(name),
            alerts=self._alerts[name],
        )
        assessment = assess(snapshot)
        self._alerts[name] = assessment.alerts
        return Assessed(entry=entry, read=one, assessment=assessment, tally=tally)


def snapshot_of(
    entry: ClusterEntry,
    one: ClusterRead,
    now_ms: int,
    *,
    stall_after_ms: int,
    tally: Tally | None = None,
    not_followed: str | None = None,
    resuming: frozenset[DataSource] = frozenset(),
    polled: Polled = NOT_POLLED,
    alerts: AlertStates = NO_ALERTS,
) -> Snapshot:
    """Return the snapshot of one cluster; the arguments are the fields of `Snapshot`."""
    return Snapshot(
        summary=one.summary,
        now_ms=now_ms,
        stall_after_ms=stall_after_ms,
        configured=configured_sources(entry),
        sources=one.sources,
        journals={DataSource(name): each for name, each in one.journals.items()},
        not_followed=not_followed,
        resuming=resuming,
        polled=polled,
        phase_began_ms=None if tally is None else tally.phase_began_ms(one.summary.phase),
        execution=None if one.execution is None else _execution(one.execution),
        alerts=alerts,
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


def last_reports(config: Config, cluster: str) -> Mapping[DataSource, int]:
    """Return when each source last reported its status (ms); one that never did is absent."""
    found = {
        source: read_status(config.state_dir, cluster, file).observed_ms
        for source, file in STATUS_FILES.items()
    }
    return {source: at_ms for source, at_ms in found.items() if at_ms}


def _execution(execution: ExecutionStatus) -> Execution:
    return Execution(
        at_ms=execution.at_ms,
        checkpoint=execution.checkpoint,
        outcome=execution.outcome,
        path=execution.path,
        asks=execution.asks,
        violated=tuple(
            f"{each.condition}: {each.reason}"
            for each in execution.findings
            if each.verdict is Verdict.VIOLATED
        ),
        finalize_is_near=execution.finalize_is_near,
    )
