"""Formats that every view shares: times, ages, counts, events as key=value."""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from migration.metadata.events import Event
from migration.values.durations import duration_text
from migration.values.timestamps import iso, nearest_datetime, utc_text

_UTC_TIMES: Final = re.compile(
    r"(?<![\w+-])(\d{4}-\d\d-\d\d)(?:T| )(\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z| UTC)(?!\w)"
)


def short_age(duration_ms: float) -> str:
    """Return an age in at most six characters: `70ms`, `4s`, `1m30s`, `2h05m`, `3d04h`."""
    if duration_ms < 1000:
        return f"{max(0, int(duration_ms))}ms"
    seconds = int(duration_ms / 1000)
    if seconds < 60:
        return f"{seconds}s"
    if seconds < 3600:
        return f"{seconds // 60}m{seconds % 60:02d}s"
    if seconds < 86_400:
        return f"{seconds // 3600}h{seconds % 3600 // 60:02d}m"
    days = seconds // 86_400
    return f"{days}d{seconds % 86_400 // 3600:02d}h" if days < 100 else f"{min(days, 99999)}d"


def local_time(timestamp_ms: int) -> str:
    """Return the time of day in the zone of this process (TZ), to the second: `01:30:00`."""
    return f"{nearest_datetime(timestamp_ms).astimezone():%H:%M:%S}"


def zone_text(timestamp_ms: int) -> str:
    """Return the zone of `local_time` at a moment, and its distance from UTC: `CET (UTC+01:00)`."""
    moment = nearest_datetime(timestamp_ms).astimezone()
    if not moment.utcoffset():
        return "UTC"
    name, offset = _zone_name(moment), f"{moment:%z}"
    distance = f"UTC{offset[:3]}:{offset[3:]}"
    return name if name == distance else f"{name} ({distance})"


def local_clock(timestamp_ms: int) -> str:
    """Return the time of day with its zone, for next to a time in UTC: `02:30:00 CET`."""
    return f"{local_time(timestamp_ms)} {_zone_name(nearest_datetime(timestamp_ms).astimezone())}"


def moment_text(timestamp_ms: int) -> str:
    """Return a moment in the zone of this process, with the same in UTC, to the second.

    `2026-11-22 02:30:00 CET (01:30:00 UTC)`; in UTC, and in years that no zone is known for,
    `2026-11-22 01:30:00 UTC`.
    """
    utc, moment = utc_text(timestamp_ms), nearest_datetime(timestamp_ms)
    local = moment.astimezone()
    if not local.utcoffset() or f"{moment:%Y-%m-%d %H:%M:%S UTC}" != utc:
        return utc
    also = utc.removeprefix(f"{local:%Y-%m-%d} ")
    return f"{local:%Y-%m-%d %H:%M:%S} {_zone_name(local)} ({also})"


def local_times(text: str) -> str:
    """Return a text for a person: its times in UTC become those of `moment_text`.

    `migration` knows no zone and writes UTC; every surface for people passes texts through here.
    """
    return _UTC_TIMES.sub(_local, text)


def _local(found: re.Match[str]) -> str:
    try:
        moment = datetime.fromisoformat(f"{found[1]}T{found[2]}+00:00")
    except ValueError:  # such as February 30 in the text of another program
        return found[0]
    return moment_text(int(moment.timestamp()) * 1000)


def _zone_name(local: datetime) -> str:
    """Return the zone's abbreviation; its distance from UTC if it has none."""
    name, offset = f"{local:%Z}", f"{local:%z}"
    return name if name.isalpha() else f"UTC{offset[:3]}:{offset[3:]}"


def short_bytes(size: int) -> str:
    """Return a size in at most ten characters: `512 B`, `3.4 KiB`, `1.2 TiB`."""
    if size < 1024:
        return f"{size} B"
    scaled = size / 1024
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        if scaled < 1000:
            return f"{scaled:.1f} {unit}"
        scaled /= 1024
    return f"{scaled:.1f} PiB"


def bytes_or_unknown(size: int | None) -> str:
    """Return a size, which may be negative; `?` for None."""
    if size is None:
        return "?"
    return short_bytes(size) if size >= 0 else f"-{short_bytes(-size)}"


def short_rate(rate: float | None) -> str:
    """Return a rate per second in at most six characters; `-` for None."""
    if rate is None:
        return "-"
    if rate < 100:
        return f"{rate:.1f}/s"
    return f"{rate:.0f}/s" if rate < 10_000 else f"{min(rate / 1000, 999):.0f}k/s"


def quoted(value: object) -> str:
    """Return a value to print after `key=`: bare if it can be parsed back, else as JSON."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)) and all(isinstance(part, (str, int)) for part in value):
        value = ",".join(map(str, value))
    if not isinstance(value, str):
        return json.dumps(value, separators=(",", ":"))
    plain = value and value.isascii() and value.isprintable() and not set(value) & set(' "=\\')
    return value if plain else json.dumps(value)


def pairs(values: Mapping[str, object]) -> str:
    return " ".join(f"{key}={quoted(value)}" for key, value in values.items())


def for_people(fields: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of an event or an entry without digests, with times and durations as text.

    For those of another version, which this version has no sentence for.
    """
    return {
        (key.removesuffix("_ms") if isinstance(value, int) else key): _readable(key, value)
        for key, value in fields.items()
        if "sha256" not in key and key not in _DIGESTS
    }


_DIGESTS: Final = frozenset({"fingerprint", "hash"})
_MOMENT_MS: Final = 100_000_000_000
"""From here on a number of ms is a moment (after 1973), below it a duration (3 years)."""


def _readable(key: str, value: object) -> object:
    if not key.endswith("_ms") or not isinstance(value, int):
        return value
    return utc_text(value) if value >= _MOMENT_MS else duration_text(value)


def event_fields(event: Event) -> dict[str, object]:
    """Return the fields that every event has, followed by the event's own."""
    broker: dict[str, object] = {} if event.broker is None else {"broker": event.broker}
    moment = event.moment_ms
    place: dict[str, object] = {"offset": event.offset}
    if event.offset is None:
        place = {"source": str(event.source)}
    fixed = {"at": None if moment is None else iso(moment), **place, "kind": event.kind}
    return fixed | broker | {k: v for k, v in event.fields.items() if k not in fixed | broker}
