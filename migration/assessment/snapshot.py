"""One consistent read of one cluster, with its time: the whole input of an assessment."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from migration.assessment.alerts import NO_ALERTS, AlertStates
from migration.assessment.conditions.view import Execution
from migration.assessment.data_source import DataSource
from migration.assessment.polled import NOT_POLLED, Polled
from migration.image.summary import ClusterSummary
from migration.observed.source_status import NO_STATUS, SourceStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """A source's journal, and how much of it the store includes.

    Attributes:
        last: sequence number of its last fact; None: the journal cannot be read.
        read: sequence number of the last fact that the store includes.
        unread_ms: when the first fact that the store lacks was observed; None: there is none, or
            its time is unknown.
    """

    last: int | None
    read: int
    unread_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One cluster at one moment.

    Attributes:
        now_ms: the time of the snapshot, by the wall clock.
        stall_after_ms: a held broker without progress for longer is stalled.
        configured: the followed sources in the configuration.
        sources: each source's own report; absent: none.
        journals: of the sources that have one.
        not_followed: why no process updates the store, whatever the sources' reports say; None: one
            does, or that is unknown.
        resuming: sources whose last report an earlier process received.
        phase_began_ms: None: unknown.
        execution: None: no runbook is executed.
        alerts: as of the last snapshot.
    """

    summary: ClusterSummary
    now_ms: int
    stall_after_ms: int
    configured: frozenset[DataSource]
    sources: Mapping[DataSource, SourceStatus] = field(default_factory=dict)
    journals: Mapping[DataSource, Journal] = field(default_factory=dict)
    not_followed: str | None = None
    resuming: frozenset[DataSource] = frozenset()
    polled: Polled = NOT_POLLED
    phase_began_ms: int | None = None
    execution: Execution | None = None
    alerts: AlertStates = NO_ALERTS

    def status(self, source: DataSource) -> SourceStatus:
        """Return a source's own report."""
        return self.sources.get(source, NO_STATUS)
