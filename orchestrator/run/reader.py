"""Reads the data of the configured clusters: the job's store and the statuses of the sources."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from migration.assessment.data_source import DataSource
from migration.observed.source_status import NO_STATUS, SourceStatus
from orchestrator.config.load import Config
from orchestrator.config.models import ClusterEntry
from orchestrator.errors import FollowingError
from orchestrator.run import execution_status
from orchestrator.run.cluster_read import ClusterRead, Tally, read_cluster, read_sources, tally
from orchestrator.run.execution_status import ExecutionStatus

if TYPE_CHECKING:
    from streams.state.store import Store

STORE_FILE: Final = "store.db"
_EVENTS_PER_READ_MAX: Final = 5000


def open_store(state_dir: Path) -> "Store | None":
    """Open the store read-only; None: it does not exist yet.

    Raises:
        FollowingError: the file exists and is not a store.
    """
    from streams.state.store import Store, StoreError, StoreNotMade

    path = state_dir / STORE_FILE
    if not path.exists():
        return None
    try:
        return Store.open_readonly(path)
    except StoreNotMade:
        return None
    except StoreError as error:
        raise FollowingError(str(error)) from error


class Reader:
    """Reads all clusters, in the configuration's order, once for each call.

    With `newest`, every read returns that many of the newest events. Without it, each event is
    returned by one read only, at most `_EVENTS_PER_READ_MAX` a read.

    Attributes:
        execution: returns the execution of a cluster's runbook; at first, what the process that
            executes it wrote to its file. That process sets a function that needs no file.
    """

    def __init__(
        self,
        config: Config,
        *,
        newest: int | None,
        opener: Callable[[Path], "Store | None"] = open_store,
    ) -> None:
        self._config = config
        self._newest = newest
        self._opener = opener
        self._store: Store | None = None
        self._behind: dict[str, int] = {}
        self._tallies: dict[str, Tally] = {}
        self._reported_before: dict[str, Mapping[DataSource, int]] = {}
        self.execution: Callable[[str], ExecutionStatus | None] = partial(
            execution_status.read_for, config.state_dir
        )

    def follow_from_here(self) -> None:
        """Treat the events and reports that are there as those of an earlier process."""
        store = self._opened()
        for name in (each.name for each in self._config.clusters):
            last = store.events(name, limit=1, newest=True) if store else []
            self._behind[name] = last[-1][0] if last else 0
            found = read_sources(self._config.state_dir, name)
            self._reported_before[name] = {
                source: each.observed_ms for source, each in found.items() if each.observed_ms
            }

    def read(self, now_ms: int) -> list[ClusterRead]:
        """Read every cluster once.

        Raises:
            FollowingError: the store cannot be read.
        """
        from streams.state.store import StoreError

        store = self._opened()
        try:
            return [self._read(store, each, now_ms) for each in self._config.clusters]
        except StoreError as error:
            raise FollowingError(str(error)) from error

    def _opened(self) -> "Store | None":
        if self._store is None:
            self._store = self._opener(self._config.state_dir)
        return self._store

    def _read(self, store: "Store | None", entry: ClusterEntry, now_ms: int) -> ClusterRead:
        name, newest = entry.name, self._newest
        # Without a runbook, the status of an execution is one that an earlier run left.
        one = read_cluster(
            store,
            self._config.state_dir,
            name,
            execution=None if entry.runbook is None else self.execution(name),
            after=0 if newest is not None else self._behind.get(name, 0),
            limit=_EVENTS_PER_READ_MAX if newest is None else newest,
            newest=newest is not None,
        )
        if one.events:
            self._behind[name] = one.events[-1][0]
        if store is not None:
            self._tallies[name] = tally(store, name, self._tallies.get(name, Tally()))
        status = one.status
        if entry.controllers is None and status == NO_STATUS:
            waiting = f"{self._config.path.name} names no `controllers` for {name}"
            status = SourceStatus(observed_ms=now_ms, waiting=waiting)
        return replace(
            one,
            status=status,
            tally=self._tallies.get(name, Tally()),
            reported_before=self._reported_before.get(name, {}),
        )
