"""One clock for all processes of a machine."""

import time


def boot_clock_s() -> float:
    """Seconds since the machine's start, also those that it slept."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
