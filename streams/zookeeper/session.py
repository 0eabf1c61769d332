"""One connected stretch: what is asked of ZooKeeper in it, and when everything was read once.

Requests are asynchronous. Their answers and the watches are handed to the watcher's thread by
`post`, in the order in which ZooKeeper gave them; kazoo's threads do no more than that.
"""

import math
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from kazoo.exceptions import (
    AuthFailedError,
    ConnectionLoss,
    NoNodeError,
    OperationTimeoutError,
    SessionExpiredError,
    SessionMovedError,
    ZookeeperError,
)
from kazoo.interfaces import IAsyncResult
from kazoo.protocol.states import EventType, WatchedEvent

from streams.zookeeper.client import Client

_CONNECTION_ERRORS: Final = (
    AuthFailedError,
    ConnectionLoss,
    OperationTimeoutError,
    SessionExpiredError,
    SessionMovedError,
)

IN_FLIGHT_MAX: Final = 100
"""kazoo wakes its thread by a byte for each request, through a socket pair that holds 278 bytes on
Linux and is not emptied when the connection is lost: whoever asks on, or stops the client, would be
blocked for ever. As many again as are in flight may be asked before the loss is heard of."""

Action: TypeAlias = Callable[[], None]


class Session:
    """Asks, watches, and counts what is still to be answered."""

    def __init__(
        self,
        client: Client,
        post: Callable[["Session", Action], None],
        on_complete: Callable[["Session"], None],
        on_broken: Callable[[str], None],
    ) -> None:
        """Prepare; nothing is asked before `begin`.

        Args:
            client: A connected client.
            post: Called by kazoo's threads: has the action done by the watcher's.
            on_complete: Called once, when all that `begin` asked for was answered.
            on_broken: Called with the reason when the connection fails a request.
        """
        self.client = client
        self._post = post
        self._on_complete = on_complete
        self._on_broken = on_broken
        self._watches: dict[str, Callable[[WatchedEvent], None]] = {}
        self._asked_at: dict[int, float] = {}
        self._waiting: deque[tuple[int, Action]] = deque()
        self._unread: set[int] = set()
        self._reading = False
        self._requests = 0
        self.began_at = time.monotonic()
        self.heard_at = -math.inf
        self.complete = False
        self.refusals: dict[str, str] = {}

    def begin(self, *readings: Action) -> None:
        """Read everything, of the leader's present state."""

        def synced(_path: object) -> None:
            for reading in readings:
                reading()

        self._reading = True
        # Without it a server that lags behind could show a state older than what was emitted.
        self.ask(self.client.sync_async, "/", synced)
        self._reading = False

    def ask(
        self,
        request: Callable[..., IAsyncResult],
        path: str,
        answered: Callable[[Any], None],
        refused: Callable[[BaseException], bool] = lambda _: False,
        **options: Any,  # noqa: ANN401 each of kazoo's requests has its own
    ) -> None:
        """Send a request, as soon as fewer than `IN_FLIGHT_MAX` are open.

        Args:
            request: A method of the client, one that ends in `_async`.
            path: Its path.
            answered: Called with the answer by the watcher's thread; with None for no such znode.
            refused: Called with ZooKeeper's refusal likewise; says whether it is provided for. One
                that is not is named in `refusals`.
            **options: Its further arguments.
        """
        self._requests += 1
        number = self._requests
        if self._reading:
            self._unread.add(number)

        def ready(result: IAsyncResult) -> None:
            self._post(self, lambda: self._take(number, path, result, answered, refused))

        self._waiting.append((number, lambda: request(path, **options).rawlink(ready)))
        self._send()

    def _send(self) -> None:
        while self._waiting and len(self._asked_at) < IN_FLIGHT_MAX:
            number, send = self._waiting.popleft()
            self._asked_at[number] = time.monotonic()
            send()

    def watch(self, path: str, look: Action) -> Callable[[WatchedEvent], None]:
        """Return the watch for a path, always the same one, so that kazoo keeps it once."""

        def fired(event: WatchedEvent) -> None:
            # kazoo fires every watch with NONE when the connection is lost: no news of the znode.
            if event.type != EventType.NONE:
                self._post(self, look)

        return self._watches.setdefault(path, fired)

    @property
    def open(self) -> int:
        """How many requests were not answered yet."""
        return len(self._asked_at) + len(self._waiting)

    def unanswered_s(self) -> float:
        """For how long an open request has been waiting and nothing was heard, seconds.

        Answers come behind the events that came first, which may be a hundred thousand.
        """
        now = time.monotonic()
        return now - max(self.client.heard_at, min(self._asked_at.values(), default=now))

    def _take(
        self,
        number: int,
        path: str,
        result: IAsyncResult,
        answered: Callable[[Any], None],
        refused: Callable[[BaseException], bool],
    ) -> None:
        del self._asked_at[number]
        error = result.exception
        if isinstance(error, _CONNECTION_ERRORS):
            self._on_broken(type(error).__name__)
            return
        self.heard_at = time.monotonic()
        self._reading = number in self._unread
        try:
            if error is None or isinstance(error, NoNodeError):
                self.refusals.pop(path, None)
                answered(None if error else result.value)
            elif not refused(error):
                self.refusals[path] = _words(error)
        finally:
            self._reading = False
            self._unread.discard(number)
        self._send()
        if not self._unread and not self.complete:
            self.complete = True
            self._on_complete(self)


def _words(error: BaseException) -> str:
    if isinstance(error, ZookeeperError):
        return type(error).__name__
    return f"an answer that cannot be read: {error!r}"
