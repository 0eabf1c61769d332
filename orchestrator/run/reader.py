"""Reads the data of the configured clusters: the job's store and the statuses of the sources."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from migration.observed.source_status import NO_STATUS, SourceStatus
from orchestrator.config.load import Config
from orchestrator.config.models import ClusterEntry
from orchestrator.errors import FollowingError
from orchestrator.run.cluster_read import ClusterRead, Store, Tally, read_cluster, tally

STORE_FILE: Final = "store.db"
_EVENTS_PER_LOOK_MAX: Final = 5000


def open_store(state_dir: Path) -> Store | None:
    """Open the store read-only; None: it does not exist yet.

    Raises:
        FollowingError: the file exists and is not a store.
    """
    from streams.state.store import Store as RealStore
    from streams.state.store import StoreError, StoreNotMade

    path = state_dir / STORE_FILE
    if not path.exists():
        return None
    try:
        return RealStore.open_readonly(path)
    except StoreNotMade:
        return None
    except StoreError as error:
        raise FollowingError(str(error)) from error


class Reader:
    """Reads all clusters, in the configuration's order, once for each call.

    With `newest`, every read returns that many of the newest events. Without it, each event is
    returned by one read only, at most `_EVENTS_PER_LOOK_MAX` a read; `begin_behind_what_is_there`
    skips the events of earlier runs.
    """

    def __init__(
        self,
        config: Config,
        *,
        newest: int | None,
        opener: Callable[[Path], Store | None] = open_store,
    ) -> None:
        self._config = config
        self._newest = newest
        self._opener = opener
        self._store: Store | None = None
        self._behind: dict[str, int] = {}
        self._tallies: dict[str, Tally] = {}

    def begin_behind_what_is_there(self) -> None:
        """Skip the events of earlier runs."""
        store = self._opened()
        for cluster in self._config.clusters:
            last = store.events(cluster.name, limit=1, newest=True) if store else []
            self._behind[cluster.name] = last[-1][0] if last else 0

    def look(self, now_ms: int) -> list[ClusterRead]:
        """Read every cluster once.

        Raises:
            FollowingError: the store cannot be read.
        """
        store = self._opened()
        with self._readable():
            return [self._look_at(store, cluster, now_ms) for cluster in self._config.clusters]

    def tallies(self) -> Mapping[str, Tally]:
        """Count every cluster's events, including those of earlier runs.

        Raises:
            FollowingError: the store cannot be read.
        """
        store = self._opened()
        if store is None:
            return {}
        with self._readable():
            for cluster in self._config.clusters:
                before = self._tallies.get(cluster.name, Tally())
                self._tallies[cluster.name] = tally(store, cluster.name, before)
        return dict(self._tallies)

    @contextmanager
    def _readable(self) -> Iterator[None]:
        from streams.state.store import StoreError

        try:
            yield
        except StoreError as error:
            raise FollowingError(str(error)) from error

    def _opened(self) -> Store | None:
        if self._store is None:
            self._store = self._opener(self._config.state_dir)
        return self._store

    def _look_at(self, store: Store | None, entry: ClusterEntry, now_ms: int) -> ClusterRead:
        one = self._read(store, entry.name)
        if entry.runbook is None:  # a status that an earlier run left
            one = replace(one, execution=None)
        if entry.controllers is None and one.status == NO_STATUS:
            waiting = f"{self._config.path.name} names no `controllers` for {entry.name}"
            one = replace(one, status=SourceStatus(observed_ms=now_ms, waiting=waiting))
        return one

    def _read(self, store: Store | None, name: str) -> ClusterRead:
        state_dir = self._config.state_dir
        if self._newest is not None:
            return read_cluster(store, state_dir, name, limit=self._newest, newest=True)
        after = self._behind.get(name, 0)
        one = read_cluster(store, state_dir, name, after=after, limit=_EVENTS_PER_LOOK_MAX)
        if one.events:
            self._behind[name] = one.events[-1][0]
        return one
