"""Opens the feeds of the sources: those of a few clusters here, those of many in other processes.

Python runs one thread of a process at a time. The process that Spark calls for offsets waits for
its own feeds' threads, which are about 18 for each cluster: with 50 clusters, for half a minute.
The threads of other processes do not delay it, but each process takes memory of its own.
"""

import json
import threading
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final

from streams.process.background import REPORT_S, BackgroundThread
from streams.process.bell import Bell
from streams.process.child import Child
from streams.process.feed import Feed, Offset
from streams.spark import feed_process
from streams.spark.feed_process import FORMATS, STOP_S
from streams.spark.source import FeedDamaged

CLUSTERS_HERE_MAX: Final = 4
CLUSTERS_A_PROCESS: Final = 10
_OPEN_S_MAX: Final = 120.0
"""Time in which another process answers that it opened a feed; it also repairs a spool."""


class FeedFailed(Exception):
    """A feed in another process failed; the message is that of its error."""


class _Process(BackgroundThread):
    """Another process with feeds, and the thread that reads what it writes."""

    def __init__(self, bell: Bell, shift_s: float) -> None:
        super().__init__("feed-process", STOP_S)
        self._bell = bell
        self._child = Child(feed_process.__name__, str(shift_s))
        self._changed = threading.Condition()
        self._ends: dict[str, Offset | None] = {}
        self._failed: dict[str, FeedFailed | FeedDamaged] = {}
        self._gone: str | None = None

    def send(self, *message: object) -> None:
        self._child.send(json.dumps(message))

    def end(self, name: str) -> Offset | None:
        """Return the end of a feed; wait until it is open.

        Raises:
            FeedDamaged: what the feed stored is damaged.
            FeedFailed: the feed failed otherwise, or its process ended.
        """
        with self._changed:
            self._changed.wait_for(lambda: name in self._ends or self._why(name), _OPEN_S_MAX)
            why = self._why(name)
            if why is None and name not in self._ends:
                why = FeedFailed(f"{name}: its process did not open it in {_OPEN_S_MAX:.0f} s")
            if why is not None:
                raise why
            return self._ends[name]

    def _why(self, name: str) -> FeedFailed | FeedDamaged | None:
        if name not in self._failed and self._gone is not None:
            return FeedFailed(f"{name}: {self._gone}")
        return self._failed.get(name)

    def close(self) -> None:
        """End the input of the process, which ends with it."""
        self._child.close()

    _wake = close

    def stop(self) -> None:
        super().stop()
        self._child.kill()
        self._child.wait()

    def _run(self) -> None:
        try:
            for line in self._child:
                self._take(*json.loads(line))
        finally:  # also after a malformed line: nothing more is known
            self._child.close()
            code = self._child.wait()
            with self._changed:
                self._gone = f"its process ended with exit code {code}"
                self._changed.notify_all()
            for name in self._ends:
                self._bell.ring(name)

    def _take(self, name: str, kind: str, value: Any) -> None:  # noqa: ANN401  # of JSON
        with self._changed:
            if kind in ("failed", "damaged"):
                error = FeedDamaged(value) if kind == "damaged" else FeedFailed(f"{name}: {value}")
                self._failed.setdefault(name, error)
            else:
                self._ends[name] = value
            self._changed.notify_all()
        self._bell.ring(name)


class _RemoteFeed(Feed):
    """A feed in another process."""

    def __init__(self, process: _Process, name: str) -> None:
        self._process = process
        self._name = name
        self._is_damaged = False

    def end(self) -> Offset | None:
        """Return the end as the process reported it last.

        Raises:
            FeedDamaged, FeedFailed: as `_Process.end`.
        """
        return self._process.end(self._name)

    def retain(self, done: Mapping[str, int]) -> None:
        self._process.send(self._name, "retain", done)

    def note_damage(self, damage: str) -> None:
        if not self._is_damaged:
            self._is_damaged = True
            self._process.send(self._name, "damage", damage)


class Feeds:
    """Opens feeds, and reports which of them have something new.

    Args:
        clusters: of all sources, with or without repetitions.
    """

    def __init__(self, clusters: Iterable[str]) -> None:
        self._bell = Bell()
        self._processes: dict[int, _Process] = {}
        names = list(dict.fromkeys(clusters))
        self._group = (
            {name: number // CLUSTERS_A_PROCESS for number, name in enumerate(names)}
            if len(names) > CLUSTERS_HERE_MAX
            else {}
        )

    def open(self, name: str, format_: str, options: Mapping[str, str]) -> Feed:
        """Open the feed of a source.

        Raises:
            JournalError, SpoolInUse, SpoolDamaged, WrongCluster: as `Source.open_feed`, here.
        """
        group = self._group.get(options["cluster"])
        if group is None:
            return FORMATS[format_].open_feed(options, partial(self._bell.ring, name))
        process = self._started()[group]
        process.send(name, "open", format_, options)
        return _RemoteFeed(process, name)

    def news(self, timeout_s: float) -> set[str]:
        """Wait for something new; return the names of the sources that have it."""
        return self._bell.wait(timeout_s)

    def stop(self) -> None:
        """Stop the other processes, and with them their feeds."""
        for process in self._processes.values():
            process.close()
        for process in self._processes.values():
            process.stop()

    def _started(self) -> Mapping[int, _Process]:
        """Return all processes; they start together, since each takes a second."""
        if not self._processes:
            groups = sorted(set(self._group.values()))
            for group in groups:
                # Not all clusters report at once: their batch would delay the news of each.
                shift_s = REPORT_S * group / len(groups)
                self._processes[group] = _Process(self._bell, shift_s).start()
        return self._processes
