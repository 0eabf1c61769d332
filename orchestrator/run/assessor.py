"""Makes the snapshot of every cluster at each tick and assesses it; no other module does."""

from collections.abc import Callable

from migration.assessment.alerts import NO_ALERTS, AlertStates
from migration.assessment.assess import Snapshot, assess
from migration.assessment.conditions import Execution, Verdict
from migration.assessment.data_source import DataSource
from migration.assessment.polled import NOT_POLLED, Polled
from orchestrator.config.load import Config
from orchestrator.config.models import ClusterEntry
from orchestrator.run import alert_file
from orchestrator.run.assessed import Assessed, Tick
from orchestrator.run.cluster_read import ClusterRead
from orchestrator.run.execution_status import ExecutionStatus
from orchestrator.run.reader import Reader


class Assessor:
    """Assesses all configured clusters, tick by tick.

    Attributes:
        polled: returns the latest answers of the polled sources of a cluster.
        not_followed: returns why no source is current although its status reports that it is (no
            `kraftgate run` is running); None: one is running, or that is unknown.
    """

    def __init__(self, config: Config, reader: Reader) -> None:
        """Read the stored alert states of every cluster."""
        self._config = config
        self._reader = reader
        self._alerts = {
            each.name: alert_file.read(alert_file.file_of(config, each.name))
            for each in config.clusters
        }
        self.polled: Callable[[str], Polled] = lambda _: NOT_POLLED
        self.not_followed: Callable[[], str | None] = lambda: None

    def tick(self, now_ms: int) -> Tick:
        """Read and assess every cluster once.

        Raises:
            FollowingError: the store cannot be read.
        """
        found = self._reader.read(now_ms)
        not_followed = self.not_followed()
        clusters = []
        for entry, one in zip(self._config.clusters, found, strict=True):
            snapshot = snapshot_of(
                entry,
                one,
                now_ms,
                stall_after_ms=self._config.stall_after_ms,
                not_followed=not_followed,
                polled=self.polled(entry.name),
                alerts=self._alerts[entry.name],
            )
            assessment = assess(snapshot)
            self._alerts[entry.name] = assessment.alerts
            clusters.append(Assessed(entry=entry, read=one, assessment=assessment))
        return Tick(at_ms=now_ms, clusters=tuple(clusters))


def snapshot_of(
    entry: ClusterEntry,
    one: ClusterRead,
    now_ms: int,
    *,
    stall_after_ms: int,
    not_followed: str | None = None,
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
        resuming=one.resuming,
        polled=polled,
        phase_began_ms=one.tally.phase_began_ms(one.summary.phase),
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
