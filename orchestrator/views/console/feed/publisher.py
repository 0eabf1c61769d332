"""The thread that makes of each look what the pages have to know; the loop only hands it over."""

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Final

from orchestrator.config.load import Config
from orchestrator.errors import KraftgateError
from orchestrator.run.assessed import Tick
from orchestrator.runbook.loaded import Loaded
from orchestrator.views.console.access.redaction import Cleaner
from orchestrator.views.console.feed.hub import Fresh
from orchestrator.views.console.feed.timeline_tail import Tail
from orchestrator.views.console.state.cluster import Painter
from streams.state.store import StoreError

_LOG = logging.getLogger(__name__)
_PACE_S: Final = 0.1
_AGAIN_S: Final = 5.0


class Painting:
    """Paints the last look whenever there is a new one, at most ten times a second.

    Attributes:
        last: the last tick; None before the first.
    """

    def __init__(
        self,
        config: Config,
        cleaner: Cleaner,
        loaded: Mapping[str, Loaded],
        show: Callable[[Fresh], None],
    ) -> None:
        """Prepare; `show`: takes what is new, in this thread."""
        self._config = config
        self._cleaner = cleaner
        self._loaded = loaded
        self._show = show
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="console-painting", daemon=True)
        self.last: Tick | None = None

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, and wait for it."""
        self._stop.set()
        self._wake.set()
        self._thread.join()

    def take(self, tick: Tick) -> None:
        """Take a tick, without waiting for anything; one that was not painted yet is left out."""
        self.last = tick
        self._wake.set()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._paint()
            except (KraftgateError, StoreError, OSError) as error:
                # What was painted so far is of no use then: all is painted anew.
                _LOG.warning("the console cannot read what it shows: %s", error)
                self._stop.wait(_AGAIN_S)

    def _paint(self) -> None:
        names = [each.name for each in self._config.clusters]
        painters = {each: Painter(self._cleaner, self._loaded.get(each)) for each in names}
        tail = Tail(self._config.state_dir, names)
        whole = True
        try:
            while not self._stop.is_set():
                self._wake.wait()
                self._wake.clear()
                tick = self.last
                if tick is None or self._stop.is_set():
                    continue
                self._show(self._fresh(tick, painters, tail, whole=whole))
                whole = False
                self._stop.wait(_PACE_S)
        finally:
            tail.close()

    def _fresh(
        self, tick: Tick, painters: Mapping[str, Painter], tail: Tail, *, whole: bool
    ) -> Fresh:
        events, missed = {}, set()
        for name in painters:
            found, left_out = tail.new(name)
            events[name] = [self._cleaner.json(each) for each in found]
            missed |= {name} if left_out else set()
        return Fresh(
            at_ms=tick.at_ms,
            news=[painters[one.name].paint(one) for one in tick.clusters],
            events=events,
            missed=frozenset(missed),
            whole=whole,
        )
