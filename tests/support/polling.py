"""Wait for what another process or a real cluster does."""

import time
from collections.abc import Callable, Iterator

PATIENCE_S = 180.0
_PAUSE_S_MAX = 5.0


def polls(timeout_s: float = PATIENCE_S, pause_s_min: float = 0.1) -> Iterator[None]:
    """Yield at once, then again and again until the time is up.

    A pause is eight times as long as its poll, which leaves the processor to other processes, and
    at most 5 s, because the poll itself may have waited.
    """
    deadline_s = time.monotonic() + timeout_s
    began_s = time.monotonic()
    while began_s < deadline_s:
        yield
        time.sleep(min(max(pause_s_min, 8 * (time.monotonic() - began_s)), _PAUSE_S_MAX))
        began_s = time.monotonic()


def until(
    holds: Callable[[], object], what: str = "", seen: Callable[[], object] = lambda: ""
) -> None:
    """Poll until it holds; `what`, `seen`: for the message of a failure."""
    for _ in polls(pause_s_min=0.02):
        if holds():
            return
    raise AssertionError(f"not within {PATIENCE_S} s: {what}; {seen()}")
