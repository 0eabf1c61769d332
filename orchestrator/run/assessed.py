"""The assessments of one tick, which every consumer formats and none evaluates again."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from migration.assessment.assess import Assessment
from migration.assessment.currency import Currency
from migration.assessment.data_source import DataSource
from migration.assessment.hazards import Hazard
from migration.assessment.waits import Wait
from migration.image.summary import BrokerSummary, ClusterSummary, Mode
from migration.metadata.events import Event
from migration.metadata.replica_state import ReplicaState
from migration.observed.source_status import SourceStatus, behind
from orchestrator.config.models import ClusterEntry
from orchestrator.run.cluster_read import ClusterRead, Tally
from orchestrator.run.execution_status import ExecutionStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessed:
    """One cluster at one tick."""

    entry: ClusterEntry
    read: ClusterRead
    assessment: Assessment = field(compare=False)

    @property
    def name(self) -> str:
        """The cluster's name."""
        return self.summary.cluster

    @property
    def now_ms(self) -> int:
        """The time of the tick, by the wall clock."""
        return self.assessment.now_ms

    @property
    def summary(self) -> ClusterSummary:
        """The summary of the image at this tick."""
        return self.read.summary

    @property
    def events(self) -> tuple[tuple[int, Event], ...]:
        """The events that this tick read, oldest first, with their sequence numbers."""
        return self.read.events

    @property
    def tally(self) -> Tally:
        """Its events so far."""
        return self.read.tally

    @property
    def status(self) -> SourceStatus:
        """The status that the source of the metadata log reports."""
        return self.read.status

    @property
    def active_controller(self) -> int | None:
        """The leader of the metadata quorum: by its last answer, or else by the metadata log."""
        answered = self.status.active_controller
        return self.summary.active_controller if answered is None else answered

    @property
    def leader_epoch(self) -> int | None:
        """The leader epoch of the metadata quorum, from the same sources."""
        answered = self.status.leader_epoch
        return self.summary.leader_epoch if answered is None else answered

    @property
    def execution(self) -> ExecutionStatus | None:
        """The execution of the runbook; None: there is none."""
        return self.read.execution

    @property
    def currency(self) -> Currency:
        """Which sources are current."""
        return self.assessment.currency

    @property
    def hazards(self) -> tuple[Hazard, ...]:
        """The active hazards."""
        return self.assessment.hazards

    @property
    def waits(self) -> tuple[Wait, ...]:
        """What the migration waits for, apart from the runbook's checkpoint."""
        return self.assessment.waits

    @property
    def configured(self) -> Mapping[DataSource, SourceStatus]:
        """The status that each configured source reports."""
        return {
            source: status
            for source, status in self.read.sources.items()
            if source in self.assessment.snapshot.configured
        }

    @property
    def unread(self) -> Mapping[DataSource, int]:
        """How many records or facts of each source the store does not include yet."""
        found = {
            DataSource(name): max(0, journal.last - journal.read)
            for name, journal in self.read.journals.items()
            if journal.last is not None
        }
        if self.status.high_watermark is not None:
            found[DataSource.METADATA_LOG] = behind(self.status, self.summary.metadata_offset)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """The assessments of all clusters, in the configuration's order.

    Attributes:
        at_ms: the time of the tick, by the wall clock.
    """

    at_ms: int
    clusters: tuple[Assessed, ...]

    def cluster(self, name: str) -> Assessed:
        """Return the assessment of one configured cluster."""
        return next(each for each in self.clusters if each.entry.name == name)


def urgency(broker: BrokerSummary) -> int:
    """Return the rank of a broker by its need of attention.

    0 first: held, offline replicas, fenced, not yet in KRaft mode, the rest.
    """
    offline = broker.replicas[ReplicaState.OFFLINE] + broker.replicas[ReplicaState.LOST]
    calm = (not broker.held, not offline, not broker.fenced, broker.mode is Mode.KRAFT)
    return sum(each << place for place, each in enumerate(reversed(calm)))
