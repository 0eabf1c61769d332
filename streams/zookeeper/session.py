"""One connected period: its requests to ZooKeeper, and when everything was read once.

Requests are asynchronous. Their answers and the watches are passed to the watcher's thread by
`post`, in ZooKeeper's order; kazoo's threads do nothing else.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from kazoo.interfaces import IAsyncResult
from kazoo.protocol.states import EventType, WatchedEvent

from streams.zookeeper.client import Client
from streams.zookeeper.errors import NoAnswer, NoNode, ZooKeeperError, error_of

IN_FLIGHT_MAX: Final = 100
"""The maximum number of open requests.

kazoo wakes its thread by a byte for each request, through a socket pair that holds 278 bytes on
Linux and is not emptied when the connection is lost: a thread that sends further requests, or stops
the client, would then block for ever. As many requests again as are in flight may be sent before
the loss is noticed.
"""

Action: TypeAlias = Callable[[], None]


class Session:
    """Sends requests, sets watches, and counts the open requests."""

    def __init__(
        self,
        client: Client,
        post: Callable[["Session", Action], None],
        on_complete: Callable[["Session"], None],
        on_broken: Callable[[str], None],
    ) -> None:
        """Prepare the session; `begin` sends the first request.

        Args:
            client: A connected client.
            post: Called by kazoo's threads: passes the action to the watcher's thread.
            on_complete: Called once, when all requests of `begin` were answered.
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
        self.answered_at = -math.inf
        self.complete = False
        self.refusals: dict[str, str] = {}

    def begin(self, *readings: Action) -> None:
        """Run the readings on the leader's current state."""

        def synced(_path: object) -> None:
            for reading in readings:
                reading()

        self._reading = True
        # Without the sync a server that lags behind could return a state older than the emitted
        # one.
        self.ask(self.client.sync_async, "/", synced)
        self._reading = False

    def ask(
        self,
        request: Callable[..., IAsyncResult],
        path: str,
        answered: Callable[[Any], None],
        refused: Callable[[ZooKeeperError], bool] = lambda _: False,
        **options: Any,  # noqa: ANN401 each of kazoo's requests has its own
    ) -> None:
        """Send a request as soon as fewer than `IN_FLIGHT_MAX` are open.

        Args:
            request: A method of the client that ends in `_async`.
            path: Its path.
            answered: Called with the answer by the watcher's thread; with None if the znode does
                not exist.
            refused: Called likewise with ZooKeeper's refusal; returns whether it handles the
                refusal. A refusal that is not handled is added to `refusals`.
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

    def post(self, action: Action) -> None:
        """Have the watcher's thread call `action`, unless this session was discarded by then."""
        self._post(self, action)

    def watch(self, path: str, reread: Action) -> Callable[[WatchedEvent], None]:
        """Return the watch for a path, always the same one, so that kazoo stores it once."""

        def fired(event: WatchedEvent) -> None:
            # kazoo fires every watch with NONE when the connection is lost: the znode did not
            # change.
            if event.type != EventType.NONE:
                self._post(self, reread)

        return self._watches.setdefault(path, fired)

    @property
    def open(self) -> int:
        return len(self._asked_at) + len(self._waiting)

    def unanswered_s(self) -> float:
        """Return for how many seconds a request has been open without any message from the server.

        Answers follow all earlier events, which may be a hundred thousand.
        """
        now = time.monotonic()
        return now - max(self.client.event_at, min(self._asked_at.values(), default=now))

    def _take(
        self,
        number: int,
        path: str,
        result: IAsyncResult,
        answered: Callable[[Any], None],
        refused: Callable[[ZooKeeperError], bool],
    ) -> None:
        del self._asked_at[number]
        error = None if result.exception is None else error_of(result.exception)
        if isinstance(error, NoAnswer):
            self._on_broken(str(error))
            return
        self.answered_at = time.monotonic()
        self._reading = number in self._unread
        try:
            if error is None or isinstance(error, NoNode):
                self.refusals.pop(path, None)
                answered(None if error else result.value)
            elif not refused(error):
                self.refusals[path] = str(error)
        finally:
            self._reading = False
            self._unread.discard(number)
        self._send()
        if not self._unread and not self.complete:
            self.complete = True
            self._on_complete(self)


class Request(NamedTuple):
    """A request to send; the arguments of `Session.ask`."""

    request: Callable[..., IAsyncResult]
    path: str
    answered: Callable[[Any], None]
    refused: Callable[[ZooKeeperError], bool] = lambda _: False


class Pipeline:
    """Sends requests through a session, at most `in_flight_max` at a time.

    Pending requests are generated only when they are sent. The requests that were added last are
    sent first.
    """

    def __init__(self, session: Session, in_flight_max: int) -> None:
        self._session = session
        self._in_flight_max = in_flight_max
        self._in_flight = 0
        self._waiting: list[Iterator[Request]] = []

    @property
    def idle(self) -> bool:
        return not self._in_flight and not self._waiting

    def add(self, requests: Iterable[Request]) -> None:
        """Send requests, before the pending ones."""
        self._waiting.append(iter(requests))
        self._send()

    def _send(self) -> None:
        while self._waiting and self._in_flight < self._in_flight_max:
            request = next(self._waiting[-1], None)
            if request is None:
                self._waiting.pop()
            else:
                self._in_flight += 1
                self._session.ask(
                    request.request,
                    request.path,
                    partial(self._answered, request.answered),
                    partial(self._refused, request.refused),
                )

    def _answered(self, answered: Callable[[Any], None], value: object) -> None:
        self._in_flight -= 1
        answered(value)
        self._send()

    def _refused(self, refused: Callable[[ZooKeeperError], bool], why: ZooKeeperError) -> bool:
        self._in_flight -= 1
        provided = refused(why)
        self._send()
        return provided
