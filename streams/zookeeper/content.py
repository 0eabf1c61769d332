"""The content reader: a thread that reads all of ZooKeeper now and then, while KRaft writes to it.

In: a configuration, when it makes sense, and where facts go. Out: for each comparison one fact for
every shard and a last one, all in one call or not at all; and `status`. A reading that fails is
abandoned with a named reason, and tried again at the next turn.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self, TypeAlias

from migration.observations import ZkContentRead, ZkContentSeen
from streams.running import Running
from streams.zookeeper.config import WatcherConfig
from streams.zookeeper.content_facts import Content, facts_of
from streams.zookeeper.content_reading import Abandoned, ContentReading
from streams.zookeeper.ledger import Clock
from streams.zookeeper.status import Reason, dated

INTERVAL_S: Final = 30.0
_LOOK_S: Final = 1.0
"""Between two looks whether there is something to compare by now."""
_STOP_S: Final = 30.0

ContentFact: TypeAlias = ZkContentSeen | ZkContentRead

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentStatus:
    """How the reading of content stands. Times are Kraftgate's clock in ms since the epoch.

    Attributes:
        observed_ms: When this was put together.
        reading_since_ms: When the reading under way began; None between readings.
        comparison: When the last whole reading began, which names it; None before the first.
        took_ms: How long that one took, until its facts were kept.
        topics: What it found.
        partitions: What it found.
        unreadable: How many znodes it found that say nothing.
        waiting: Why nothing is read although all may be well.
        error: Why the last reading was abandoned; None again after a whole one.
    """

    observed_ms: int
    reading_since_ms: int | None = None
    comparison: int | None = None
    took_ms: int | None = None
    topics: int = 0
    partitions: int = 0
    unreadable: int = 0
    waiting: Reason | None = None
    error: Reason | None = None


class ContentReader(Running):
    """Reads all content of one ZooKeeper again and again, in a thread of its own."""

    def __init__(
        self,
        config: WatcherConfig,
        cluster: str,
        append: Callable[[Sequence[ContentFact]], object],
        clock: Clock,
        should_read: Callable[[], bool],
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
            interval_s: Seconds from the beginning of one reading to the next. A pause is never
                shorter than the reading before it, unless `request` ends it.
        """
        self._config = config
        self._cluster = cluster
        self._append = append
        self._clock = clock
        self._should_read = should_read
        self._interval_s = interval_s
        self._stopping = threading.Event()
        self._asked = threading.Event()
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
        self._asked.set()
        reading = self._reading
        if reading is not None:
            reading.cancel()
        if self._thread is not None:
            self._thread.join(_STOP_S)

    def request(self) -> None:
        """Ask for a reading that begins after this call, at once unless `should_read` says no."""
        self._asked.set()

    def status(self) -> ContentStatus:
        """Say how it stands now. Never raises."""
        with self._lock:
            return replace(self._status, observed_ms=self._clock())

    # The thread

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._asked.wait(self._turn())
            self._asked.clear()

    def _turn(self) -> float:
        """Read, if it makes sense; how long to wait then, seconds."""
        began_at = time.monotonic()
        try:
            if not self._should_read():
                detail = "no KRaft controller is seen to write what it knows to ZooKeeper"
                self._tell(waiting=("not_in_dual_write", detail))
                return min(_LOOK_S, self._interval_s)
            self._compare()
        except Abandoned as why:
            if why.name != "stopped":
                self._tell(error=(why.name, why.detail))
        except Exception as error:  # noqa: BLE001 told in the status, and tried again
            _log.exception("reading the content of %s went wrong", self._config.connect)
            self._tell(error=("unexpected", repr(error)))
        took_s = time.monotonic() - began_at
        return max(self._interval_s - took_s, took_s)

    def _compare(self) -> None:
        comparison = self._name()
        began_at = time.monotonic()
        self._tell(reading_since_ms=comparison)
        content = self._read()
        facts = facts_of(content, self._cluster, comparison, self._clock())
        try:
            self._append(facts)
        except Exception as error:
            raise Abandoned(
                "facts_not_kept", f"the content of ZooKeeper cannot be kept: {error!r}"
            ) from error
        self._tell(
            comparison=comparison,
            took_ms=round((time.monotonic() - began_at) * 1000),
            topics=len(content.topics),
            partitions=content.partitions,
            unreadable=content.unreadable_count,
        )

    def _name(self) -> int:
        """Name a comparison by the time, although the clock may be set back."""
        last = self._status.comparison
        return self._clock() if last is None else max(self._clock(), last + 1)

    def _read(self) -> Content:
        reading = ContentReading(self._config)
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
