"""The new entries of the timeline since the last call; for the publisher's thread."""

from collections.abc import Iterable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

from orchestrator.api.console.state import TimelineEvent
from orchestrator.audit import AUDIT_FILE, AuditLog
from orchestrator.errors import NoDataError
from orchestrator.run.cluster_read import Store
from orchestrator.run.reader import open_store
from orchestrator.views.console.answers.timeline import decision_told, event_told

NEW_MAX: Final = 200
"""The most new entries in one change; a page requests the others if it needs them."""


class Tail:
    """Reads the ends of the store's events and of the audit trail."""

    def __init__(self, state_dir: Path, clusters: Iterable[str]) -> None:
        self._state_dir = state_dir
        self._opened = ExitStack()
        self._store: Store | None = None
        self._audit: AuditLog | None = None
        self._told = dict.fromkeys(clusters, (0, 0))

    def new(self, cluster: str) -> tuple[list[TimelineEvent], bool]:
        """Return the new entries, oldest first, and whether some were left out.

        Raises:
            FollowingError: the file is not a store.
            AuditError: the audit trail cannot be read.
        """
        self._open()
        event, decision = self._told[cluster]
        begun = bool(event or decision)
        events = [] if self._store is None else self._store_new(self._store, cluster, event)
        decisions = [] if self._audit is None else self._audit_new(self._audit, cluster, decision)
        if events:
            event = events[-1][0]
        if decisions:
            decision = decisions[-1][0]
        self._told[cluster] = (event, decision)
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
        return [(sequence, event_told(sequence, event)) for sequence, event in found]

    @staticmethod
    def _audit_new(log: AuditLog, cluster: str, after: int) -> list[tuple[int, TimelineEvent]]:
        newest = log.last(cluster, NEW_MAX) if not after else log.entries(cluster, after, NEW_MAX)
        return [(each.sequence, decision_told(each)) for each in newest]
