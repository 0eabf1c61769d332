"""The sessions of browsers that sent the token and may read: an event stream cannot send a header.

A session permits no action: a browser also sends its cookie with requests of other pages.
"""

import secrets
from collections.abc import Mapping
from typing import Final

_KEPT_MAX: Final = 256
_BYTES: Final = 32


class Sessions:
    """The newest sessions of this process."""

    def __init__(self, port: int) -> None:
        self._kept: dict[str, None] = {}
        # Browsers share the cookies of a host among its ports.
        self.cookie: Final = f"kraftgate-{port}"

    def begin(self) -> str:
        """Begin a session and return the cookie's value."""
        made = secrets.token_urlsafe(_BYTES)
        self._kept[made] = None
        while len(self._kept) > _KEPT_MAX:
            del self._kept[next(iter(self._kept))]
        return made

    def holds(self, cookies: Mapping[str, str]) -> bool:
        """Whether the cookies contain a session."""
        given = cookies.get(self.cookie, "").encode()
        return any(secrets.compare_digest(given, each.encode()) for each in self._kept)
