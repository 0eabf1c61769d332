"""Browsers that gave the token once and may read since: an event stream cannot carry a header.

A session lets nobody change anything: a browser would send its cookie also where it should not.
"""

import secrets
from collections.abc import Mapping
from typing import Final

_KEPT_MAX: Final = 256
_BYTES: Final = 32


class Sessions:
    """The sessions of this process, the newest of them."""

    def __init__(self, port: int) -> None:
        self._kept: dict[str, None] = {}
        # Browsers share cookies among the ports of a host.
        self.cookie: Final = f"kraftgate-{port}"

    def begin(self) -> str:
        """Make one: the cookie's value."""
        made = secrets.token_urlsafe(_BYTES)
        self._kept[made] = None
        while len(self._kept) > _KEPT_MAX:
            del self._kept[next(iter(self._kept))]
        return made

    def holds(self, cookies: Mapping[str, str]) -> bool:
        """Whether a browser has one."""
        given = cookies.get(self.cookie, "").encode()
        return any(secrets.compare_digest(given, each.encode()) for each in self._kept)
