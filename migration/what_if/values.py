"""The answer: the fate of each partition, and what that rests on."""

import enum
from dataclasses import dataclass
from typing import Final

from migration.image.summary import Mode
from migration.observed.probed import TopicPartition


class Fate(enum.StrEnum):
    """What becomes of a partition, the most serious first."""

    LOST = "lost"
    """There is no other replica: what it holds lies in what failed, and nowhere else."""
    UNAVAILABLE = "unavailable"
    """No other replica that is in sync can lead: only an unclean election brings it back."""
    LEADER_NOT_MOVED = "leader_not_moved"
    """Others are in sync, but the controller does not learn of the failure: nobody leads."""
    UNKNOWN = "unknown"
    """What is known does not decide it."""
    UNDER_MIN_ISR = "under_min_isr"
    """It has a leader, but refuses what is produced with acks=all."""
    LEADER_MOVES = "leader_moves"
    """Another replica that is in sync takes over."""
    UNDER_REPLICATED = "under_replicated"
    """One replica less; nobody notices."""

    @property
    def rank(self) -> int:
        """0 for the most serious; the higher, the less serious."""
        return _ORDER.index(self)


_ORDER: Final = tuple(Fate)
SERIOUS: Final = frozenset({Fate.LOST, Fate.UNAVAILABLE, Fate.LEADER_NOT_MOVED, Fate.UNKNOWN})
HARMLESS: Final = frozenset({Fate.LEADER_MOVES, Fate.UNDER_REPLICATED})


class Basis(enum.StrEnum):
    """Whose word a line rests on, where the views may differ."""

    CLUSTER = "cluster"
    """What the brokers say of replicas, leaders and ISR: the directory does not matter."""
    DISKS = "disks"
    """Where the log lies; the metadata log does not place it there."""
    METADATA_LOG = "metadata_log"
    """Where the metadata log places it; the log does not lie there."""
    BOTH = "disks_and_metadata_log"
    """The log lies where the metadata log places it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One partition.

    Attributes:
        path: the directory where its log lies on the broker; None: in none that answers.
        replicas: broker ids in order of preference; empty when no broker lists the partition.
        min_isr: `min.insync.replicas` of its topic; None: not known.
        leader: before; None: there is none.
        leader_after: as the cluster would name it; None: none, or not known.
        isr_after: those in sync that are left; None: not known.
        why: in words.
    """

    at: TopicPartition
    fate: Fate
    path: str | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    min_isr: int | None
    leader: int | None
    leader_after: int | None
    isr_after: tuple[int, ...] | None
    basis: Basis
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """The answer to one question.

    Attributes:
        log_dir: the directory that fails; None: the broker does.
        directory: that directory's id, 22 characters; None: not known, or it has none.
        directory_by: how that is known: `meta.properties`, or `replicas`.
        mode: of the broker; None: not known.
        halts: whether the broker ends because of the directory; None: not known.
        lines: every partition that is concerned, the most serious first.
    """

    broker: int
    log_dir: str | None
    directory: str | None = None
    directory_by: str | None = None
    mode: Mode | None
    halts: bool | None
    lines: tuple[Line, ...]
    notes: tuple[str, ...]

    @property
    def counts(self) -> dict[Fate, int]:
        """How many partitions have each fate; every fate is there."""
        found = dict.fromkeys(Fate, 0)
        for each in self.lines:
            found[each.fate] += 1
        return found

    @property
    def is_serious(self) -> bool:
        """Whether some partition would be lost, away or leaderless, or may be: not known."""
        return any(each.fate in SERIOUS for each in self.lines)
