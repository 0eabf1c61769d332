"""The client of ZooKeeper: kazoo's, with two features that kazoo lacks.

They are a user whose password is read again at each connection, and a watch on a path and
everything below it. ZooKeeper has had such watches since 3.6 (ZOOKEEPER-1416: AddWatchRequest,
PERSISTENT_RECURSIVE); kazoo 2.11 does not: python-zk/kazoo pull request 715 has been open since
2023. The watches last until their connection is lost. Neither kazoo nor this client sets them
again: the caller does, and reads everything.

kazoo reconnects by itself, with back-off, within one session and from an expired one to the next.
It has one limit: it sends every server the last transaction that it received, and a ZooKeeper that
lost its data rejects such a client for ever (python-zk/kazoo issue 42). So the user of a client
closes it after a while and creates a new one.
"""

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final, TypeAlias

from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionDropped, KazooException, UnimplementedError
from kazoo.interfaces import IAsyncResult
from kazoo.protocol.connection import ConnectionHandler
from kazoo.protocol.serialization import Connect, Watch, int_struct, write_string
from kazoo.protocol.states import EVENT_TYPE_MAP
from kazoo.retry import KazooRetry

from streams.net.errors import AuthenticationFailed
from streams.net.security import Security
from streams.zookeeper.dialing import Handler
from streams.zookeeper.ensemble import Ensemble

# Lost connections are expected, and the caller reports those that matter. On the level DEBUG kazoo
# would print requests, and so passwords.
_KAZOO_LOG: Final = logging.getLogger("kraftgate.zookeeper.kazoo")
_KAZOO_LOG.setLevel(logging.CRITICAL)
_log: Final = logging.getLogger(__name__)

_BACKOFF_S_MAX: Final = 2.0

_ADD_WATCH: Final = 106
"""ZooDefs.OpCode.addWatch."""
_PERSISTENT_RECURSIVE: Final = 1
"""AddWatchMode."""

OnEvent: TypeAlias = Callable[[str, str], None]
"""Called with an event's type (`kazoo.protocol.states.EventType`) and the path below the chroot."""


@dataclass(frozen=True, slots=True)
class _AddWatch:
    """An AddWatchRequest in the form of kazoo's own requests."""

    type: ClassVar[int] = _ADD_WATCH
    path: str

    def serialize(self) -> bytes:
        return bytes(write_string(self.path) + int_struct.pack(_PERSISTENT_RECURSIVE))

    @classmethod
    def deserialize(cls, _answer: bytes, _offset: int) -> None:
        """Do nothing: an answer without an error is empty."""


class _Connection(ConnectionHandler):  # type: ignore[misc] # kazoo is not typed
    """Authenticates again at each connection, and forwards events of recursive watches.

    kazoo would drop those events.
    """

    def _connect(self, host: str, hostip: str, port: int) -> tuple[float, float]:
        try:
            self.client.auth_data = _digest_of(self.client.security)
        except AuthenticationFailed as error:
            self.handler.tried[f"{host}:{port}"] = str(error)
            raise ConnectionDropped(str(error)) from error
        timeouts: tuple[float, float] = super()._connect(host, hostip, port)
        return timeouts

    def _invoke(self, timeout: float, request: object, xid: int | None = None) -> object:
        answer = super()._invoke(timeout, request, xid)
        if isinstance(request, Connect) and answer[0].time_out > 0:
            self.client.session_timeout_s = answer[0].time_out / 1000
        return answer

    def _read_watch_event(self, buffer: bytes, offset: int) -> None:
        event, _ = Watch.deserialize(buffer, offset)
        self.client.dispatch(event)
        super()._read_watch_event(buffer, offset)


