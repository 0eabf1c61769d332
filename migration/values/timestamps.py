"""Formats and compares timestamps (ms since 1970, UTC), and limits their range.

A timestamp from another program is any 64-bit number. Each of them can be formatted; a year
outside 0 to 9999 has a sign and at least six digits, as ECMAScript and ISO 8601 expand it
(`+012345-01-01`).
"""

from datetime import UTC, datetime, timedelta
from typing import Final

LATEST_MS: Final = 8_640_000_000_000_000
"""The maximum of a browser's `Date` (year 275760). The difference of two timestamps in this range
fits into 64 bits."""
EARLIEST_MS: Final = -LATEST_MS

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST: Final = datetime(2, 1, 1, tzinfo=UTC)
_LAST: Final = datetime(9999, 1, 1, tzinfo=UTC)
_CYCLE_YEARS: Final = 400
_CYCLE_MS: Final = 146_097 * 86_400_000
"""The Gregorian calendar repeats after 400 years."""


def is_unbroken(before_ms: int, now_ms: int, gap_ms: int) -> bool:
    """Return whether at most `gap_ms` passed between two ticks, and the clock was not set back.

    >>> is_unbroken(0, 5, 5), is_unbroken(0, 6, 5), is_unbroken(1, 0, 5)
    (True, False, False)
    """
    return 0 <= now_ms - before_ms <= gap_ms


def within(timestamp_ms: int) -> int:
    """Return the timestamp, or the nearest one in the range that Kraftgate computes with.

    >>> within(2**62), within(-(2**62)), within(0)
    (8640000000000000, -8640000000000000, 0)
    """
    return min(max(timestamp_ms, EARLIEST_MS), LATEST_MS)


def iso(timestamp_ms: int) -> str:
    """Format a timestamp as ISO 8601 in UTC with milliseconds.

    >>> iso(1_795_311_000_001), iso(253_402_300_800_000), iso(-(2**63))
    ('2026-11-22T01:30:00.001Z', '+010000-01-01T00:00:00.000Z', '-292275055-05-16T16:47:04.192Z')
    """
    return f"{date_text(timestamp_ms)}T{time_text(timestamp_ms)}Z"


def utc_text(timestamp_ms: int) -> str:
    """Format a timestamp for a sentence, in UTC, to the second.

    Surfaces for people show it in their zone (`orchestrator.output.formatting.local_times`).

    >>> utc_text(1_795_311_000_001)
    '2026-11-22 01:30:00 UTC'
    """
    return f"{date_text(timestamp_ms)} {time_text(timestamp_ms)[:8]} UTC"


def date_text(timestamp_ms: int) -> str:
    """Return the day in UTC: `2026-11-22`."""
    cycles, moment = _split(timestamp_ms)
    year = moment.year + cycles * _CYCLE_YEARS
    return f"{year:04d}{moment:-%m-%d}" if 0 <= year <= 9999 else f"{year:+07d}{moment:-%m-%d}"


def time_text(timestamp_ms: int) -> str:
    """Return the time of day in UTC, to the millisecond: `01:30:00.001`."""
    _, moment = _split(timestamp_ms)
    return f"{moment:%H:%M:%S}.{timestamp_ms % 1000:03d}"


def nearest_datetime(timestamp_ms: int) -> datetime:
    """Return a timestamp as a `datetime`, or the nearest one in the years 2 to 9998.

    Both ends have a margin of a year, because Matplotlib rounds timestamps and widens axes.
    """
    try:
        moment = _EPOCH + timedelta(milliseconds=timestamp_ms)
    except OverflowError:
        return _LAST if timestamp_ms > 0 else _FIRST
    return min(max(moment, _FIRST), _LAST)


def _split(timestamp_ms: int) -> tuple[int, datetime]:
    """Return the number of whole 400-year cycles since 1970, and the rest as a `datetime`."""
    cycles, left_ms = divmod(timestamp_ms, _CYCLE_MS)
    return cycles, _EPOCH + timedelta(milliseconds=left_ms)
