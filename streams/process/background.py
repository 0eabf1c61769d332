"""Threads in the background: of an object, from `start` to `stop`, and of one call."""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self, TypeVar

T = TypeVar("T")

REPORT_S: Final = 30
"""The interval of reports that are not urgent: each batch of the job has a cost."""

_shift_s = 0.0


def shift_intervals(seconds: float) -> None:
    """Let all intervals of this process begin so much later than multiples of their length."""
    global _shift_s
    _shift_s = seconds


def until_next(interval_s: float) -> float:
    """Return the seconds until the next interval begins, by the wall clock.

    Sources that wait for it report at the same moments, and their facts share a batch of the job.
    """
    return interval_s - (time.time() - _shift_s) % interval_s


def interval_of(moment_ms: int, interval_s: float) -> int:
    """Return the number of the interval that a moment is in."""
    return int((moment_ms / 1000 - _shift_s) // interval_s)


def begin(name: str, work: Callable[[], T]) -> tuple[threading.Thread, list[T]]:
    """Start work that may block for ever, such as on a dead disk.

    Return its thread, which may be abandoned, and the list that gets the result.
    """
    found: list[T] = []
    thread = threading.Thread(target=lambda: found.append(work()), name=name, daemon=True)
    thread.start()
    return thread, found


class BackgroundThread(ABC):
    """A context manager that starts its thread on entry and stops it on exit.

    Args:
        name: of the thread.
        stop_s: how long `stop` waits for the end of the thread.
    """

    def __init__(self, name: str, stop_s: float) -> None:
        self._stopping = threading.Event()
        self._stop_s = stop_s
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @abstractmethod
    def _run(self) -> None:
        """Do the work of the thread, until `_stopping` is set."""

    def _wake(self) -> None:  # noqa: B027 most threads wait for nothing else
        """End the current wait of the thread, other than one for `_stopping`."""

    def start(self) -> Self:
        """Start the thread.

        Raises:
            RuntimeError: it was started before.
        """
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop the thread, and wait for its end; a second call does nothing."""
        self._stopping.set()
        self._wake()
        if self._thread.ident is not None and self._thread is not threading.current_thread():
            self._thread.join(self._stop_s)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
