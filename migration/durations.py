"""Durations in words a person reads. What comes in are milliseconds, never a clock."""

from typing import Final

_UNITS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"))


def duration_text(duration_ms: int) -> str:
    """Say a duration in its two largest units: `70 ms`, `1 min 30 s`; never negative.

    >>> [duration_text(ms) for ms in (-5, 70, 1_250, 90_000, 7_500_000)]
    ['0 ms', '70 ms', '1 s', '1 min 30 s', '2 h 5 min']
    """
    if duration_ms < 1000:
        return f"{max(0, duration_ms)} ms"
    first = next(i for i, (size, _) in enumerate(_UNITS) if duration_ms >= size)
    parts = []
    rest = duration_ms
    for size, name in _UNITS[first : first + 2]:
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count} {name}")
    return " ".join(parts)
