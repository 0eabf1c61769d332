"""Topics and their settings, below recursive watches, read into the `Emitter` for one session.

The watch is set before the first reading, and topics that it marks meanwhile are read again. A
ZooKeeper without such watches (before 3.6) is polled instead: everything is read every `POLL_S`.
"""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, TypeAlias

from kazoo.protocol.states import ZnodeStat

from migration.observed.topic_facts import ZkTopicsFound
from migration.observed.znodes import TOPIC_CONFIGS, TOPICS
from streams.zookeeper.emitter import Emitter
from streams.zookeeper.errors import Unimplemented, ZooKeeperError
from streams.zookeeper.session import IN_FLIGHT_MAX, Action, Pipeline, Request, Session
from streams.zookeeper.topic_changes import partitions_of
from streams.zookeeper.watch_events import NONE, Names, WatchEvents

POLL_S: Final = 30.0
"""From the beginning of one full reading to the next if there is no watch."""
STATES_EVERY_MS: Final = 10_000
"""The period over which writes of partitions' states are counted before the count is emitted."""
_BRANCHES: Final = (TOPICS, TOPIC_CONFIGS)
_IN_FLIGHT_MAX: Final = IN_FLIGHT_MAX // 2
"""The other half is for znodes that may be deleted before they are read (`notifications`)."""

Touched: TypeAlias = Callable[[Names], object]
"""Called by the watcher's thread with the topics of which anything changed; None: all."""


class Topics:
    """Reads the topics that the watches mark."""

    def __init__(
        self, session: Session, emitter: Emitter, events: WatchEvents, touched: Touched
    ) -> None:
        """Prepare: `session` sends the requests, `emitter` receives each znode found or gone.

        `events` has those of the watches; `touched` receives the topics whose content must be
        compared again.
        """
        self._session = session
        self._client = session.client
        self._emitter = emitter
        self._events = events
        self._touched = touched
        self._pipeline = Pipeline(session, _IN_FLIGHT_MAX)
        self._read_at = -math.inf

    def watch(self, then: Action, branches: Sequence[str] = _BRANCHES) -> None:
        """Set the watches, one after the other, if the server supports them; then call `then`.

        Call it while no other request is open (`Client.watch_below_async`).
        """
        if not branches or self._client.has_branches is False:
            then()
            return
        branch, *others = branches
        self._session.ask(
            self._client.watch_below_async,
            branch,
            lambda _: self.watch(then, others),
            partial(self._is_unknown, then),
            on_event=self._events.add_event,
        )

    def _is_unknown(self, then: Action, why: ZooKeeperError) -> bool:
        if not isinstance(why, Unimplemented):
            return False
        then()  # the server closes the connection: `then` fails, and begins again in the next one
        return True

    def read(self) -> None:
        self._events.take()  # all of it is read below
        self._read_at = time.monotonic()
        for branch in _BRANCHES:
            self._list(branch)

    def complete(self) -> None:
        """Emit the number of topics: all were read in this session."""
        found = [self._emitter.known.znode(path) for path in self._emitter.known.below(TOPICS)]
        partitions = sum(partitions_of(each) for each in found if each is not None)
        self._emitter.emit(ZkTopicsFound(self._emitter.clock(), len(found), partitions))

    def follow(self) -> None:
        """Read the marked topics, once all earlier requests were answered."""
        self.emit_states(self._emitter.clock() - STATES_EVERY_MS)
        if not self._pipeline.idle:
            return
        if not self._client.has_branches:
            if time.monotonic() - self._read_at > POLL_S:
                self.read()
            return
        topics, configs, touched = self._events.take()
        self._read_changed(TOPICS, topics)
        self._read_changed(TOPIC_CONFIGS, configs)
        if touched != NONE:
            self._touched(touched)

    def emit_states(self, before_ms: int) -> None:
        """Emit the count of writes of partitions' states, if it began before `before_ms`."""
        states = self._events.take_states(before_ms)
        if states is not None:
            self._emitter.emit(states)

    def _read_changed(self, branch: str, names: Names) -> None:
        if names is None:
            self._list(branch)
        else:
            self._read(f"{branch}/{name}" for name in sorted(names))

    def _list(self, branch: str) -> None:
        def answered(names: list[str] | None) -> None:
            there = {f"{branch}/{name}" for name in names or ()}
            self._emitter.remove(*sorted(self._emitter.known.below(branch) - there))
            self._read(sorted(there))

        self._pipeline.add([Request(self._client.get_children_async, branch, answered)])

    def _read(self, paths: Iterable[str]) -> None:
        def answered(path: str, found: tuple[bytes | None, ZnodeStat] | None) -> None:
            if found is None:
                self._emitter.remove(path)
            else:
                self._emitter.update(path, *found)

        self._pipeline.add(
            Request(self._client.get_async, path, partial(answered, path)) for path in paths
        )
