"""What a rule reads: one cluster at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from migration.assessment.conditions import DataSource, View
from migration.assessment.conditions.authority import is_seen_now, zookeeper_rules
from migration.image.summary import ClusterSummary
from migration.observed.source_status import STALE_AFTER_MS, SourceStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkSeen:
    """Where the walk through the runbook stands.

    Attributes:
        at_ms: when it said so.
        checkpoint: None: it has ended.
        asks: what a person must decide about its step; None: nothing.
        violated: its conditions that will not come to hold without a person, in words.
    """

    at_ms: int
    checkpoint: str | None
    asks: str | None = None
    violated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One cluster at one moment.

    Attributes:
        view: What is known of it, and what of that is the present.
        sources: What each source that is configured says of itself.
        phase_began_ms: When the phase that it is in began; None: not known.
        walk: None: no runbook is walked.
    """

    view: View
    sources: Mapping[DataSource, SourceStatus] = field(default_factory=dict)
    phase_began_ms: int | None = None
    walk: WalkSeen | None = None

    @property
    def cluster(self) -> str:
        """Its name."""
        return self.summary.cluster

    @property
    def summary(self) -> ClusterSummary:
        """What is known of it."""
        return self.view.summary

    @property
    def now_ms(self) -> int:
        """The moment, by the wall clock."""
        return self.view.now_ms

    def is_current(self, source: DataSource) -> bool | None:
        """Whether a source shows the present; None: it is not configured, or the cluster's no more.

        What `kraftgate_source_current` tells.
        """
        return is_seen_now(self.view, source) if source in self.sources else None

    @property
    def log_is_current(self) -> bool:
        """Whether the metadata log shows the present."""
        return self.is_current(DataSource.METADATA_LOG) is True

    @property
    def log_decides(self) -> bool:
        """Whether what the metadata log does not show any more is over."""
        return self.log_is_current or zookeeper_rules(self.view)

    @property
    def walk_is_current(self) -> bool:
        """Whether the walk, if there is one, has said lately where it stands."""
        return self.walk is None or self.now_ms - self.walk.at_ms <= STALE_AFTER_MS
