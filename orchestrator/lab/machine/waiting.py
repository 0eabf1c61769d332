"""Every wait of the lab: on a condition, bounded, and ended immediately when the lab is closed."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from orchestrator.lab.errors import LabError, WaitTimedOutError

_POLL_S = 0.1

T = TypeVar("T")


class Waiter:
    """Waits on conditions until the lab closes."""

    def __init__(self) -> None:
        self._closed = threading.Event()

    def close(self) -> None:
        """End every wait, now and later, with `LabError`."""
        self._closed.set()

    @property
    def closed(self) -> bool:
        return self._closed.is_set()

    def until(
        self,
        what: str,
        probe: Callable[[], T | None],
        *,
        timeout_s: float,
        where: str,
        tail: Callable[[], str] = str,
    ) -> T:
        """Call `probe` until its result is true, and return the result.

        An exception of `probe` ends the wait. `what` is a condition such as ``broker-1 to start``,
        and `where` the place to inspect if it is not met.

        Raises:
            LabError: The lab was closed meanwhile.
            WaitTimedOutError: The condition was not met in time.
        """
        deadline_s = time.monotonic() + timeout_s
        while not (found := probe()):
            if time.monotonic() > deadline_s:
                lines = tail()
                last = f"; it last wrote:\n{lines}\n" if lines else ""
                raise WaitTimedOutError(
                    f"waited {timeout_s:.0f} s in vain for {what}{last}",
                    where=where,
                    fix="The log says how far it came; on a slow machine, try again.",
                )
            if self._closed.wait(_POLL_S):
                raise LabError(
                    f"the lab was closed while waiting for {what}",
                    where=where,
                    fix="Start a new lab.",
                )
        return found
