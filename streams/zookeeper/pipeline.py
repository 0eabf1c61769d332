"""Many requests through one session, with a limit on those in flight."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from kazoo.interfaces import IAsyncResult

from streams.zookeeper.errors import ZooKeeperError
from streams.zookeeper.session import Session


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
        """Whether every request was answered."""
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
