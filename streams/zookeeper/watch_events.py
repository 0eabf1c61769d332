"""The events of the recursive watches since they were last taken: names and counts only.

While a broker restarts, thousands of partitions change in a second. kazoo's thread only adds names
here; their number grows with the topics, and at most to `NAMES_MAX` of them: more count as all
topics.
"""

import threading
from typing import Final, NamedTuple, TypeAlias

from kazoo.protocol.states import EventType

from migration.observed.topic_facts import ZkStatesChanged
from migration.observed.znodes import TOPIC_CONFIGS, TOPICS
from streams.zookeeper.emitter import Clock

NAMES_MAX: Final = 1000
_STATES_NAMED_MAX: Final = 5
_OF_TOPIC: Final = len(f"{TOPICS}/t".split("/"))
_OF_STATE: Final = len(f"{TOPICS}/t/partitions/0/state".split("/"))

Names: TypeAlias = frozenset[str] | None
"""Names of topics; None: all of them."""
NONE: Final[frozenset[str]] = frozenset()


class ChangedTopics(NamedTuple):
    """The changes.

    Attributes:
        topics: topics whose own znode changed.
        configs: topics whose settings changed.
        touched: topics of which anything changed, including those above.
    """

    topics: Names
    configs: Names
    touched: Names


class WatchEvents:
    """Written by kazoo's thread, read by the watcher's."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._topics, self._configs, self._touched, self._written = (_Bounded() for _ in range(4))
        self._states = 0
        self._states_since_ms = 0

    def add_event(self, kind: str, path: str) -> None:
        """Record an event; waits for nothing except the lock."""
        parts = path.split("/")
        name = parts[_OF_TOPIC - 1] if len(parts) >= _OF_TOPIC else None
        with self._lock:
            self._touched.add(name)
            if path.startswith(TOPIC_CONFIGS):
                self._configs.add(name)
            elif len(parts) <= _OF_TOPIC:
                self._topics.add(name)
            elif len(parts) == _OF_STATE and kind == EventType.CHANGED:
                if not self._states:
                    self._states_since_ms = self._clock()
                self._states += 1
                self._written.add(name)

    def take(self) -> ChangedTopics:
        """Return the events, and clear them."""
        with self._lock:
            return ChangedTopics(self._topics.take(), self._configs.take(), self._touched.take())

    def take_states(self, before_ms: int) -> ZkStatesChanged | None:
        """Return the count that began before `before_ms`, and reset it; None: there is none."""
        with self._lock:
            if not self._states or self._states_since_ms > before_ms:
                return None
            topics = self._written.take()
            names = sorted(topics or ())
            changes, self._states = self._states, 0
            return ZkStatesChanged(
                seen_ms=self._clock(),
                since_ms=self._states_since_ms,
                changes=changes,
                topics=NAMES_MAX if topics is None else len(names),
                named=tuple(names[:_STATES_NAMED_MAX]),
            )


class _Bounded:
    """At most `NAMES_MAX` names, or all."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._all = False

    def add(self, name: str | None) -> None:
        """Add a name; None: all of them."""
        if self._all:
            return
        if name is not None:
            self._names.add(name)
        if name is None or len(self._names) > NAMES_MAX:
            self._all = True
            self._names.clear()

    def take(self) -> Names:
        taken = None if self._all else frozenset(self._names)
        self._names.clear()
        self._all = False
        return taken
