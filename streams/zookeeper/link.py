"""The link: one kazoo client, and what became of its attempts to connect.

kazoo reconnects by itself, with back-off, within one session and from an expired one to the next.
One thing it cannot: it tells every server the last transaction that it saw, and a ZooKeeper that
lost its data refuses such a client for ever (python-zk/kazoo issue 42). So who uses a link gives
it up after a while and makes a new one.
"""

import logging
from collections.abc import Callable
from typing import Final

from kazoo.exceptions import KazooException

from streams.zookeeper.client import Client
from streams.zookeeper.ensemble import Ensemble

_log: Final = logging.getLogger(__name__)


class Link:
    """A client that connects, and goes on connecting, until it is closed."""

    def __init__(self, config: Ensemble, on_state: Callable[["Link", str, str], None]) -> None:
        """Prepare; nothing is opened before `open`.

        Args:
            config: Where ZooKeeper is.
            on_state: Told each new KazooState of this link, and of which server (host:port), by
                kazoo's thread; must not block.
        """
        self._config = config
        self.client = Client(config)
        # The server now: by the time that somebody takes this up, kazoo tries the next one.
        self.client.add_listener(lambda state: on_state(self, state, self.server or config.hosts))

    def open(self) -> None:
        """Begin to connect; `on_state` tells of success."""
        self.client.start_async()

    def close(self) -> None:
        """End the session and the threads; up to a session timeout while a server hangs."""
        try:
            self.client.stop()
            self.client.close()
        except (KazooException, OSError) as error:
            # The client is given up; its session ends by itself.
            _log.debug("kazoo did not stop in order: %r", error)

    @property
    def server(self) -> str | None:
        """host:port that was connected, or tried, last; None before the first."""
        return self.client.handler.server

    @property
    def session(self) -> int | None:
        """The session's id; None while there is no connection."""
        identity = self.client.client_id
        return None if identity is None else int(identity[0])

    @property
    def session_timeout_s(self) -> float:
        """The session timeout that the server granted; before it did, the one to ask for."""
        granted = self.client.session_timeout_s
        return self._config.session_timeout_ms / 1000 if granted is None else granted

    @property
    def zxid(self) -> int:
        """The latest transaction that the server had applied at its last answer."""
        return int(self.client.last_zxid)

    def why_not(self) -> str:
        """Say why there is no connection."""
        tried = dict(self.client.handler.tried)
        if not tried:
            return f"no ZooKeeper reachable: {self._config.hosts} not connected yet"
        words = ", ".join(f"{server}: {why}" for server, why in sorted(tried.items()))
        return f"no ZooKeeper reachable: {words}"
