"""The partitions of a shard as columns, ordered by the topic's number and the partition's id."""

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeVar

import numpy as np

from migration.metadata.partitions import Replicas
from migration.shard.lists import Flags, Integers, Lists, end_to_end, integers, rows_of
from migration.shard.report import Replication

NO_KEY: Final = -1
KEY_BITS: Final = 32
_PARTITION_MASK: Final = (1 << KEY_BITS) - 1
_SIGN: Final = 1 << (KEY_BITS - 1)


def keys_of(topics: Integers, partitions: Integers) -> Integers:
    """Return the keys of partitions; `topics`: the topics' numbers in the shard."""
    return (topics << KEY_BITS) | (partitions & _PARTITION_MASK)


Keys = TypeVar("Keys", int, Integers)


def partition_of(key: Keys) -> Keys:
    return ((key & _PARTITION_MASK) ^ _SIGN) - _SIGN


def topic_of(key: Keys) -> Keys:
    return key >> KEY_BITS


class PartitionTable(NamedTuple):
    """A row for each partition, with ascending keys.

    Attributes:
        keys: as `keys_of`.
        leaders: -1: none.
        moving: `migration.metadata.partitions.ADDING` and `REMOVING`, or 0.
        brokers: of the replicas, in order of preference; absent: the partition does not exist.
        directories: for each broker, the number of the directory of its replica.
        isr: brokers.
    """

    keys: Integers
    leaders: Integers
    moving: Integers
    brokers: Lists
    directories: Lists
    isr: Lists

    @classmethod
    def of(cls, partitions: Mapping[int, Replicas]) -> "PartitionTable":
        """Return the table of these partitions, by key."""
        keys = sorted(partitions)
        rows = [partitions[key] for key in keys]
        return cls(
            integers(keys),
            integers([each.leader for each in rows]),
            integers([each.moving for each in rows]),
            Lists.of(each.brokers for each in rows),
            Lists.of(each.directories for each in rows),
            Lists.of(each.isr for each in rows),
        )

    def partitions(self) -> Integers:
        """Return the partitions' ids."""
        return partition_of(self.keys)

    def topics(self) -> Integers:
        """Return the topics' numbers."""
        return topic_of(self.keys)

    def objects(self) -> dict[int, Replicas]:
        """Return the partitions by key."""
        rows = zip(
            self.keys.tolist(),
            self.brokers.all(),
            self.directories.all(),
            self.leaders.tolist(),
            self.isr.all(),
            self.moving.tolist(),
            strict=True,
        )
        return {
            key: Replicas(brokers, directories or (), leader, isr or (), moving)
            for key, brokers, directories, leader, isr, moving in rows
            if brokers is not None
        }

    def take(self, rows: Integers | Flags | slice) -> "PartitionTable":
        return PartitionTable(*(rows_of(column, rows) for column in self))

    def of_topic(self, number: int) -> "PartitionTable":
        start, end = np.searchsorted(self.keys, integers([number, number + 1]) << KEY_BITS)
        return self.take(slice(int(start), int(end)))

    def looked_up(self, keys: Integers) -> "PartitionTable":
        """Return a row for each of these keys; where there is none, one without a partition."""
        rows = np.searchsorted(self.keys, keys)
        there = np.append(self.keys, NO_KEY)[rows] == keys
        known = self.take(rows[there])
        where = np.cumsum(there) - 1
        where[~there] = len(known.keys)
        return (
            PartitionTable.joined([known.packed(), PartitionTable.absent(1)])
            .take(where)
            ._replace(keys=keys)
        )

    @classmethod
    def absent(cls, rows: int = 0) -> "PartitionTable":
        """Return rows without a partition."""
        none, lists = np.zeros(rows, dtype=np.int64), Lists.absent(rows)
        return cls(none, none - 1, none, lists, lists, lists)

    @classmethod
    def joined(cls, parts: "list[PartitionTable]") -> "PartitionTable":
        """Return the rows of all parts; the caller ensures their order."""
        return cls(*map(end_to_end, zip(*parts, strict=True)))

    def replaced(self, rows: "PartitionTable") -> "PartitionTable":
        """Return the table with these rows in place of those with the same keys; absent: none."""
        there = np.append(rows.keys, NO_KEY)[np.searchsorted(rows.keys, self.keys)] == self.keys
        kept = self.take(~there)
        both = PartitionTable.joined([kept, rows.take(rows.brokers.lengths >= 0)])
        return both.take(np.argsort(both.keys, kind="stable"))

    def packed(self) -> "PartitionTable":
        """Return the table without values that no row uses."""
        return self._replace(
            brokers=self.brokers.packed(),
            directories=self.directories.packed(),
            isr=self.isr.packed(),
        )


def replication_change(before: PartitionTable, after: PartitionTable) -> Replication:
    """Return the change of the replication of these partitions.

    Reports have no numpy, because every command imports their types.
    """
    return _replication(before, -1).plus([_replication(after, 1)])


def _replication(table: PartitionTable, sign: int) -> Replication:
    there = table.brokers.lengths >= 0
    rows = table.take(there & ~table.brokers.equals(table.isr))
    owners, brokers = rows.brokers.owners(), rows.brokers.flat()
    out = ~np.isin(keys_of(owners, brokers), keys_of(rows.isr.owners(), rows.isr.flat()))
    missing, counts = np.unique(brokers[out], return_counts=True)
    return Replication(
        under_replicated=sign * len(np.unique(owners[out])),
        leaderless=sign * int((there & (table.leaders < 0)).sum()),
        reassigning=sign * int((there & (table.moving != 0)).sum()),
        missing=dict(zip(missing.tolist(), (sign * counts).tolist(), strict=True)),
    )
