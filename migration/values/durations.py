"""Formats and parses durations. Reads no clock.

Accepted are `90s`, `5m`, `1h30m`, `250ms` and ISO 8601 (`PT5M`).
"""

import re
from datetime import timedelta
from typing import Final

_UNITS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"))
_UNITS_MS: Final = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|[dhms])")
_ISO: Final = re.compile(
    r"P(?:(?P<d>\d+)D)?(?:T(?:(?P<h>\d+)H)?(?:(?P<m>\d+)M)?(?:(?P<s>\d+(?:\.\d+)?)S)?)?"
)
_MAX_MS: Final = 1000 * 365 * 86_400_000


class NoDuration(ValueError):
    """The text is not a duration."""


def duration_text(duration_ms: int) -> str:
    """Format a duration in its two largest units: `70 ms`, `1 min 30 s`; never negative.

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


def counted_text(duration_ms: int) -> str:
    """Format a duration down to the second, as Prometheus' `humanizeDuration` does.

    >>> [counted_text(ms) for ms in (45_120, 315_000, 3_660_000, 90_000_000)]
    ['45.12s', '5m 15s', '1h 1m 0s', '1d 1h 0m 0s']
    """
    if duration_ms < 60_000:
        return f"{max(0, duration_ms) / 1000:.4g}s"
    minutes, seconds = divmod(duration_ms // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [f"{days}d"] if days else []
    parts += [f"{hours}h"] if days or hours else []
    return " ".join([*parts, f"{minutes}m", f"{seconds}s"])


def parse_duration(value: object) -> timedelta:
    """Parse a duration greater than 0; units go from large to small, each once.

    Raises:
        NoDuration: the text is not a duration; the message has the reason and an example.
    """
    if isinstance(value, timedelta):
        return value
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise NoDuration(f"a duration is text like 90s, 5m or 1h30m, not {value!r}")
    text = str(value).strip()
    if re.fullmatch(r"\d+(\.\d+)?", text):
        raise NoDuration(f"the duration {text} has no unit: write {text}s, {text}m or {text}h")
    milliseconds = _iso_ms(text) if text.startswith("P") else _compact_ms(text)
    if milliseconds is None:
        raise NoDuration(f"{text!r} is not a duration: write it like 90s, 5m, 1h30m or PT5M")
    if milliseconds < 1:
        raise NoDuration(f"the duration {text} must be longer than 0")
    if milliseconds > _MAX_MS:
        raise NoDuration(f"the duration {text} is longer than 1000 years")
    return timedelta(milliseconds=milliseconds)


def _compact_ms(text: str) -> float | None:
    total = 0.0
    position = 0
    last = None
    for match in _PART.finditer(text):
        unit = match[2]
        if match.start() != position or (last is not None and _UNITS_MS[unit] >= _UNITS_MS[last]):
            return None
        total += float(match[1]) * _UNITS_MS[unit]
        position, last = match.end(), unit
    return total if last is not None and position == len(text) else None


def _iso_ms(text: str) -> float | None:
    match = _ISO.fullmatch(text)
    if match is None or text.endswith("T") or not any(match.groups()):
        return None
    return sum(float(count) * _UNITS_MS[unit] for unit, count in match.groupdict("0").items())


def format_duration(duration: timedelta) -> str:
    """Format a duration as `parse_duration` accepts it, to the millisecond."""
    rest = round(duration / timedelta(milliseconds=1))
    parts = []
    for unit, size in _UNITS_MS.items():
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
