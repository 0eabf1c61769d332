"""The topics whose content is to be read again: soon, and later to confirm a difference.

A changed topic is read a second later, so that changes that belong together are read together. It
is read again when a difference that this reading found may count
(`migration.comparison.differences`).
"""

import threading
from collections.abc import Iterable
from typing import Final

from migration.comparison.differences import LASTS_MS
from streams.zookeeper.watch_events import NAMES_MAX, Names

SOON_S: Final = 1.0
AGAIN_S: Final = LASTS_MS / 1000 + 0.5


class DirtyTopics:
    """Written by the watcher's thread, read by the content reader's. Times are monotonic, in s."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._soon: dict[str, float] = {}
        self._again: dict[str, float] = {}
        self._all = False

    def touch(self, names: Names, now_s: float) -> None:
        """Schedule topics to be read soon; None, or too many: all of them, at the next poll."""
        with self._lock:
            if names is None or len(self._soon) + len(names) > NAMES_MAX:
                self._all = True
                self._soon.clear()
            elif not self._all:
                for name in names:
                    self._soon.setdefault(name, now_s + SOON_S)

    def take(self, now_s: float, *, whole: bool = False) -> tuple[Names, frozenset[str]]:
        """Return the topics to read now, and those of them to read once more (`read`).

        `whole`: everything is read now anyway.
        """
        with self._lock:
            whole, self._all = whole or self._all, False
            soon = frozenset(name for name, at in self._soon.items() if whole or at <= now_s)
            again = frozenset(name for name, at in self._again.items() if at <= now_s)
            for name in soon:
                del self._soon[name]
            for name in again:
                del self._again[name]
            return (None if whole else soon | again), soon

    def read(self, names: Iterable[str], now_s: float) -> None:
        """Schedule topics that were just read for another reading; the latest reading counts."""
        with self._lock:
            self._again.update(dict.fromkeys(names, now_s + AGAIN_S))
            if len(self._again) > NAMES_MAX:
                # The full readings find lasting differences too, but later.
                self._again.clear()

    def forget(self) -> None:
        """Discard all scheduled readings."""
        self.take(0.0, whole=True)
        with self._lock:
            self._again.clear()
