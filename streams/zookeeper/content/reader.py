"""The content reader: a thread that reads ZooKeeper's content while KRaft writes to it.

Input: a configuration, whether a comparison is possible, and where to append facts. Output: for
each comparison one fact for every shard, all in one call or none. A reading that fails is abandoned
with a reason, and retried at the next poll.

Changed topics are read soon (`dirty_topics.py`). Even so, everything is read every half minute: no
watch reports a write that KRaft failed to make.
"""

import logging
import math
import time
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from migration.observed.facts import ZkContentRead, ZkContentSeen
from migration.observed.znodes import CONTROLLER, MIGRATION
from migration.observed.zookeeper import ZooKeeperImage, observe
from streams.process.background import BackgroundThread, until_next
from streams.zookeeper.content.facts import Content, facts_of
from streams.zookeeper.content.reading import ContentReading, RequireCluster
from streams.zookeeper.dirty_topics import DirtyTopics
from streams.zookeeper.emitter import Clock
from streams.zookeeper.ensemble import Ensemble
from streams.zookeeper.errors import Abandoned, AnotherCluster
from streams.zookeeper.known import Known
from streams.zookeeper.watch_events import Names

INTERVAL_S: Final = 30.0
FROZEN_AFTER_MS: Final = 300_000
"""In dual write KRaft rewrites `/migration` twice a second; after finalizing, never."""
_POLL_S: Final = 1.0
"""Time between two polls for something to compare or to read again."""
_STOP_S: Final = 30.0
_CLOSED: Final = (
    "{} are not compared: ZooKeeper does not show /config/{} to Kraftgate"
    " (zookeeper.set.acl); configure the brokers' credentials for it, or read them with"
    " kafka-configs"
)
CLOSED: Final = {
    "brokers": _CLOSED.format("the brokers' settings", "brokers"),
    "quotas": _CLOSED.format("quotas", "users"),
}
"""The limit by the kind of settings that were left out (`ZkContentSeen.closed`)."""

ContentFact: TypeAlias = ZkContentSeen | ZkContentRead

_log: Final = logging.getLogger(__name__)


class ContentReader(BackgroundThread):
    """Reads all content of one ZooKeeper repeatedly, in a thread of its own.

    Attributes:
        error: why the last reading was abandoned; None again after a complete one.
        limits: the content that it could not read, as sentences.
    """

    def __init__(
        self,
        config: Ensemble,
        cluster: str,
        append: Callable[[Sequence[ContentFact]], object],
        clock: Clock,
        require_cluster: RequireCluster,
        should_read: Callable[[], bool],
        dirty: DirtyTopics,
        interval_s: float = INTERVAL_S,
    ) -> None:
        """Prepare the reader; `start` opens the first connection.

        Args:
            config: The ZooKeeper.
            cluster: The cluster's name, which determines its shards' numbers.
            append: Stores facts: all are durable when it returns, none when it raises. Called by
                the reader's thread.
            clock: Returns Kraftgate's time, ms since the epoch.
            require_cluster: Raises `AnotherCluster`. Called by the reader's thread.
            should_read: Whether a comparison is possible now. Called by the reader's thread.
            dirty: The topics to read sooner.
            interval_s: A full reading begins at each multiple of it (`until_next`). A pause is
                never shorter than the reading before it.
        """
        super().__init__("zookeeper-content", _STOP_S)
        self._config = config
        self._cluster = cluster
        self._append = append
        self._clock = clock
        self._require_cluster = require_cluster
        self._should_read = should_read
        self._dirty = dirty
        self._interval_s = interval_s
        self._whole_at = self._rested_at = -math.inf
        self._last_name = 0
        self._reading: ContentReading | None = None
        self.error: str | None = None
        self.limits: tuple[str, ...] = ()

    def _wake(self) -> None:
        """Abandon the current reading."""
        reading = self._reading
        if reading is not None:
            reading.cancel()

    # The thread

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._turn()
            self._stopping.wait(min(_POLL_S, max(0.0, self._whole_at - time.monotonic())))

    def _turn(self) -> None:
        """Read what is due, if a comparison is possible."""
        if not self._should_read():
            self.error, self.limits = None, ()
            self._dirty.forget()
            self._whole_at = time.monotonic() + min(_POLL_S, self._interval_s)
            return
        began_at = time.monotonic()
        if began_at < self._rested_at:
            return
        names, fresh = self._dirty.take(began_at, whole=began_at >= self._whole_at)
        if names is None:
            self._whole_at = began_at + until_next(self._interval_s)
        elif not names:
            return
        try:
            self._compare(names)
        except (Abandoned, AnotherCluster) as why:
            fresh |= names or frozenset()  # to be retried
            if not self._stopping.is_set():
                self.error = str(why)
        except Exception as error:  # noqa: BLE001 it is reported in the status, and retried
            fresh |= names or frozenset()
            _log.exception("reading the content of %s went wrong", self._config.connect)
            self.error = repr(error)
        self._dirty.read(fresh, time.monotonic())
        self._rested_at = 2 * time.monotonic() - began_at
        self._whole_at = max(self._whole_at, self._rested_at)

    def _compare(self, names: Names) -> None:
        comparison = self._name()
        content = self._read(None if names is None else tuple(sorted(names)))
        facts = facts_of(content, self._cluster, comparison, self._clock())
        try:
            self._append(facts)
        except Exception as error:
            raise Abandoned(f"the content of ZooKeeper cannot be stored: {error!r}") from error
        self.error = None
        if names is None:
            self.limits = tuple(CLOSED[each] for each in content.closed)

    def _name(self) -> int:
        """Return a new comparison's number: the time, increasing even if the clock is set back."""
        self._last_name = max(self._clock(), self._last_name + 1)
        return self._last_name

    def _read(self, names: tuple[str, ...] | None) -> Content:
        reading = ContentReading(self._config, names, require_cluster=self._require_cluster)
        self._reading = reading
        try:
            # `stop` sets this event first, and then cancels the reading that it finds.
            if self._stopping.is_set():
                raise Abandoned("Kraftgate was stopped")
            return reading.run()
        finally:
            self._reading = None


def is_written_by_kraft(known: Known, now_ms: int) -> bool:
    """Return whether a KRaft controller copies its metadata log to ZooKeeper, as far as known.

    That is from the end of the copy until `/migration` was not rewritten for 5 minutes. If it was
    frozen before the first reading, that is known only 5 minutes later: the clocks of ZooKeeper and
    Kraftgate are not compared. Safe while the watcher runs.
    """
    migration, controller = known.znode(MIGRATION), known.znode(CONTROLLER)
    if not known.sees or migration is None or controller is None:
        return False
    image, _ = observe(ZooKeeperImage(), controller)
    image, _ = observe(image, migration)
    return (
        image.controller is not None
        and image.controller.is_kraft
        and image.migration is not None
        and image.migration.is_copied
        and now_ms - migration.seen_ms < FROZEN_AFTER_MS
    )
