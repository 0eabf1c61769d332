"""Counts the changes of partitions' replication, in columns.

`report` has the result, without numpy: every command reads reports' types.
"""

import numpy as np

from migration.shard.partition_table import PartitionTable, keys_of
from migration.shard.report import ReplicationChange


def count_changes(change: ReplicationChange, before: PartitionTable, after: PartitionTable) -> None:
    """Add the change of these partitions."""
    _count(change, before, -1)
    _count(change, after, 1)


def _count(change: ReplicationChange, table: PartitionTable, sign: int) -> None:
    there = table.brokers.lengths >= 0
    change.leaderless += sign * int((there & (table.leaders < 0)).sum())
    change.reassigning += sign * int((there & (table.moving != 0)).sum())
    rows = table.take(there & ~table.brokers.equals(table.isr))
    owners, brokers = rows.brokers.owners(), rows.brokers.flat()
    out = ~np.isin(keys_of(owners, brokers), keys_of(rows.isr.owners(), rows.isr.flat()))
    change.under_replicated += sign * len(np.unique(owners[out]))
    missing, counts = np.unique(brokers[out], return_counts=True)
    for broker, count in zip(missing.tolist(), counts.tolist(), strict=True):
        change.missing[broker] = change.missing.get(broker, 0) + sign * count
