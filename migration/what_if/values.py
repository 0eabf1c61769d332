"""A prediction: the fate of each partition, and its basis."""

import enum
from dataclasses import dataclass
from typing import Final

from migration.image.summary import Mode
from migration.observed.probed import TopicPartition


class Fate(enum.StrEnum):
    """The fate of a partition, the most serious first."""

    LOST = "lost"
    """There is no other replica: all its records are in the failed part."""
    UNAVAILABLE = "unavailable"
    """No other replica in the ISR can lead: only an unclean election restores it."""
    LEADER_NOT_MOVED = "leader_not_moved"
    """Others are in the ISR, but the controller is not notified: it has no leader."""
    UNKNOWN = "unknown"
    """The known data does not decide it."""
    UNDER_MIN_ISR = "under_min_isr"
    """It has a leader, which rejects produce requests with acks=all."""
    LEADER_MOVES = "leader_moves"
    """Another replica in the ISR takes over."""
    UNDER_REPLICATED = "under_replicated"
    """It has one replica less; clients do not notice."""

    @property
    def rank(self) -> int:
        """0 for the most serious; the higher, the less serious."""
        return _ORDER.index(self)


_ORDER: Final = tuple(Fate)
SERIOUS: Final = frozenset({Fate.LOST, Fate.UNAVAILABLE, Fate.LEADER_NOT_MOVED, Fate.UNKNOWN})
HARMLESS: Final = frozenset({Fate.LEADER_MOVES, Fate.UNDER_REPLICATED})


class Basis(enum.StrEnum):
    """The source of a line; sources may differ."""

    CLUSTER = "cluster"
    """The brokers' replicas, leaders and ISR: the directory does not matter."""
    DISKS = "disks"
    """The log's path; the metadata log does not place it there."""
    METADATA_LOG = "metadata_log"
    """The metadata log; the log's path is another one."""
    BOTH = "disks_and_metadata_log"
    """The log's path and the metadata log agree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One partition.

    Attributes:
        path: the directory of its log on the broker; None: in no online directory.
        replicas: broker ids in order of preference; empty when no broker lists the partition.
        min_isr: `min.insync.replicas` of its topic; None: not known.
        leader: before; None: there is none.
        leader_after: the new leader; None: none, or not known.
        isr_after: the remaining ISR; None: not known.
        why: the reason, as text.
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
        directory_by: the source of `directory`: `meta.properties`, or `replicas`.
        mode: of the broker; None: not known.
        halts: whether the broker halts because of the directory; None: not known.
        lines: every affected partition that is known, the most serious first.
        hidden: why there may be others; None: no disk that answers has others.
    """

    broker: int
    log_dir: str | None
    directory: str | None = None
    directory_by: str | None = None
    mode: Mode | None
    halts: bool | None
    lines: tuple[Line, ...]
    hidden: str | None = None
    notes: tuple[str, ...]

    @property
    def counts(self) -> dict[Fate, int]:
        """The number of partitions of each fate, with zeros."""
        found = dict.fromkeys(Fate, 0)
        for each in self.lines:
            found[each.fate] += 1
        return found

    @property
    def is_serious(self) -> bool:
        """Whether a partition would or may be lost, unavailable or leaderless."""
        return self.hidden is not None or any(each.fate in SERIOUS for each in self.lines)
