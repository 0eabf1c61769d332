"""How one source wakes another one, in another process, that waits on behalf of all.

Spark asks the sources of a query for their offsets one after the other. So one of them waits for
news, and the others, which answer at once, ring when they have some. The bell is a file's time of
modification.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

_LOOK_EVERY_S: Final = 0.02


class Doorbell:
    """The bell of one state directory."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        self._path = path
        self._heard = self._rung()

    def ring(self) -> None:
        """Wake whoever waits."""
        now = time.time_ns()  # finer than the kernel's own stamp, so that no two are the same
        os.utime(self._path, ns=(now, now))

    def wait(self, news: Callable[[float], bool], timeout_s: float) -> bool:
        """Wait for `news` of one's own (it waits so many seconds at the most) or for the bell.

        Whether there are news of one's own. What was rung since the last call counts.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            left = deadline - time.monotonic()
            if news(max(0.0, min(left, _LOOK_EVERY_S))):
                return True
            rung = self._rung()
            if rung != self._heard or left <= 0:
                self._heard = rung
                return False

    def _rung(self) -> int:
        return self._path.stat().st_mtime_ns
