"""Bounds the lines of evidence and the reasons that are shown; counts and capitalizes.

No other module does.

A rule passes the lines that it has and the total number, so that a list that was shortened before
is not counted again.
"""

from collections.abc import Sequence
from typing import Final

EVIDENCE_MAX: Final = 20
_JOINED_MAX: Final = 5


def total_of(lines: Sequence[str], total: int = 0) -> int:
    """Return the number of lines; `total`: their number if `lines` are only some of them."""
    return max(len(lines), total)


def bounded(lines: Sequence[str], total: int = 0) -> tuple[str, ...]:
    """Return at most `EVIDENCE_MAX` lines; the last one counts the omitted ones.

    >>> bounded(["orders-0 is gone"], 99)
    ('orders-0 is gone', 'and 98 more')
    """
    total = total_of(lines, total)
    if total == len(lines) <= EVIDENCE_MAX:
        return tuple(lines)
    kept = tuple(lines[: EVIDENCE_MAX - 1])
    return (*kept, f"and {total - len(kept)} more")


def joined(reasons: Sequence[str], at_most: int = _JOINED_MAX) -> str:
    """Return the first few reasons as one text; it is empty if there is none.

    >>> joined(["no disk", "no network"], 1)
    'no disk; and 1 more'
    """
    more = len(reasons) - at_most
    return "; ".join(reasons[:at_most]) + (f"; and {more} more" if more > 0 else "")


def named(names: Sequence[object], at_most: int) -> str:
    """Return the first few names in a line, with the number of the others.

    >>> named([1, 2, 3], 2)
    '1, 2 and 1 more'
    """
    more = len(names) - at_most
    return ", ".join(map(str, names[:at_most])) + (f" and {more} more" if more > 0 else "")


def capitalized(text: str) -> str:
    """Return a text with a capital at its beginning; `str.capitalize` would change the rest."""
    return text[:1].upper() + text[1:]


def count(number: int, noun: str, nouns: str | None = None) -> str:
    """Return `1 replica`, `2 replicas`; `nouns`: the plural, if it is irregular."""
    return f"{number} {noun}" if number == 1 else f"{number} {nouns or noun + 's'}"
