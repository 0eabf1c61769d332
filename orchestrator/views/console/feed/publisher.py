"""The thread that turns each tick into changes for the pages; the loop only passes the tick on."""

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
    """Publishes the changes of the last tick, at most ten times a second.

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
        """Keep the arguments; `show` receives the changes, in this thread."""
        self._config = config
        self._cleaner = cleaner
        self._loaded = loaded
        self._show = show
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="console-painting", daemon=True)
        self.last: Tick | None = None

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and wait for its end."""
        self._stop.set()
        self._wake.set()
        self._thread.join()

    def take(self, tick: Tick) -> None:
        """Pass a tick on without blocking; it replaces one that was not published yet."""
        self.last = tick
        self._wake.set()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._paint()
            except (KraftgateError, StoreError, OSError) as error:
                # The painters' state is unusable then: everything is built again.
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
