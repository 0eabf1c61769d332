"""What is drawn where there is not room for all: who gives way first, and to how few lines.

Pure: counts of lines in, counts of lines out. Nothing here knows what the lines say.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Want:
    """A block of lines that would be drawn.

    Attributes:
        lines: so many, if there is room.
        least: so many stay while others can give way.
        floor: so many stay always.
        rank: who has the highest gives way first.
    """

    lines: int
    least: int = 0
    floor: int = 0
    rank: int


def fit(wants: Sequence[Want], height: int) -> list[int]:
    """Give each so many lines that all fit; more than `height` only where the floors are."""
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
    """Share lines out: nobody more than they want, and what one leaves goes to the others."""
    given = [0] * len(heights)
    left, open_ = height, sorted(range(len(heights)), key=lambda at: heights[at])
    while open_:
        at = open_.pop(0)
        given[at] = min(heights[at], left // (len(open_) + 1))
        left -= given[at]
    return given
