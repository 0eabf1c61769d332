"""Wakes the source that waits on behalf of all sources, from another process.

Spark queries the sources of a query for their offsets one after the other. Therefore one source
waits for new data, and the others, which answer at once, ring when they have new data. The bell is
the modification time of a file.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

_POLL_S: Final = 0.02


class Doorbell:
    """The bell of one state directory."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        self._path = path
        self._last_ring = self._rung()

    def ring(self) -> None:
        """Wake the source that waits."""
        now = time.time_ns()  # finer than the kernel's own timestamp, so that each ring differs
        os.utime(self._path, ns=(now, now))

    def wait(self, has_data: Callable[[float], bool], timeout_s: float) -> bool:
        """Wait for new data of this source or for the bell; return whether `has_data` was true.

        A ring since the last call ends the wait.

        Args:
            has_data: returns whether this source has new data; waits for it at most the given
                seconds.
            timeout_s: the longest wait.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            left = deadline - time.monotonic()
            if has_data(max(0.0, min(left, _POLL_S))):
                return True
            rung = self._rung()
            if rung != self._last_ring or left <= 0:
                self._last_ring = rung
                return False

    def _rung(self) -> int:
        return self._path.stat().st_mtime_ns
