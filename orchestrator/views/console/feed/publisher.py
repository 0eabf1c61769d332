"""The thread that turns each tick into changes for the pages; the loop only passes the tick on."""

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

from orchestrator.api.console.state import TimelineEvent
from orchestrator.audit import AUDIT_FILE, AuditLog
from orchestrator.config.load import Config
from orchestrator.errors import KraftgateError, NoDataError
from orchestrator.run.assessed import Tick
from orchestrator.run.reader import open_store
from orchestrator.runbook.loaded import Loaded
from orchestrator.views.console.access.redaction import RedactedJson
from orchestrator.views.console.answers.timeline import decision_row, event_row
from orchestrator.views.console.feed.hub import TickChanges
from orchestrator.views.console.state.cluster import StateBuilder
from streams.state.store import Store, StoreError

NEW_MAX: Final = 200
"""The most new entries in one change; a page requests the others if it needs them."""


class Tail:
    """Reads the ends of the store's events and of the audit trail."""

    def __init__(self, state_dir: Path, clusters: Iterable[str]) -> None:
        self._state_dir = state_dir
        self._opened = ExitStack()
        self._store: Store | None = None
        self._audit: AuditLog | None = None
        self._last_sent = dict.fromkeys(clusters, (0, 0))

    def new(self, cluster: str) -> tuple[list[TimelineEvent], bool]:
        """Return the new entries, oldest first, and whether some were left out.

        Raises:
            FollowingError: the file is not a store.
            AuditError: the audit trail cannot be read.
        """
        self._open()
        event, decision = self._last_sent[cluster]
        begun = bool(event or decision)
        events = [] if self._store is None else self._store_new(self._store, cluster, event)
        decisions = [] if self._audit is None else self._audit_new(self._audit, cluster, decision)
        if events:
            event = events[-1][0]
        if decisions:
            decision = decisions[-1][0]
        self._last_sent[cluster] = (event, decision)
        found = sorted((each for _, each in (*events, *decisions)), key=lambda each: each.at_ms)
        left_out = begun and max(len(events), len(decisions)) >= NEW_MAX
        return found[-NEW_MAX:], left_out or (begun and len(found) > NEW_MAX)

    def close(self) -> None:
        """Close the files."""
        self._opened.close()

    def _open(self) -> None:
        if self._store is None:
            self._store = open_store(self._state_dir)
        if self._audit is None and (self._state_dir / AUDIT_FILE).is_file():
            try:
                log = AuditLog.open_readonly(self._state_dir / AUDIT_FILE)
            except NoDataError:
                return  # it is being created
            self._audit = self._opened.enter_context(closing(log))

    @staticmethod
    def _store_new(store: Store, cluster: str, after: int) -> list[tuple[int, TimelineEvent]]:
        found = store.events(cluster, after=after, limit=NEW_MAX, newest=True)
        return [(sequence, event_row(sequence, event)) for sequence, event in found]

    @staticmethod
    def _audit_new(log: AuditLog, cluster: str, after: int) -> list[tuple[int, TimelineEvent]]:
        newest = log.last(cluster, NEW_MAX) if not after else log.entries(cluster, after, NEW_MAX)
        return [(each.sequence, decision_row(each)) for each in newest]


_LOG = logging.getLogger(__name__)
_PACE_S: Final = 0.1
_AGAIN_S: Final = 5.0


class Publisher:
    """Publishes the changes of the last tick, at most ten times a second.

    Attributes:
        last: the last tick; None before the first.
    """

    def __init__(
        self,
        config: Config,
        cleaner: RedactedJson,
        loaded: Mapping[str, Loaded],
        show: Callable[[TickChanges], None],
    ) -> None:
        """Keep the arguments; `show` receives the changes, in this thread."""
        self._config = config
        self._cleaner = cleaner
        self._loaded = loaded
        self._show = show
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="console-publisher", daemon=True)
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
                self._publish()
            except (KraftgateError, StoreError, OSError) as error:
                # The builders' state is unusable then: everything is built again.
                _LOG.warning("the console cannot read what it shows: %s", error)
                self._stop.wait(_AGAIN_S)

    def _publish(self) -> None:
        names = [each.name for each in self._config.clusters]
        builders = {each: StateBuilder(self._cleaner, self._loaded.get(each)) for each in names}
        tail = Tail(self._config.state_dir, names)
        whole = True
        try:
            while not self._stop.is_set():
                self._wake.wait()
                self._wake.clear()
                tick = self.last
                if tick is None or self._stop.is_set():
                    continue
                self._show(self._fresh(tick, builders, tail, whole=whole))
                whole = False
                self._stop.wait(_PACE_S)
        finally:
            tail.close()

    def _fresh(
        self, tick: Tick, builders: Mapping[str, StateBuilder], tail: Tail, *, whole: bool
    ) -> TickChanges:
        events, missed = {}, set()
        for name in builders:
            found, left_out = tail.new(name)
            events[name] = [self._cleaner.json(each) for each in found]
            missed |= {name} if left_out else set()
        return TickChanges(
            at_ms=tick.at_ms,
            news=[builders[one.name].changes(one) for one in tick.clusters],
            events=events,
            missed=frozenset(missed),
            whole=whole,
        )
