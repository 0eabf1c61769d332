"""Measures the memory of this process and its descendants, and the peak."""

import contextlib
import threading
from types import TracebackType
from typing import Final, Self

import psutil

_EVERY_S: Final = 2.0


class PeakMemory:
    """Measures every two seconds while the context is entered.

    A process counts with its proportional set size, in which a page that several processes share
    counts once: Spark's Python workers are forks of each other.

    Attributes:
        peak_bytes: the largest sum measured.
    """

    def __init__(self) -> None:
        self.peak_bytes = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="demo-memory", daemon=True)

    def __enter__(self) -> Self:
        """Start measuring."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop measuring."""
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(_EVERY_S):
            self.peak_bytes = max(self.peak_bytes, family_bytes())


def family_bytes() -> int:
    """Return the memory that this process and its descendants use now."""
    me = psutil.Process()
    total = 0
    for process in (me, *me.children(recursive=True)):
        with contextlib.suppress(psutil.Error):  # it has ended in the meantime
            total += process.memory_full_info().pss
    return total
