"""The link: one kazoo client, and what became of its attempts to connect.

kazoo reconnects by itself, with back-off, within one session and from an expired one to the next.
One thing it cannot: it tells every server the last transaction that it saw, and a ZooKeeper that
lost its data refuses such a client for ever (python-zk/kazoo issue 42). So who uses a link gives
it up after a while and makes a new one.
"""

import logging
import socket
from collections.abc import Callable
from typing import Any, Final

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError, SequentialThreadingHandler
from kazoo.retry import KazooRetry

from streams.zookeeper.config import WatcherConfig

_BACKOFF_S_MAX: Final = 2.0
# Lost connections are expected here; what matters of them is told by the watcher's status.
_KAZOO_LOG: Final = logging.getLogger("kraftgate.zookeeper.kazoo")
_KAZOO_LOG.setLevel(logging.CRITICAL)
_log: Final = logging.getLogger(__name__)


class _Handler(SequentialThreadingHandler):  # type: ignore[misc] # kazoo is not typed
    """Remembers how each attempt to connect ended, which kazoo only logs."""

    def __init__(self) -> None:
        super().__init__()
        self.tried: dict[str, str] = {}
        self.server: str | None = None

    def create_connection(self, *args: Any, **kwargs: Any) -> socket.socket:  # noqa: ANN401 kazoo's
        """Connect as kazoo does."""
        server = f"{kwargs['hostname']}:{kwargs['address'][1]}"
        try:
            made: socket.socket = super().create_connection(*args, **kwargs)
        except (OSError, KazooTimeoutError) as error:
            self.tried[server] = getattr(error, "strerror", None) or str(error) or "no answer"
            raise
        self.tried[server] = "it accepts connections, but gives no session"
        self.server = server
        return made


class Link:
    """A client that connects, and goes on connecting, until it is closed."""

    def __init__(self, config: WatcherConfig, on_state: Callable[["Link", str], None]) -> None:
        """Prepare; nothing is opened before `open`.

        Args:
            config: Where ZooKeeper is.
            on_state: Told each new KazooState of this link by kazoo's thread; must not block.
        """
        self._config = config
        self._handler = _Handler()
        self.client = KazooClient(
            hosts=config.hosts + config.chroot,
            timeout=config.session_timeout_ms / 1000,
            handler=self._handler,
            connection_retry=KazooRetry(max_tries=-1, delay=0.1, max_delay=_BACKOFF_S_MAX),
            logger=_KAZOO_LOG,
        )
        self.client.add_listener(lambda state: on_state(self, state))

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
        """host:port that was connected last; None before the first."""
        return self._handler.server

    @property
    def session(self) -> int | None:
        """The session's id; None while there is no connection."""
        identity = self.client.client_id
        return None if identity is None else int(identity[0])

    @property
    def zxid(self) -> int:
        """The latest transaction that the server had applied at its last answer."""
        return int(self.client.last_zxid)

    def why_not(self) -> str:
        """Say why there is no connection."""
        tried = dict(self._handler.tried)
        if not tried:
            return f"no ZooKeeper reachable: {self._config.hosts} not connected yet"
        words = ", ".join(f"{server}: {why}" for server, why in sorted(tried.items()))
        return f"no ZooKeeper reachable: {words}"
