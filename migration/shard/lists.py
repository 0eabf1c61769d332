"""A column of short lists of integers: one array of all values, and the place of each list.

Lists share values: to replace a list is to give its row another place, so the values of many rows
change at once. `packed` returns a copy without values that no list uses any more.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

ABSENT_LIST: Final = -1
"""The length of an absent list, which differs from an empty one."""


_EXTENT_MIN: Final = 1 << 16
_EXTENT_TIMES: Final = 4


class Lists(NamedTuple):
    """Arrays: the values of all lists, and by row the position of its list and its length."""

    values: Integers
    starts: Integers
    lengths: Integers

    @classmethod
    def of(cls, lists: Iterable[Sequence[int] | None]) -> "Lists":
        """Return a column of these lists; None: absent."""
        rows = list(lists)
        lengths = integers([ABSENT_LIST if each is None else len(each) for each in rows])
        values = integers([value for each in rows if each is not None for value in each])
        return cls.in_line(values, lengths)

    @classmethod
    def of_matrix(cls, matrix: Integers) -> "Lists":
        """Return a column of lists of equal lengths, one for each row."""
        rows, width = matrix.shape
        lengths = np.full(rows, width, dtype=np.int64)
        return cls(matrix.reshape(-1), np.arange(rows, dtype=np.int64) * width, lengths)

    @classmethod
    def in_line(cls, values: Integers, lengths: Integers) -> "Lists":
        """Return a column of the lists that `values` has one after the other."""
        return cls(values, _starts(lengths), lengths)

    @classmethod
    def absent(cls, rows: int) -> "Lists":
        none = np.zeros(rows, dtype=np.int64)
        return cls(np.empty(0, dtype=np.int64), none, none + ABSENT_LIST)

    @classmethod
    def joined(cls, parts: Sequence["Lists"]) -> "Lists":
        """Return the rows of all parts, in this order."""
        sizes = np.cumsum([0, *(len(each.values) for each in parts)])
        return cls(
            np.concatenate([each.values for each in parts]),
            np.concatenate(
                [each.starts + size for each, size in zip(parts, sizes[:-1], strict=True)]
            ),
            np.concatenate([each.lengths for each in parts]),
        )

    def at(self, row: int) -> tuple[int, ...] | None:
        """Return one list; None: it is absent."""
        length = int(self.lengths[row])
        if length == ABSENT_LIST:
            return None
        start = int(self.starts[row])
        return tuple(self.values[start : start + length].tolist())

    def all(self) -> list[tuple[int, ...] | None]:
        """Return all lists; None: absent."""
        values = self.values.tolist()
        return [
            None if length == ABSENT_LIST else tuple(values[start : start + length])
            for start, length in zip(self.starts.tolist(), self.lengths.tolist(), strict=True)
        ]

    def take(self, rows: "Integers | Flags | slice") -> "Lists":
        """Return the lists of these rows; they share the values."""
        return Lists(self.values, self.starts[rows], self.lengths[rows])

    def flat(self) -> Integers:
        """Return the values of all rows, list after list."""
        return self.values[positions(self.starts, self.lengths)]

    def owners(self) -> Integers:
        """Return the row of each value of `flat`."""
        return np.repeat(np.arange(len(self.lengths)), np.maximum(self.lengths, 0))

    def packed(self) -> "Lists":
        """Return the same lists, one after the other, without other values."""
        return Lists.in_line(self.flat(), self.lengths)

    def equals(self, other: "Lists") -> Flags:
        """Return by row whether both columns have the same list."""
        same: Flags = self.lengths == other.lengths
        rows = np.flatnonzero(same & (self.lengths > 0))
        lengths = self.lengths[rows]
        here = self.values[positions(self.starts[rows], lengths)]
        there = other.values[positions(other.starts[rows], lengths)]
        same[np.repeat(rows, lengths)[here != there]] = False
        return same


def rows_of(column: Any, rows: Any) -> Any:  # noqa: ANN401 a column of lists, or an array
    """Return these rows of a column."""
    return column.take(rows) if isinstance(column, Lists) else column[rows]


def end_to_end(parts: Sequence[Any]) -> Any:  # noqa: ANN401 as `rows_of`
    """Return one column with the rows of all parts, in this order."""
    return Lists.joined(parts) if isinstance(parts[0], Lists) else np.concatenate(parts)


def integers(values: Sequence[int]) -> Integers:
    """Return an array of 64-bit integers."""
    return np.array(values, dtype=np.int64)


def ranked(values: Integers) -> tuple[Integers, Integers]:
    """Return the distinct values, ascending, and for each value its position among them.

    As `np.unique` with its inverse, without sorting if the values are close to each other.
    """
    low = int(values.min()) if len(values) else 0
    extent = int(values.max()) - low + 1 if len(values) else 0
    if extent > max(_EXTENT_MIN, _EXTENT_TIMES * len(values)):
        return np.unique(values, return_inverse=True)
    present = np.zeros(extent, dtype=np.bool_)
    present[values - low] = True
    return np.flatnonzero(present) + low, (np.cumsum(present) - 1)[values - low]


def positions(starts: Integers, lengths: Integers) -> Integers:
    """Return the positions of the values of all these lists, list after list."""
    counts = np.maximum(lengths, 0)
    ends = np.cumsum(counts)
    found: Integers = np.repeat(starts - (ends - counts), counts)
    return found + np.arange(len(found))


def _starts(lengths: Integers) -> Integers:
    counts: Integers = np.maximum(lengths, 0)
    return counts.cumsum() - counts
