"""The input of a rule: one cluster at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from migration.assessment.conditions import DataSource, View
from migration.assessment.conditions.authority import is_zookeeper_authoritative
from migration.assessment.execution import Execution
from migration.image.summary import ClusterSummary
from migration.observed.source_status import NO_STATUS, STALE_AFTER_MS, SourceStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertFacts:
    """One cluster at one moment.

    Attributes:
        view: of the cluster.
        sources: the followed sources' own reports.
        current: of `Assessment`; the values of `kraftgate_source_current`.
        phase_began_ms: when its phase began; None: unknown.
        execution: None: no runbook is executed.
    """

    view: View
    sources: Mapping[DataSource, SourceStatus] = field(default_factory=dict)
    current: Mapping[DataSource, bool | None] = field(default_factory=dict)
    phase_began_ms: int | None = None
    execution: Execution | None = None

    @property
    def cluster(self) -> str:
        """The cluster's name."""
        return self.summary.cluster

    @property
    def summary(self) -> ClusterSummary:
        """The image of the cluster."""
        return self.view.summary

    @property
    def now_ms(self) -> int:
        """The time of the snapshot, by the wall clock."""
        return self.view.now_ms

    def status(self, source: DataSource) -> SourceStatus:
        """Return a source's own report."""
        return self.sources.get(source, NO_STATUS)

    def is_current(self, source: DataSource) -> bool | None:
        """Return whether a source is current; None: not configured, or no longer in use."""
        return self.current.get(source)

    @property
    def log_is_current(self) -> bool:
        """Whether the metadata log is current."""
        return self.is_current(DataSource.METADATA_LOG) is True

    @property
    def log_decides(self) -> bool:
        """Whether a condition that the metadata log does not show is known not to hold."""
        return self.log_is_current or is_zookeeper_authoritative(self.view)

    @property
    def execution_is_current(self) -> bool:
        """Whether the execution, if there is one, was recorded recently."""
        return self.execution is None or self.now_ms - self.execution.at_ms <= STALE_AFTER_MS
