"""The content reader: a thread that reads ZooKeeper's content while KRaft writes to it.

In: a configuration, when it makes sense, and where facts go. Out: for each comparison one fact for
every shard, all in one call or not at all; and `status`. A reading that fails is abandoned with a
named reason, and tried again at the next turn.

Topics that were touched are read soon (`dirty.py`). Everything is read every half a minute even so:
no watch tells what KRaft should have written and did not.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self, TypeAlias

from migration.observed.facts import ZkContentRead, ZkContentSeen
from streams.process.background import Running
from streams.zookeeper.content.facts import Content, facts_of
from streams.zookeeper.content.reading import Abandoned, ContentReading
from streams.zookeeper.dirty import Dirty
from streams.zookeeper.ensemble import Ensemble
from streams.zookeeper.ledger import Clock
from streams.zookeeper.marks import Names
from streams.zookeeper.status import Reason, dated

INTERVAL_S: Final = 30.0
_LOOK_S: Final = 1.0
"""Between two looks whether there is something to compare, or to read again, by now."""
_STOP_S: Final = 30.0
_CLOSED: Final = (
    "{} are not compared: ZooKeeper does not show /config/{} to Kraftgate"
    " (zookeeper.set.acl); give it the brokers' own way in, or look at them with kafka-configs"
)
CLOSED: Final = {
    "brokers": _CLOSED.format("the brokers' settings", "brokers"),
    "quotas": _CLOSED.format("quotas", "users"),
}
"""By what was left out (`ZkContentSeen.closed`)."""

ContentFact: TypeAlias = ZkContentSeen | ZkContentRead

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentStatus:
    """How the reading of content stands. Times are Kraftgate's clock in ms since the epoch.

    Attributes:
        observed_ms: When this was put together.
        reading_since_ms: When the reading under way began; None between readings.
        rereadings: How many readings there were of topics that were touched.
        comparison: When the last whole reading began, which names it; None before the first.
        took_ms: How long that one took, until its facts were kept.
        topics: What it found.
        partitions: What it found.
        unreadable: How many znodes it found that say nothing.
        limits: What it could not look at, in words.
        waiting: Why nothing is read although all may be well.
        error: Why the last reading was abandoned; None again after a whole one.
    """

    observed_ms: int
    reading_since_ms: int | None = None
    rereadings: int = 0
    comparison: int | None = None
    took_ms: int | None = None
    topics: int = 0
    partitions: int = 0
    unreadable: int = 0
    limits: tuple[str, ...] = ()
    waiting: Reason | None = None
    error: Reason | None = None


class ContentReader(Running):
    """Reads all content of one ZooKeeper again and again, in a thread of its own."""

    def __init__(
        self,
        config: Ensemble,
        cluster: str,
        append: Callable[[Sequence[ContentFact]], object],
        clock: Clock,
        should_read: Callable[[], bool],
        dirty: Dirty,
        interval_s: float = INTERVAL_S,
    ) -> None:
        """Prepare; nothing is opened before `start`.

        Args:
            config: Where ZooKeeper is.
            cluster: The cluster's name, which its shards' numbers depend on.
            append: Keeps facts: all are durable when it returns, none when it raises. Called by
                the reader's thread.
            clock: Gives Kraftgate's time, ms since the epoch.
            should_read: Whether a comparison makes sense now. Called by the reader's thread.
            dirty: Which topics are to be read sooner.
            interval_s: Seconds from the beginning of one whole reading to the next. A pause is
                never shorter than the reading before it.
        """
        self._config = config
        self._cluster = cluster
        self._append = append
        self._clock = clock
        self._should_read = should_read
        self._dirty = dirty
        self._interval_s = interval_s
        self._whole_at = self._rested_at = -math.inf
        self._last_name = 0
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._reading: ContentReading | None = None
        self._lock = threading.Lock()
        now = clock()
        starting = Reason("starting", "the reader of ZooKeeper's content has not begun yet", now)
        self._status = ContentStatus(observed_ms=now, waiting=starting)

    def start(self) -> Self:
        """Start reading; once only.

        Raises:
            RuntimeError: it was started before.
        """
        if self._thread is not None:
            raise RuntimeError("a content reader is started once")
        self._thread = threading.Thread(target=self._run, name="zookeeper-content", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Abandon what is being read, and end the thread. A second time does nothing."""
        self._stopping.set()
        reading = self._reading
        if reading is not None:
            reading.cancel()
        if self._thread is not None:
            self._thread.join(_STOP_S)

    def status(self) -> ContentStatus:
        """Say how it stands now. Never raises."""
        with self._lock:
            return replace(self._status, observed_ms=self._clock())

    # The thread

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._turn()
            self._stopping.wait(min(_LOOK_S, max(0.0, self._whole_at - time.monotonic())))

    def _turn(self) -> None:
        """Read what there is to read, if it makes sense."""
        if not self._should_read():
            detail = "no KRaft controller is seen to write what it knows to ZooKeeper"
            self._tell(waiting=("not_in_dual_write", detail), limits=())
            self._dirty.forget()
            self._whole_at = time.monotonic() + min(_LOOK_S, self._interval_s)
            return
        began_at = time.monotonic()
        if began_at < self._rested_at:
            return
        names, fresh = self._dirty.take(began_at, whole=began_at >= self._whole_at)
        if names is None:
            self._whole_at = began_at + self._interval_s
        elif not names:
            return
        try:
            self._compare(names)
        except Abandoned as why:
            fresh |= names or frozenset()  # to be tried again
            if why.name != "stopped":
                self._tell(error=(why.name, why.detail))
        except Exception as error:  # noqa: BLE001 told in the status, and tried again
            fresh |= names or frozenset()
            _log.exception("reading the content of %s went wrong", self._config.connect)
            self._tell(error=("unexpected", repr(error)))
        self._dirty.read(fresh, time.monotonic())
        self._rested_at = 2 * time.monotonic() - began_at
        self._whole_at = max(self._whole_at, self._rested_at)

    def _compare(self, names: Names) -> None:
        comparison = self._name()
        began_at = time.monotonic()
        self._tell(reading_since_ms=comparison)
        content = self._read(None if names is None else tuple(sorted(names)))
        facts = facts_of(content, self._cluster, comparison, self._clock())
        try:
            self._append(facts)
        except Exception as error:
            raise Abandoned(
                "facts_not_kept", f"the content of ZooKeeper cannot be kept: {error!r}"
            ) from error
        if names is not None:
            self._tell(rereadings=self._status.rereadings + 1)
            return
        self._tell(
            comparison=comparison,
            took_ms=round((time.monotonic() - began_at) * 1000),
            topics=len(content.topics),
            partitions=content.partitions,
            unreadable=len(content.unreadable),
            limits=tuple(CLOSED[each] for each in content.closed),
        )

    def _name(self) -> int:
        """Name a comparison by the time, although the clock may be set back."""
        self._last_name = max(self._clock(), self._last_name + 1)
        return self._last_name

    def _read(self, names: tuple[str, ...] | None) -> Content:
        reading = ContentReading(self._config, names)
        self._reading = reading
        try:
            # `stop` sets this first, and then cancels the reading that it finds.
            if self._stopping.is_set():
                raise Abandoned("stopped", "Kraftgate was stopped")
            return reading.run()
        finally:
            self._reading = None

    def _tell(
        self,
        *,
        waiting: tuple[str, str] | None = None,
        error: tuple[str, str] | None = None,
        reading_since_ms: int | None = None,
        **found: Any,  # noqa: ANN401 ContentStatus names and types them
    ) -> None:
        """Write the status anew; an error stays while it is only tried again."""
        now = self._clock()
        with self._lock:
            was = self._status
            again = reading_since_ms is not None
            self._status = replace(
                was,
                reading_since_ms=reading_since_ms,
                waiting=None if waiting is None else dated(waiting, was.waiting, now),
                error=dated(error, was.error, now) if error else was.error if again else None,
                **found,
            )
