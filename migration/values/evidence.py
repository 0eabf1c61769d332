"""The lines of evidence that are shown, and how many were left out: the one place that cuts them.

A rule that collects lines gives those that are named and how many there are in all, so that a list
that was cut before it came here is not counted again.
"""

from collections.abc import Sequence
from typing import Final

EVIDENCE_MAX: Final = 20


def total_of(lines: Sequence[str], total: int = 0) -> int:
    """Return how many lines there are; `total`: where `lines` are only some of them."""
    return max(len(lines), total)


def bounded(lines: Sequence[str], total: int = 0) -> tuple[str, ...]:
    """Return at most `EVIDENCE_MAX` lines, the last of which counts those left out.

    >>> bounded(["orders-0 is gone"], 99)
    ('orders-0 is gone', 'and 98 more')
    """
    total = total_of(lines, total)
    if total == len(lines) <= EVIDENCE_MAX:
        return tuple(lines)
    kept = tuple(lines[: EVIDENCE_MAX - 1])
    return (*kept, f"and {total - len(kept)} more")
