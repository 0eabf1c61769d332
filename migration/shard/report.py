"""A shard's report of one batch: what the cluster-wide image needs, without single replicas.

A broker asks for directories in AssignReplicasToDirs requests of up to 2250 replicas, one in flight
(AssignmentsManager), and the controller appends the records of one request in one batch of the
log, with one timestamp. So replicas are assigned in steps: the records of one timestamp are
one step.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from migration.comparison.differences import ShardComparison
from migration.metadata.directory_ids import DirectoryId

STEPS_MAX: Final = 32
"""The number of latest steps that are kept; older ones do not help an estimate."""


class Step(NamedTuple):
    """The number of a broker's replicas that got a directory at a timestamp (ms since 1970)."""

    at_ms: int
    assigned: int


def together(*parts: Iterable[tuple[int, int]]) -> tuple[Step, ...]:
    """Return the latest steps of all parts, in order of time; one timestamp is one step.

    Associative and commutative: the division of the steps into parts does not matter.
    """
    counts: dict[int, int] = {}
    for part in parts:
        for at_ms, assigned in part:
            counts[at_ms] = counts.get(at_ms, 0) + assigned
    return tuple(Step(at_ms, counts[at_ms]) for at_ms in sorted(counts)[-STEPS_MAX:])


class Movement(NamedTuple):
    """The change of a broker's pending replicas before one barrier.

    Attributes:
        net: change of their number.
        assigned: number of replicas that got a directory.
        first_ms: timestamp of the first assignment (0: none).
        last_ms: timestamp of the last one (0: none).
        recent: the latest steps in which they did, as `Step`.
        migrating: change of the number of those that are `migrating`.
    """

    net: int = 0
    assigned: int = 0
    first_ms: int = 0
    last_ms: int = 0
    recent: tuple[tuple[int, int], ...] = ()
    migrating: int = 0

    @classmethod
    def of_all(cls, parts: "Sequence[Movement]") -> "Movement":
        """Return the movements together, in any order."""
        return cls(
            sum(each.net for each in parts),
            sum(each.assigned for each in parts),
            min((each.first_ms for each in parts if each.first_ms), default=0),
            max(each.last_ms for each in parts),
            together(*(each.recent for each in parts)),
            sum(each.migrating for each in parts),
        )


class Crossing(NamedTuple):
    """At this record a broker's pending replicas in the shard reached zero, or left it."""

    offset: int
    timestamp_ms: int
    broker: int
    pending: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Replication:
    """The counts of one cluster, or their change in one shard.

    Attributes:
        under_replicated: partitions with a replica that is not in the ISR; added replicas of a
            reassignment count, too.
        leaderless: partitions without a leader.
        reassigning: partitions with replicas that are being added or removed.
        missing: broker -> partitions of which it is a replica and not in the ISR; no zeros.
    """

    under_replicated: int = 0
    leaderless: int = 0
    reassigning: int = 0
    missing: Mapping[int, int] = field(default_factory=dict)

    def plus(self, changes: Iterable["Replication"]) -> "Replication":
        parts, missing = [self, *changes], Counter[int]()
        for each in parts:
            missing.update(each.missing)
        return Replication(
            under_replicated=sum(each.under_replicated for each in parts),
            leaderless=sum(each.leaderless for each in parts),
            reassigning=sum(each.reassigning for each in parts),
            missing={broker: count for broker, count in missing.items() if count},
        )


class Note(NamedTuple):
    """An event that only the shard can detect."""

    offset: int
    timestamp_ms: int
    kind: str
    fields: dict[str, str | int]


@dataclass(slots=True)
class ShardReport:
    """What one shard reports of one batch.

    Attributes:
        directories: (broker, directory) -> change of the number of replicas in it.
        assigned_ms: broker -> timestamp of the last assignment of a replica to a directory.
        movements: (offset of the broker's next barrier, broker) -> change of its pending before it.
        crossings: in log order.
        comparisons: with the other sources.
    """

    topics: int = 0
    partitions: int = 0
    directories: dict[tuple[int, DirectoryId], int] = field(default_factory=dict)
    assigned_ms: dict[int, int] = field(default_factory=dict)
    movements: dict[tuple[int, int], Movement] = field(default_factory=dict)
    crossings: list[Crossing] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    comparisons: list[ShardComparison] = field(default_factory=list)
    replication: Replication = field(default_factory=Replication)
