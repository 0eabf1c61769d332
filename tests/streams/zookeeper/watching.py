"""Shared by the tests of the watcher: a watcher that keeps its facts, and a writer."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss, SessionExpiredError
from kazoo.retry import KazooRetry

from migration.observed.facts import (
    NotificationsMissed,
    ZnodeGone,
    ZnodeSeen,
    ZooKeeperBlind,
    ZooKeeperFact,
    ZooKeeperSeen,
)
from migration.observed.znodes import NOTIFICATIONS
from streams.net.security import Security
from streams.zookeeper.ensemble import Ensemble
from streams.zookeeper.known import Known
from streams.zookeeper.sequence import notification_number
from streams.zookeeper.topics import Touched
from streams.zookeeper.watcher import ZooKeeperWatcher

SESSION_TIMEOUT_MS = 4000
"""The least that the lab's ZooKeeper grants: two of its ticks."""

CLUSTER = b'{"version":"1","id":"AAAAAAAAAAAAAAAAAAAAAA"}'
"""`/cluster/id`; without it the watcher has an error."""

EVENT = f"{NOTIFICATIONS}/log_dir_event_"
_QUIET = logging.getLogger("kraftgate.tests.streams.zookeeper")
_QUIET.setLevel(logging.CRITICAL)
_WAIT_S = 180.0

T = TypeVar("T")


def wall_ms() -> int:
    return time.time_ns() // 1_000_000


class Watched:
    """A watcher and every fact that it reported, in order."""

    def __init__(
        self,
        connect: str,
        known: Known | None = None,
        *,
        clock: Callable[[], int] = wall_ms,
        touched: Touched = lambda _: None,
        security: Security | None = None,
    ) -> None:
        self.facts: list[ZooKeeperFact] = []
        self.refuse: Exception | None = None
        self._lock = threading.Lock()
        config = Ensemble(
            connect=connect,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            security=security or Security(),
        )
        self.watcher = ZooKeeperWatcher(config, known or Known(), self._append, clock, touched)

    def _append(self, facts: Sequence[ZooKeeperFact]) -> None:
        with self._lock:
            if self.refuse is not None:
                raise self.refuse
            self.facts.extend(facts)

    def appended(self) -> tuple[ZooKeeperFact, ...]:
        with self._lock:
            return tuple(self.facts)

    def of(self, path: str) -> list[ZnodeSeen | ZnodeGone]:
        return [
            f for f in self.appended() if isinstance(f, ZnodeSeen | ZnodeGone) and f.path == path
        ]

    def kinds(self, start: int = 0) -> list[type]:
        return [type(fact) for fact in self.appended()[start:]]

    def until(self, holds: Callable[[], T]) -> T:
        deadline = time.monotonic() + _WAIT_S
        while not (value := holds()):
            assert time.monotonic() < deadline, (self.watcher.status(), self.appended())
            time.sleep(0.01)
        return value

    def until_seen(self, times: int = 1) -> ZooKeeperSeen:
        def last() -> ZooKeeperSeen | None:
            seen = [fact for fact in self.appended() if isinstance(fact, ZooKeeperSeen)]
            return seen[-1] if len(seen) == times else None

        found = self.until(last)
        assert found is not None
        return found

    def until_blind(self, times: int = 1) -> ZooKeeperBlind:
        def last() -> ZooKeeperBlind | None:
            blind = [fact for fact in self.appended() if isinstance(fact, ZooKeeperBlind)]
            return blind[-1] if len(blind) == times else None

        found = self.until(last)
        assert found is not None
        return found

    def until_of(self, path: str, number: int) -> ZnodeSeen | ZnodeGone:
        self.until(lambda: len(self.of(path)) >= number)
        return self.of(path)[number - 1]

    def until_waiting(self, words: str) -> None:
        self.until(lambda: words in (self.watcher.status().waiting or ""))

    def until_unreachable(self, words: str = "") -> None:
        self.until_waiting("no ZooKeeper reachable")
        self.until_waiting(words)

    def until_accounted(self, number: int) -> None:
        self.until(lambda: accounted(self.appended()).total() >= number)

    def known(self) -> Known:
        return Known(self.appended())


@contextmanager
def watching(connect: str, known: Known | None = None, **options: Any) -> Iterator[Watched]:
    watched = Watched(connect, known, **options)
    watched.watcher.start()
    try:
        yield watched
    finally:
        watched.watcher.stop()


def accounted(facts: Iterable[ZooKeeperFact]) -> Counter[int]:
    """Return how often each notification was read or counted as missed."""
    counter: Counter[int] = Counter()
    for fact in facts:
        if isinstance(fact, NotificationsMissed):
            counter.update(range(fact.first, fact.first + fact.number))
        elif isinstance(fact, ZnodeSeen):
            number = notification_number(fact.path)
            counter.update([] if number is None else [number])
    return counter


class Writer:
    """Writes to ZooKeeper as Kafka does; retries if the connection was lost."""

    def __init__(self, connect: str, *, session_s: float = 5, **options: Any) -> None:
        self.client = KazooClient(
            connect,
            timeout=session_s,  # kazoo waits as long for a server that accepts but is not ready
            logger=_QUIET,
            connection_retry=KazooRetry(max_tries=-1, max_delay=0.5),
            **options,
        )
        self.client.start_async().wait(20)

    def create(self, path: str, data: bytes | None = b"", **options: Any) -> str:
        return str(self._retry(self.client.create, path, data, makepath=True, **options))

    def notify(self, data: bytes = b'{"version":1,"broker":2,"event":1}') -> str:
        return self.create(EVENT, data, sequence=True)

    def set(self, path: str, data: bytes | None) -> None:
        self._retry(self.client.set, path, data)

    def delete(self, path: str) -> None:
        self._retry(self.client.delete, path, recursive=True)

    def _retry(self, call: Callable[..., T], *args: Any, **options: Any) -> T:
        deadline = time.monotonic() + _WAIT_S
        while True:
            try:
                return call(*args, **options)
            except (ConnectionLoss, SessionExpiredError):
                assert time.monotonic() < deadline
                time.sleep(0.05)

    def close(self) -> None:
        self.client.stop()
        self.client.close()


def end_session(connect: str, identity: tuple[int, bytes]) -> None:
    """End a client's session: another one with its password can, and for its owner it expires.

    ZooKeeper then closes the owner's connection. An owner that reconnects before the other one ends
    has its session back.
    """
    deadline = time.monotonic() + _WAIT_S
    while True:
        thief = Writer(connect, client_id=identity)
        got = thief.client.client_id
        thief.close()
        if got is not None and got[0] != identity[0]:
            return
        assert time.monotonic() < deadline


def data(fact: ZnodeSeen | ZnodeGone) -> bytes:
    assert isinstance(fact, ZnodeSeen), fact
    return fact.data