class Client(KazooClient):  # type: ignore[misc] # kazoo is not typed
    """kazoo's client with `Security`, and with watches on whole branches.

    Attributes:
        event_at: when the connection received its last event, of any watch; monotonic.
        has_branches: whether the server supports recursive watches; None: not yet asked.
    """

    handler: Handler

    def __init__(
        self,
        ensemble: Ensemble,
        on_state: Callable[["Client", str, str], None] = lambda _client, _state, _server: None,
    ) -> None:
        """Prepare the client; `open` begins to connect, and retries until `end`.

        Args:
            ensemble: The ZooKeeper; paths are relative to its chroot.
            on_state: Called by kazoo's thread with the client, each new KazooState, and the server
                (host:port); must not block.
        """
        self.security = ensemble.security
        super().__init__(
            hosts=ensemble.hosts + ensemble.chroot,
            timeout=ensemble.session_timeout_ms / 1000,
            handler=Handler(ensemble.security),
            # With kazoo's default the time between two attempts grows to a minute.
            connection_retry=KazooRetry(max_tries=-1, delay=0.1, max_delay=_BACKOFF_S_MAX),
            logger=_KAZOO_LOG,
        )
        made: ConnectionHandler = self._connection
        self._connection: ConnectionHandler = _Connection(
            self, made.retry_sleeper, logger=self.logger, sasl_options=made.sasl_options
        )
        self._branches: dict[str, OnEvent] = {}
        self.event_at = -math.inf
        self.has_branches: bool | None = None
        self.session_timeout_s = ensemble.session_timeout_ms / 1000
        """As the server last granted it, before that as requested; kazoo stores only the latter."""
        self._hosts = ensemble.hosts
        # The server now: when the receiver processes this, kazoo may already try the next one.
        self.add_listener(lambda state: on_state(self, state, self.handler.server or self._hosts))

    def open(self) -> None:
        """Begin to connect; `on_state` reports success."""
        self.start_async()

    def end(self) -> None:
        """End the session and the threads; takes up to a session timeout if a server hangs."""
        try:
            self.stop()
            self.close()
        except (KazooException, OSError) as error:
            # The client is discarded; its session expires by itself.
            _log.debug("kazoo did not stop in order: %r", error)

    @property
    def session_id(self) -> int | None:
        """None while there is no connection."""
        identity = self.client_id
        return None if identity is None else int(identity[0])

    def why_not(self) -> str:
        tried = dict(self.handler.tried)
        if not tried:
            return f"no ZooKeeper reachable: {self._hosts} not connected yet"
        words = ", ".join(f"{server}: {why}" for server, why in sorted(tried.items()))
        return f"no ZooKeeper reachable: {words}"

    def listen(self, path: str, on_event: OnEvent) -> None:
        """Report each event of any watch at or below `path`, now and after each reconnection.

        Args:
            path: It need not exist.
            on_event: Called by the thread that receives the event, before kazoo's own callbacks; it
                must neither wait nor raise.
        """
        self._branches[path] = on_event

    def watch_below_async(self, path: str, on_event: OnEvent) -> IAsyncResult:
        """Set a watch that reports each creation, deletion and change of data at or below `path`.

        ZooKeeper reports nothing about a znode that this session may not read. A server before 3.6
        answers UnimplementedError and closes the connection; it does so before it answers earlier
        requests (UnimplementedRequestProcessor), which kazoo does not survive. So while
        `has_branches` is None, call this only when no other request is open.

        Args:
            path: It need not exist.
            on_event: Called by kazoo's thread, in ZooKeeper's order, before the answer of any
                request that was answered later; it must neither wait nor raise.
        """
        result = self.handler.async_result()
        result.rawlink(self._learn)
        self.listen(path, on_event)
        self._call(_AddWatch(self.chroot + path), result)
        return result

    def _learn(self, result: IAsyncResult) -> None:
        if result.successful():
            self.has_branches = True
        elif isinstance(result.exception, UnimplementedError):
            self.has_branches = False

    def dispatch(self, event: Watch) -> None:
        self.event_at = time.monotonic()
        path, kind = self.unchroot(event.path), EVENT_TYPE_MAP.get(event.type)
        for branch, on_event in self._branches.items():
            if kind is not None and (path == branch or path.startswith(f"{branch}/")):
                on_event(kind, path)


def _digest_of(security: Security) -> set[tuple[str, str]]:
    """Return the user's credentials in kazoo's form; empty without a user name."""
    if security.username is None:
        return set()
    return {("digest", f"{security.username}:{security.password() or ''}")}
