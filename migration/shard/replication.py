"""Counts of partitions that are under-replicated, leaderless or under reassignment.

A shard reports the changes of the counts, and the image adds them up. Nothing is counted again, so
the cost of a batch depends only on its changes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from migration.metadata.partitions import Replicas


@dataclass(frozen=True, slots=True, kw_only=True)
class Replication:
    """The counts of one cluster.

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

    def plus(self, changes: Iterable["ReplicationChange"]) -> "Replication":
        """Return the counts after these changes."""
        under_replicated, leaderless = self.under_replicated, self.leaderless
        reassigning, missing = self.reassigning, dict(self.missing)
        for each in changes:
            under_replicated += each.under_replicated
            leaderless += each.leaderless
            reassigning += each.reassigning
            for broker, change in each.missing.items():
                missing[broker] = missing.get(broker, 0) + change
        return Replication(
            under_replicated=under_replicated,
            leaderless=leaderless,
            reassigning=reassigning,
            missing={broker: count for broker, count in missing.items() if count},
        )


@dataclass(slots=True)
class ReplicationChange:
    """Changes of the counts in one shard; `missing` may contain zeros."""

    under_replicated: int = 0
    leaderless: int = 0
    reassigning: int = 0
    missing: dict[int, int] = field(default_factory=dict)

    def take(self, before: Replicas | None, after: Replicas | None) -> None:
        """Add the change of one partition; None: it did not exist before, or does not after."""
        if before is not None:
            self._count(before, -1)
        if after is not None:
            self._count(after, 1)

    def _count(self, replicas: Replicas, sign: int) -> None:
        brokers, isr = replicas.brokers, replicas.isr
        if replicas.leader < 0:
            self.leaderless += sign
        if replicas.moving:
            self.reassigning += sign
        if brokers == isr:
            return
        out = [each for each in brokers if each not in isr]
        if out:
            self.under_replicated += sign
            for broker in out:
                self.missing[broker] = self.missing.get(broker, 0) + sign
