"""Reads log directory notifications in a process of its own, so that nothing else delays it.

    python -m streams.zookeeper.notification_process

`streams.zookeeper.read_ahead` starts it, and combines the notifications with the listing. The names
of the next ones are known in advance: when the parent changes, kazoo's own thread asks for
`AHEAD` of them at once, and for the listing that sets the watch again, in one round trip.

Input and output are JSON, one message a line. Input: the ensemble; then numbers, each a request to
catch up, or null: begin with another session. The process ends with its input, which the death of
its parent ends too. Output: `Message`.
"""

import base64
import json
import signal
import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, TypeAlias

from kazoo.exceptions import NoNodeError
from kazoo.interfaces import IAsyncResult
from kazoo.protocol.states import KazooState, WatchedEvent

from migration.observed.znodes import NOTIFICATIONS
from streams.process.child import tell_parent
from streams.zookeeper.client import Client
from streams.zookeeper.ensemble import Ensemble, parse_ensemble
from streams.zookeeper.sequence import creations, notification_number, notification_path

AHEAD: Final = 16
"""How many of the next names are requested when the parent changes."""

_LISTED_MAX: Final = 64
"""How many listed notifications are read at once, the latest: see `session.IN_FLIGHT_MAX`."""

_STOP_S: Final = 3
"""Time to end the session; then the process is killed, and the session expires."""

Message: TypeAlias = tuple[str, bool] | tuple[str, int] | tuple[str, int, str, tuple[int, ...]]
"""("watching", whether it watches), ("caught up", number of the request), or ("read", number of the
notification, data in base64, the fields of kazoo's ZnodeStat)."""


class _Reader:
    """Reads the notifications through one client."""

    def __init__(self, ensemble: Ensemble, write: Callable[[Message], None]) -> None:
        self._write = write
        self._next: int | None = None
        self._client = Client(ensemble, self._state_changed)
        self._client.listen(NOTIFICATIONS, self._fired)
        self._client.open()

    def end(self) -> None:
        self._client.end()

    def catch_up(self, request: int) -> None:
        """Read all notifications created so far that still exist, then answer the request."""
        done = partial(self._write, ("caught up", request))
        # The server of this session may be behind the one that the parent's process asked.
        self._client.sync_async("/").rawlink(lambda _: self._request(done))

    def _state_changed(self, _client: Client, state: str, _server: str) -> None:
        if state == KazooState.CONNECTED:
            self._request(partial(self._write, ("watching", True)))
        else:
            self._write(("watching", False))

    def _fired(self, _kind: str, path: str) -> None:
        if path == NOTIFICATIONS:
            self._request()

    def _request(self, done: Callable[[], None] = lambda: None) -> None:
        """Ask for the next names and for the listing; called by kazoo's threads, never waits."""
        first, found = self._next, set[int]()
        if first is not None:
            for number in range(first, first + AHEAD):
                self._read(number, found, lambda: None)
        self._client.get_children_async(
            NOTIFICATIONS, watch=_reported_already, include_data=True
        ).rawlink(partial(self._listed, first or 0, found, done))

    def _read(self, number: int, found: set[int], done: Callable[[], None]) -> None:
        def answered(result: IAsyncResult) -> None:
            if result.successful():
                data, stat = result.value
                found.add(number)
                self._write(("read", number, base64.b64encode(data or b"").decode(), tuple(stat)))
            elif self._next is not None and not isinstance(result.exception, NoNodeError):
                self._next = min(self._next, number)  # the next connection reads it again
            done()

        self._client.get_async(notification_path(number)).rawlink(answered)

    def _listed(
        self, first: int, found: set[int], done: Callable[[], None], result: IAsyncResult
    ) -> None:
        if isinstance(result.exception, NoNodeError):
            self._next = 0
            self._await_parent(done)
        elif result.successful():
            names, stat = result.value
            end = creations(stat.cversion, stat.numChildren)
            self._next = end
            # After the parent was created again its children count from 0.
            start = first if first <= end else 0
            self._read_listed([n for n in _numbers(names) if start <= n < end], found, done)

    def _read_listed(self, numbers: list[int], found: set[int], done: Callable[[], None]) -> None:
        left = sorted(set(numbers) - found)[-_LISTED_MAX:]
        for number in left:
            # ZooKeeper answers in order, so the last answer is the end.
            self._read(number, found, done if number == left[-1] else lambda: None)
        if not left:
            done()

    def _await_parent(self, done: Callable[[], None]) -> None:
        def answered(result: IAsyncResult) -> None:
            if result.successful() and result.value is not None:
                self._request(done)  # it was created in the meantime
            elif result.successful():
                done()

        self._client.exists_async(NOTIFICATIONS, watch=_reported_already).rawlink(answered)


def _reported_already(_event: WatchedEvent) -> None:
    """Do nothing: `Client.listen` reports the event earlier, in the thread that receives it."""


def _numbers(names: Iterable[str]) -> list[int]:
    numbers = (notification_number(f"{NOTIFICATIONS}/{name}") for name in names)
    return [number for number in numbers if number is not None]


def _tell(message: Message) -> None:
    tell_parent(json.dumps(message))


def main() -> None:
    """Read notifications until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends the input
    ensemble = parse_ensemble(sys.stdin.readline())
    reader = _Reader(ensemble, _tell)
    for line in sys.stdin:
        request = json.loads(line)
        if request is None:
            reader.end()
            reader = _Reader(ensemble, _tell)
        else:
            reader.catch_up(request)
    signal.alarm(_STOP_S)
    reader.end()


if __name__ == "__main__":
    main()
