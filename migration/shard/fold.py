"""Applies many partition records at once: columns instead of one object after the other.

The rows are ordered by partition, then offset; each partition begins with its row of the table, and
its records follow. After a record, each field has the value of the last row that sets it
(PartitionRegistration's constructor and `merge`); the state before a record is the state after the
preceding row.

This rule fails for a partition if one of its records contradicts the state, or replaces the
replicas without their directories. `odd` names the records of such partitions, which are applied
one by one (`migration.metadata.partitions`).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from migration.metadata.partitions import (
    ADDING,
    MIGRATING_NUMBER,
    REMOVING,
    Replicas,
    is_completed,
)
from migration.shard.lists import Flags, Integers, Lists
from migration.shard.partition_records import UNCHANGED, PartitionRecords, unchanged
from migration.shard.partition_table import PartitionTable
from migration.shard.transitions import ABSENT


class Fold(NamedTuple):
    """The result.

    Attributes:
        before: the rows of the partitions with records, except the odd ones.
        after: the rows after all records, with the same keys.
        changes: rows of `Transitions.extend`, ordered by record: row in the records, broker,
            directory before, directory after.
        odd: rows of the records that have to be applied one by one, ascending.
        unclean: rows of the changes that elect a leader that is not in the ISR.
        in_sync: for each of them, the ISR before it.
    """

    before: PartitionTable
    after: PartitionTable
    changes: Integers
    odd: Integers
    unclean: Integers
    in_sync: Lists


def fold(table: PartitionTable, keys: Integers, records: PartitionRecords) -> Fold:
    """Apply records to a table.

    Args:
        table: The state before.
        keys: Of the records' partitions.
        records: In the order of the log; `directories` has the directories' numbers.
    """
    touched, group = np.unique(keys, return_inverse=True)
    before = table.looked_up(touched)
    ordered = _Ordered(before, group, records)
    odd = ordered.odd()
    regular = ~odd
    elections = _elections(records)
    return Fold(
        before.take(regular),
        ordered.after().take(regular),
        ordered.changes(regular),
        np.flatnonzero(odd[group]),
        *ordered.unclean(elections[regular[group[elections]]], records),
    )


class _Ordered:
    """The rows of the table and the records, ordered; all columns are in this order.

    `_..._of` has, by row, the row that sets the field.
    """

    def __init__(self, before: PartitionTable, group: Integers, records: PartitionRecords) -> None:
        count = len(before.keys)
        groups = np.concatenate([np.arange(count, dtype=np.int64), group])
        order = np.argsort(groups, kind="stable")
        self._keys = before.keys
        self._groups = groups[order]
        self._records = order - count
        self._is_record = order >= count
        self._last = np.flatnonzero(np.append(self._groups[1:] != self._groups[:-1], True))
        self._created = np.append(np.zeros(count, dtype=np.bool_), records.created)[order]
        directories = _directories(records)

        self._brokers = Lists.joined([before.brokers, records.brokers]).take(order)
        self._isr = Lists.joined([before.isr, records.isr]).take(order)
        self._directories = Lists.joined([before.directories, directories]).take(order)
        self._leaders = np.append(before.leaders, records.leaders)[order]
        self._adding = np.append((before.moving & ADDING) != 0, records.adding)[order]
        self._removing = np.append((before.moving & REMOVING) != 0, records.removing)[order]

        of_table = ~self._is_record
        self._sets_brokers = of_table | (self._brokers.lengths >= 0)
        self._sets_directories = of_table | self._created | (self._directories.lengths > 0)
        self._brokers_of = _last(self._sets_brokers)
        self._directories_of = _last(self._sets_directories)
        self._isr_of = _last(of_table | (self._isr.lengths >= 0))
        keeps = np.append(np.zeros(count, dtype=np.bool_), unchanged(records))[order]
        self._leader_of = _last(~keeps)
        self._adding_of = _last(of_table | (self._adding != UNCHANGED))
        self._removing_of = _last(of_table | (self._removing != UNCHANGED))

    def odd(self) -> Flags:
        """Return by partition whether its records have to be applied one by one."""
        brokers = self._brokers.lengths
        uneven = brokers[self._brokers_of] != self._directories.lengths[self._directories_of]
        derived = self._sets_brokers & ~self._sets_directories
        missing = np.append(False, (~self._is_record & (brokers < 0))[:-1])
        bad = self._is_record & (uneven | derived | (missing & ~self._created))
        found = np.zeros(len(self._keys), dtype=np.bool_)
        found[self._groups[bad]] = True
        return found

    def after(self) -> PartitionTable:
        """Return the partitions after all records."""
        last = self._last
        return PartitionTable(
            keys=self._keys,
            leaders=self._leaders[self._leader_of[last]],
            moving=self._moving(last),
            brokers=self._brokers.take(self._brokers_of[last]),
            directories=self._directories.take(self._directories_of[last]),
            isr=self._isr.take(self._isr_of[last]),
        )

    def changes(self, regular: Flags) -> Integers:
        """Return the replicas that may have moved, of the partitions that are regular."""
        rows = np.flatnonzero(self._is_record & regular[self._groups])
        brokers_of, directories_of = self._brokers_of, self._directories_of
        same = directories_of[rows] == directories_of[rows - 1]
        same &= brokers_of[rows] == brokers_of[rows - 1]
        rows = rows[~same]
        was, now = self._placed(rows - 1), self._placed(rows)
        found = replica_changes(was, now)
        found[:, 0] = self._records[rows][found[:, 0]]
        return found[np.argsort(found[:, 0], kind="stable")]

    def unclean(self, elections: Integers, records: PartitionRecords) -> tuple[Integers, Lists]:
        """Return those of these records that are unclean elections, and the ISR before each."""
        rows = np.flatnonzero(np.isin(self._records, elections))
        found, before = self._records[rows], self._isr.take(self._isr_of[rows - 1])
        owners = before.owners()
        clean = owners[before.flat() == elected(records, found)[owners]]
        unclean = ~np.isin(np.arange(len(found)), clean)
        for at in np.flatnonzero(unclean & (records.brokers.lengths[found] >= 0)).tolist():
            replicas = records.brokers.at(found[at]) or ()
            unclean[at] = not is_completed(self._replicas(rows[at] - 1), replicas)
        unclean |= records.recovering[found]
        return found[unclean], before.take(unclean)

    def _replicas(self, row: int) -> Replicas:
        """Return the brokers of one partition after this row, and whether they are moving."""
        moving = int(self._moving(np.array([row]))[0])
        return Replicas(self._brokers.at(self._brokers_of[row]) or (), (), -1, (), moving)

    def _moving(self, rows: Integers) -> Integers:
        """Return whether a reassignment adds or removes replicas, after these rows."""
        adding = self._adding[self._adding_of[rows]] * ADDING
        found: Integers = adding + self._removing[self._removing_of[rows]] * REMOVING
        return found

    def _placed(self, rows: Integers) -> "Placed":
        """Return the replicas after these rows."""
        return Placed(
            self._brokers.take(self._brokers_of[rows]),
            self._directories.take(self._directories_of[rows]),
        )


class Placed(NamedTuple):
    """The replicas of partitions: brokers, absent where there is no partition, and directories."""

    brokers: Lists
    directories: Lists

    def at(self, row: int) -> Replicas | None:
        """Return one partition, without leader and ISR; None: there is none."""
        brokers = self.brokers.at(row)
        if brokers is None:
            return None
        return Replicas(brokers, self.directories.at(row) or (), -1, ())


def replica_changes(was: Placed, now: Placed) -> Integers:
    """Return row, broker, directory before and after, or ABSENT; also of replicas that stay."""
    fresh, gone = was.brokers.lengths < 0, now.brokers.lengths < 0
    others = np.flatnonzero(~(fresh | gone))
    uniform = fresh | gone
    uniform[others] = was.brokers.take(others).equals(now.brokers.take(others))
    rows = np.flatnonzero(uniform)
    brokers = Lists(
        np.append(was.brokers.values, now.brokers.values),
        np.where(fresh, now.brokers.starts + len(was.brokers.values), was.brokers.starts),
        np.where(fresh, now.brokers.lengths, was.brokers.lengths),
    ).take(rows)
    found = np.full((int(np.maximum(brokers.lengths, 0).sum()), 4), ABSENT, dtype=np.int64)
    lengths = np.maximum(brokers.lengths, 0)
    found[:, 0] = np.repeat(rows, lengths)
    found[:, 1] = brokers.flat()
    found[np.repeat(~fresh[rows], lengths), 2] = was.directories.take(rows[~fresh[rows]]).flat()
    found[np.repeat(~gone[rows], lengths), 3] = now.directories.take(rows[~gone[rows]]).flat()
    parts = [found]
    for row in np.flatnonzero(~uniform).tolist():
        moved = [(row, *move) for move in moves(was.at(row), now.at(row))]
        parts.append(np.array(moved, dtype=np.int64).reshape(-1, 4))
    return np.concatenate(parts)


def moves(before: Replicas | None, after: Replicas | None) -> Iterator[tuple[int, int, int]]:
    """Yield the replicas whose directory changes: broker, directory before, directory after.

    ABSENT: there was no replica before, or there is none after.
    """
    was = dict(zip(*before[:2], strict=True)) if before is not None else {}
    if after is not None:
        for broker, directory in zip(*after[:2], strict=True):
            old = was.pop(broker, ABSENT)
            if old != directory:
                yield broker, old, directory
    for broker, directory in was.items():
        yield broker, directory, ABSENT


def _elections(records: PartitionRecords) -> Integers:
    """Return the records that are unclean elections if their leader is not in the ISR before.

    See `migration.metadata.partitions.is_unclean`.
    """
    alone = np.flatnonzero(~records.created & (records.isr.lengths == 1))
    leads = elected(records, alone) == records.leaders[alone]
    alone = alone[leads | (records.brokers.lengths[alone] >= 0)]
    return np.union1d(alone, np.flatnonzero(records.recovering & ~records.created))


def elected(records: PartitionRecords, rows: Integers) -> Integers:
    """Return the replica that each of these elections puts into the ISR: the present leader.

    The cancellation of a reassignment names no leader if that replica is not active.
    """
    found, isr = records.leaders[rows].copy(), records.isr.take(rows)
    alone = isr.lengths == 1
    found[alone] = isr.take(alone).flat()
    return found


def _directories(records: PartitionRecords) -> Lists:
    """Return the directories' numbers, all MIGRATING where a PartitionRecord has none.

    See `defaultToMigrating` of DirectoryId.
    """
    column, brokers = records.directories, records.brokers.lengths
    default = records.created & (column.lengths <= 0)
    if not default.any():
        return column
    zeros = np.full(int(brokers[default].max()), MIGRATING_NUMBER, dtype=np.int64)
    return Lists(
        np.append(column.values, zeros),
        np.where(default, len(column.values), column.starts),
        np.where(default, brokers, column.lengths),
    )


def _last(sets: Flags) -> Integers:
    """Return by row the last row up to it that sets the field; each partition's first one does."""
    return np.maximum.accumulate(np.where(sets, np.arange(len(sets)), 0))
