"""A clock that all processes of a machine share."""

import time


def boot_clock_s() -> float:
    """Return the seconds since the machine's boot, including the time it was suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
