"""The thread that turns each tick into changes for the pages; the loop only passes the tick on."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

from orchestrator.api.console.state import TimelineEvent
from orchestrator.audit import AUDIT_FILE, AuditLog
from orchestrator.config.load import Config
from orchestrator.errors import KraftgateError, NoDataError
from orchestrator.process.crash import in_a_line
from orchestrator.run.assessed import Assessed, Tick
from orchestrator.run.reader import open_store
from orchestrator.runbook.loaded import Loaded
from orchestrator.views.console.access.redaction import RedactedJson
from orchestrator.views.console.answers.timeline import decision_row, event_row
from orchestrator.views.console.feed.hub import ClusterUpdate
from orchestrator.views.console.state.approvable import ShownBases
from orchestrator.views.console.state.cluster import StateBuilder
from streams.process.background import BackgroundThread
from streams.state.store import Store, StoreError

NEW_MAX: Final = 200
"""The most new entries in one change; a page requests the others if it needs them."""


class Tail:
    """Reads the ends of the store's events and of the audit trail."""

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir
        self._opened = ExitStack()
        self._store: Store | None = None
        self._audit: AuditLog | None = None
        self._last_sent: dict[str, tuple[int, int]] = {}

    def new(self, cluster: str) -> tuple[list[TimelineEvent], bool]:
        """Return the new entries, oldest first, and whether earlier ones are missing before them.

        Raises:
            FollowingError: the file is not a store.
            AuditError: the audit trail cannot be read.
        """
        self._open()
        event, decision = self._last_sent.get(cluster, (0, 0))
        events = [] if self._store is None else self._store_new(self._store, cluster, event)
        decisions = [] if self._audit is None else self._audit_new(self._audit, cluster, decision)
        is_first = cluster not in self._last_sent
        self._last_sent[cluster] = (
            events[-1][0] if events else event,
            decisions[-1][0] if decisions else decision,
        )
        found = sorted((each for _, each in (*events, *decisions)), key=lambda each: each.at_ms)
        left_out = max(len(events), len(decisions)) >= NEW_MAX or len(found) > NEW_MAX
        return found[-NEW_MAX:], is_first or left_out

    def close(self) -> None:
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


class Publisher(BackgroundThread):
    """Publishes the changes of the last tick, at most ten times a second.

    Attributes:
        last: the last tick; None before the first.
        bases: the states that pages were shown for an approval.
    """

    def __init__(
        self,
        config: Config,
        cleaner: RedactedJson,
        loaded: Mapping[str, Loaded],
        show: Callable[[int, Sequence[ClusterUpdate]], None],
    ) -> None:
        """Keep the arguments; `show` receives each tick's time and clusters, in this thread."""
        super().__init__("console-publisher", stop_s=threading.TIMEOUT_MAX)
        self._state_dir = config.state_dir
        self._cleaner = cleaner
        self.bases = ShownBases()
        self._builders = {
            each.name: StateBuilder(
                cleaner, loaded.get(each.name), config.alerts.runbook_url, self.bases
            )
            for each in config.clusters
        }
        self._show = show
        self._taken = threading.Event()
        self.last: Tick | None = None

    def take(self, tick: Tick) -> None:
        """Pass a tick on without blocking; it replaces one that was not published yet."""
        self.last = tick
        self._wake()

    def _wake(self) -> None:
        self._taken.set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                with closing(Tail(self._state_dir)) as tail:
                    self._publish(tail)
            except (KraftgateError, StoreError, OSError) as error:
                _LOG.warning("the console cannot read what it shows: %s", error)
            except Exception as error:  # noqa: BLE001 else the page would be old for ever
                _LOG.exception("the console cannot show the state: %s", in_a_line(error))
            self._stopping.wait(_AGAIN_S)

    def _publish(self, tail: Tail) -> None:
        while not self._stopping.is_set():
            self._taken.wait()
            self._taken.clear()
            tick = self.last
            if tick is None or self._stopping.is_set():
                continue
            self._show(tick.at_ms, [self._update(one, tail) for one in tick.clusters])
            self._stopping.wait(_PACE_S)

    def _update(self, one: Assessed, tail: Tail) -> ClusterUpdate:
        events, missed = tail.new(one.name)
        return ClusterUpdate(
            cluster=one.name,
            state=self._builders[one.name].state(one),
            events=[(each.at_ms, self._cleaner.json(each)) for each in events],
            missed=missed,
        )
