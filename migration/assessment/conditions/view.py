"""All that a condition may look at: one cluster at one moment, and what of it is not current."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from migration.assessment.conditions.verdict import DataSource, Finding
from migration.assessment.hazards import Hazard, due
from migration.image.summary import ClusterSummary, Mode
from migration.observed.probed import Voter


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicsSeen:
    """What the brokers say of all partitions (Metadata); in ZooKeeper and in KRaft mode.

    Attributes:
        at_ms: when they were asked.
        partitions: how many there are, internal topics included.
        under_replicated: how many have a replica that is not in the ISR.
        missing: broker -> partitions of which it is a replica and not in the ISR; no zeros.
        leaderless: partitions without a leader.
        reassigning: partitions with a reassignment that has not ended; None: nobody could tell.
        odd: partitions with a replica that is not in the ISR, or without a leader.
        named: some of those, in words.
    """

    at_ms: int
    partitions: int
    under_replicated: int = 0
    missing: Mapping[int, int] = field(default_factory=dict)
    leaderless: int = 0
    reassigning: int | None = None
    odd: int = 0
    named: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsSeen:
    """How each broker is configured to take part, by its own word (DescribeConfigs).

    Attributes:
        modes: those that answered.
        silent: broker -> why it did not.
    """

    at_ms: int
    modes: Mapping[int, Mode]
    silent: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumSeen:
    """The metadata quorum (DescribeQuorum), as its leader tells it.

    Attributes:
        leader: None: none of the controllers that were asked leads.
        voters: none where no leader told.
        refused: endpoints whose host is up and at which nobody listens.
        silent: the other endpoints that gave no answer -> why.
        answering: how many gave one.
    """

    at_ms: int
    leader: int | None
    epoch: int | None = None
    high_watermark: int | None = None
    voters: tuple[Voter, ...] = ()
    refused: tuple[str, ...] = ()
    silent: Mapping[str, str] = field(default_factory=dict)
    answering: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockingCheck:
    """A check before the window that blocks, or that could not be made."""

    id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PreflightSeen:
    """What the checks before the window found.

    Attributes:
        checks: how many were made.
    """

    at_ms: int
    checks: int
    blocking: tuple[BlockingCheck, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One cluster at one moment.

    Attributes:
        stall_after_ms: so long without progress, and a held broker needs a person.
        not_current: a source -> why it says nothing of the present (stale, not configured, not
            asked yet); an absent source is current.
        limits: what a followed source does not see although it is current, in its own words.
        hazards: of `summary`, at `now_ms`; also those that are not due.
        topics: None: the brokers were not asked.
        settings: likewise.
        quorum: None: the controllers were not asked.
        preflight: None: the checks were not made.
        external: the users' own conditions, by name, judged elsewhere.
        satisfied_since_ms: since when all other conditions of the same gate hold without a break;
            None: they do not. For `soak`.
    """

    summary: ClusterSummary
    now_ms: int
    stall_after_ms: int
    not_current: Mapping[DataSource, str]
    limits: Mapping[DataSource, tuple[str, ...]] = field(default_factory=dict)
    hazards: tuple[Hazard, ...] = ()
    topics: TopicsSeen | None = None
    settings: SettingsSeen | None = None
    quorum: QuorumSeen | None = None
    preflight: PreflightSeen | None = None
    external: Mapping[str, Finding] = field(default_factory=dict)
    satisfied_since_ms: int | None = None

    @property
    def dangers(self) -> tuple[Hazard, ...]:
        """The hazards that are dangerous now: what is shown, measured, alerted and recorded."""
        return due(self.hazards)
