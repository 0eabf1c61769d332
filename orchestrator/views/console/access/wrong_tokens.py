"""Limits the wrong tokens of each client; the caller records them."""

import ipaddress
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from orchestrator.views.console.access.bearer_token import Token
from orchestrator.views.console.access.refusals import Refused

WRONG_MAX: Final = 10
"""After this number of wrong tokens from one address within `WINDOW_S`, tokens are not checked."""
WINDOW_S: Final = 60.0
_ADDRESSES_MAX: Final = 1024


@dataclass(slots=True)
class _Tries:
    began_s: float
    wrong: int = 0


class WrongTokens:
    """Decides whether a request's token is checked. One thread uses it.

    All local users share the addresses of loopback, so there the right token is always accepted.

    Args:
        clock_s: A monotonic clock.
    """

    def __init__(self, token: Token, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._token = token
        self._clock_s = clock_s
        self._tries: dict[str, _Tries] = {}

    def check(self, given: str, host: str) -> int | None:
        """Return None for the right token, else the number of recent wrong ones, with this one.

        Raises:
            Refused: too many were wrong; this one was not checked.
        """
        tries = self._tries_of(host)
        limited = tries.wrong >= WRONG_MAX
        if limited and not ipaddress.ip_address(host).is_loopback:
            raise self._slow_down(tries, must_wait=True)
        if self._token.is_it(given):
            return None
        tries.wrong += 1
        if limited:
            raise self._slow_down(tries, must_wait=False)
        return tries.wrong

    def _tries_of(self, host: str) -> _Tries:
        if ipaddress.ip_address(host).is_loopback:
            host = "loopback"  # a local user has all of its addresses
        tries = self._tries.get(host)
        now_s = self._clock_s()
        if tries is None or now_s - tries.began_s >= WINDOW_S:
            self._tries.pop(host, None)
            tries = self._tries[host] = _Tries(began_s=now_s)
            if len(self._tries) > _ADDRESSES_MAX:
                del self._tries[next(iter(self._tries))]
        return tries

    def _slow_down(self, tries: _Tries, *, must_wait: bool) -> Refused:
        left_s = int(tries.began_s + WINDOW_S - self._clock_s()) + 1
        return Refused(
            429,
            "slow_down",
            "too many wrong tokens came from this address",
            f"{f'wait {left_s} s, and ' if must_wait else ''}read the token from its file again",
            {"Retry-After": str(left_s)},
        )
