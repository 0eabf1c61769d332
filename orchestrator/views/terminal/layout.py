"""The lines that each block gets where not all fit: which block shrinks first, and to how few.

Pure: it computes counts of lines from counts of lines and does not know their content.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Want:
    """The number of lines that a block needs, and how far it can shrink.

    Attributes:
        lines: the number of lines if there is room.
        least: the number that remains while other blocks can shrink.
        floor: the number that always remains.
        rank: the block with the highest rank shrinks first.
    """

    lines: int
    least: int = 0
    floor: int = 0
    rank: int


def fit(wants: Sequence[Want], height: int) -> list[int]:
    """Return the lines of each block so that all fit; only the floors can exceed `height`."""
    given = [each.lines for each in wants]
    order = sorted(range(len(wants)), key=lambda at: -wants[at].rank)
    for floors in ([each.least for each in wants], [each.floor for each in wants]):
        for at in order:
            excess = sum(given) - height
            if excess <= 0:
                return given
            given[at] = max(min(floors[at], given[at]), given[at] - excess)
    return given


def share(heights: Sequence[int], height: int) -> list[int]:
    """Return each part's lines: at most its height; lines that one leaves go to the others."""
    given = [0] * len(heights)
    left, open_ = height, sorted(range(len(heights)), key=lambda at: heights[at])
    while open_:
        at = open_.pop(0)
        given[at] = min(heights[at], left // (len(open_) + 1))
        left -= given[at]
    return given
