"""The clocks that all processes of a machine share."""

import time


def wall_clock_ms() -> int:
    return time.time_ns() // 1_000_000


def boot_clock_s() -> float:
    """Return the seconds since the machine's boot, including the time it was suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
