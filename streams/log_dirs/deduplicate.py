"""Whether the state of a broker's disks requires a new fact. Pure."""

from typing import Final, TypeAlias

from migration.observed.facts import DisksSeen, DisksUnreachable, LogDirSeen

AGAIN_MS: Final = 60_000
"""The maximum time between two facts of a broker that answers."""
_SMALL: Final = 0.01
"""A change of a size by less than this share is ignored."""

Disks: TypeAlias = DisksSeen | DisksUnreachable


def is_news(last: Disks | None, now: Disks) -> bool:
    """Return whether the fact differs from the last one of this broker."""
    match last, now:
        case DisksSeen(), DisksSeen():
            return now.seen_ms - last.seen_ms >= AGAIN_MS or _differ(last.log_dirs, now.log_dirs)
        case DisksUnreachable(), DisksUnreachable():
            return now.why != last.why or now.log_dirs != last.log_dirs
        case _:
            return True


def _differ(last: tuple[LogDirSeen, ...], now: tuple[LogDirSeen, ...]) -> bool:
    if [_shape(each) for each in last] != [_shape(each) for each in now]:
        return True
    return any(
        _grew(was, size)
        for before, after in zip(last, now, strict=True)
        for was, size in zip(_sizes(before), _sizes(after), strict=True)
    )


def _shape(log_dir: LogDirSeen) -> LogDirSeen:
    return log_dir._replace(total_bytes=None, usable_bytes=None, bytes=0)


def _sizes(log_dir: LogDirSeen) -> tuple[int | None, ...]:
    return log_dir.total_bytes, log_dir.usable_bytes, log_dir.bytes


def _grew(was: int | None, size: int | None) -> bool:
    if was is None or size is None:
        return was != size
    return size != was and abs(size - was) >= _SMALL * was
