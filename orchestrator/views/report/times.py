"""The format of times, durations and counts in the report."""

from typing import Final

from migration.values.durations import duration_text
from migration.values.timestamps import date_text, time_text


def clock(moment_ms: int) -> str:
    """Return a moment in UTC, to the millisecond: `2026-11-22 01:23:33.501`."""
    return f"{date_text(moment_ms)} {time_text(moment_ms)}"


def lasting(duration_ms: int | None) -> str:
    """Return a duration, with a tenth of a second where that may matter.

    >>> [lasting(ms) for ms in (None, 41, 3185, 90_000, 7_500_000)]
    ['unknown', '41 ms', '3.2 s', '1 min 30 s', '2 h 5 min']
    """
    if duration_ms is None:
        return "unknown"
    if 1000 <= duration_ms < 59_950:
        return f"{duration_ms / 1000:.1f} s"
    return duration_text(duration_ms)


def words(name: str) -> str:
    """Return a name of the report's schema as the reader sees it.

    >>> words("rollback_began"), words("not_running"), words("looks")
    ('rollback begun', 'not running', 'looks')
    """
    return _WORDS.get(name, name.replace("_", " "))


_WORDS: Final = {
    "not_running": "not running",
    "look": "confirmation",
    "walk": "execution",
    "kraft_metadata": "metadata log",
    "walk_began": "execution begun",
    "rollback_began": "rollback begun",
    "step_decided": "decided on a step",
    "step_elsewhere": "step of another orchestrator",
    "step_elsewhere_ended": "step of another orchestrator ended",
    "checkpoint_skipped": "skipped",
    "approvals_expired": "approval expired",
    "zookeeper": "ZooKeeper",
    "jmx": "JMX",
    "log_dirs": "disks",
}
