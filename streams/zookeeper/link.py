"""One kazoo client, and the results of its attempts to connect.

kazoo reconnects by itself, with back-off, within one session and from an expired one to the next.
It has one limit: it sends every server the last transaction that it received, and a ZooKeeper that
lost its data refuses such a client for ever (python-zk/kazoo issue 42). So the user of a link
closes it after a while and creates a new one.
"""

import logging
from collections.abc import Callable
from typing import Final

from kazoo.exceptions import KazooException

from streams.zookeeper.client import Client
from streams.zookeeper.ensemble import Ensemble

_log: Final = logging.getLogger(__name__)


class Link:
    """A client that connects, and retries until it is closed."""

    def __init__(self, config: Ensemble, on_state: Callable[["Link", str, str], None]) -> None:
        """Prepare the link; `open` opens the first connection.

        Args:
            config: The ZooKeeper.
            on_state: Called by kazoo's thread with each new KazooState of this link, and the server
                (host:port); must not block.
        """
        self._config = config
        self.client = Client(config)
        # The server now: when the receiver processes this, kazoo may already try the next one.
        self.client.add_listener(lambda state: on_state(self, state, self.server or config.hosts))

    def open(self) -> None:
        """Begin to connect; `on_state` reports success."""
        self.client.start_async()

    def close(self) -> None:
        """End the session and the threads; takes up to a session timeout if a server hangs."""
        try:
            self.client.stop()
            self.client.close()
        except (KazooException, OSError) as error:
            # The client is discarded; its session expires by itself.
            _log.debug("kazoo did not stop in order: %r", error)

    @property
    def server(self) -> str | None:
        """host:port of the last connection or attempt; None before the first."""
        return self.client.handler.server

    @property
    def session(self) -> int | None:
        """The session's id; None while there is no connection."""
        identity = self.client.client_id
        return None if identity is None else int(identity[0])

    @property
    def session_timeout_s(self) -> float:
        """The session timeout that the server granted; before that, the requested one."""
        granted = self.client.session_timeout_s
        return self._config.session_timeout_ms / 1000 if granted is None else granted

    @property
    def zxid(self) -> int:
        """The latest transaction that the server had applied at its last answer."""
        return int(self.client.last_zxid)

    def why_not(self) -> str:
        """Return why there is no connection."""
        tried = dict(self.client.handler.tried)
        if not tried:
            return f"no ZooKeeper reachable: {self._config.hosts} not connected yet"
        words = ", ".join(f"{server}: {why}" for server, why in sorted(tried.items()))
        return f"no ZooKeeper reachable: {words}"
