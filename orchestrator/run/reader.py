"""Reads the data of the configured clusters: the job's store, the sources' statuses, the execution.

Everything that is read of one cluster at one moment is a `ClusterRead`.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from migration.assessment.assess import Journal
from migration.assessment.currency import with_reports
from migration.assessment.data_source import JOURNALED, DataSource
from migration.assessment.waits import nothing_seen
from migration.image.summary import ClusterSummary, Phase
from migration.metadata.event_kinds import EventKind
from migration.metadata.events import Event
from migration.metadata.versions import untested
from migration.observed.source_status import NO_STATUS, SourceStatus, meaningful_end
from orchestrator.config.load import Config
from orchestrator.config.models import ClusterEntry
from orchestrator.errors import ConfigError, FollowingError
from orchestrator.run import execution_status
from orchestrator.run.execution_status import ExecutionStatus
from streams.state import source_status

if TYPE_CHECKING:
    from streams.state.sqlite import CommitMark
    from streams.state.store import Store

STORE_FILE: Final = "store.db"
_EVENTS_PER_READ_MAX: Final = 5000
_STATUS_FILES: Final = {
    DataSource.METADATA_LOG: "source.json",
    DataSource.ZOOKEEPER: "zookeeper.json",
    DataSource.LOG_DIRS: "log_dirs.json",
    DataSource.JMX: "jmx.json",
}
_OF_PHASES: Final = frozenset({EventKind.PHASE_CHANGED, EventKind.SNAPSHOT_LOADED})
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The events of one cluster so far.

    Attributes:
        last: the sequence number of the last event that is counted.
        counts: the number of events, by kind.
        phase: the newest event that reports a change of phase; None: there is none.
        snapshot: the first snapshot of the metadata log that shows the phase of the newest one,
            without another phase since; None: none was read since the newest change.
        since_ms: when Kraftgate saw the first event; None: there is none.
    """

    last: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    phase: Event | None = None
    snapshot: Event | None = None
    since_ms: int | None = None

    def phase_began_ms(self, phase: Phase) -> int | None:
        """Return when `phase` began; None: the newest change is of another phase.

        That happens because a snapshot of the log skips changes of phase.
        """
        changed = self.phase
        if changed is None or changed.fields.get("now") != phase:
            return None
        return changed.moment_ms

    def phase_seen_ms(self, phase: Phase) -> int | None:
        """Return since when at least `phase` lasts, if only a snapshot shows it; None: unknown.

        Every later change of phase would be an event. `since_ms` may be earlier than the phase:
        ZooKeeper may have been followed before.
        """
        snapshot = self.snapshot
        if snapshot is None or snapshot.fields.get("phase") != phase:
            return None
        return snapshot.moment_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRead:
    """The data of the store, the sources and the execution of the runbook for one cluster.

    Attributes:
        events: the latest events, oldest first, with their sequence numbers.
        status: that of the metadata log's source.
        journals: the existing journals, by source.
        execution: how far the execution of the runbook is; None: there is none.
        tally: the cluster's events so far.
        reported_before: when the sources last reported to an earlier process (ms); empty in a
            process that follows nothing.
    """

    summary: ClusterSummary
    events: tuple[tuple[int, Event], ...]
    status: SourceStatus
    zookeeper: SourceStatus = NO_STATUS
    log_dirs: SourceStatus = NO_STATUS
    jmx: SourceStatus = NO_STATUS
    journals: Mapping[DataSource, Journal] = field(default_factory=dict, compare=False)
    execution: ExecutionStatus | None = None
    tally: Tally = field(default_factory=Tally)
    reported_before: Mapping[DataSource, int] = field(default_factory=dict, compare=False)

    @property
    def resuming(self) -> frozenset[DataSource]:
        """The sources that this process follows and that have not reported to it yet."""
        return frozenset(
            source
            for source, status in self.sources.items()
            if status.observed_ms == self.reported_before.get(source)
        )

    @property
    def sources(self) -> Mapping[DataSource, SourceStatus]:
        """The status that each followed source reports."""
        return {
            DataSource.METADATA_LOG: self.status,
            DataSource.ZOOKEEPER: self.zookeeper,
            DataSource.LOG_DIRS: self.log_dirs,
            DataSource.JMX: self.jmx,
        }

    @property
    def limits(self) -> tuple[str, ...]:
        """What the sources cannot observe in this cluster, and that its version is untested."""
        level, phase = self.summary.metadata_version, self.summary.phase
        version = None if level is None or phase is Phase.KRAFT else untested(level)
        return (
            *self.status.limits,
            *self.zookeeper.limits,
            *self.log_dirs.limits,
            *(() if version is None else (version,)),
        )

    def position(self, source: DataSource) -> tuple[int | None, int]:
        """Return the end of a source's data, and the position up to which the store includes it.

        The end is None if it is not known.
        """
        if source is DataSource.METADATA_LOG:
            offset = self.summary.metadata_offset
            return meaningful_end(self.status), 0 if offset is None else offset + 1
        journal = self.journals.get(source)
        return (None, 0) if journal is None else (journal.last, journal.read)


def read_status(state_dir: Path, cluster: str, file: str = "source.json") -> SourceStatus:
    """Read the status that a source reported last; no status if the file cannot be read."""
    path = state_dir / "clusters" / cluster / file
    try:
        return source_status.read_status(path)
    except FileNotFoundError:
        return NO_STATUS
    except (OSError, ValueError) as error:
        _LOG.warning("%s cannot be read: %s", path, error)
        return NO_STATUS


def read_sources(state_dir: Path, cluster: str) -> Mapping[DataSource, SourceStatus]:
    return {each: read_status(state_dir, cluster, file) for each, file in _STATUS_FILES.items()}


def read_cluster(
    store: "Store | None",
    state_dir: Path,
    cluster: str,
    *,
    execution: ExecutionStatus | None,
    after: int = 0,
    limit: int | None = None,
    newest: bool = False,
    known: "_KnownJournals | None" = None,
) -> ClusterRead:
    """Read one cluster; `after`, `limit` and `newest` are those of `Store.events`.

    `known`: the journals as an earlier call read them; it is updated.
    """
    summary = None if store is None else store.summary(cluster)
    events: list[tuple[int, Event]] = []
    if store is not None and summary is not None:
        events = store.events(cluster, after=after, limit=limit, newest=newest)
    sources = read_sources(state_dir, cluster)
    return ClusterRead(
        summary=nothing_seen(cluster) if summary is None else with_reports(summary, sources),
        events=tuple(events),
        status=sources[DataSource.METADATA_LOG],
        zookeeper=sources[DataSource.ZOOKEEPER],
        log_dirs=sources[DataSource.LOG_DIRS],
        jmx=sources[DataSource.JMX],
        journals=dict(_journals(store, state_dir, cluster, {} if known is None else known)),
        execution=execution,
    )


def tally(store: "Store", cluster: str, before: Tally) -> Tally:
    """Return `before` with the events that were added since then."""
    last, counts = store.counts(cluster, before.last)
    if not counts:
        return before
    total = dict(before.counts)
    for kind, count in counts.items():
        total[kind] = total.get(kind, 0) + count

    phase, snapshot = before.phase, before.snapshot
    if counts.keys() & _OF_PHASES:
        phase = snapshot = None
        for each in store.of_kinds(cluster, sorted(_OF_PHASES)):
            if each.kind == EventKind.PHASE_CHANGED:
                phase, snapshot = each, None
            elif snapshot is None or snapshot.fields.get("phase") != each.fields.get("phase"):
                snapshot = each
    since_ms = before.since_ms
    if since_ms is None:
        since_ms = next((each.seen_ms for _, each in store.events(cluster, limit=1)), None)
    return Tally(
        last=last,
        counts=total,
        phase=phase,
        snapshot=snapshot,
        since_ms=since_ms,
    )


@dataclass(slots=True)
class _KnownJournal:
    """A journal as it was read; opening one takes most of a tick."""

    mark: "CommitMark"
    at: object = None
    journal: Journal | None = None


_KnownJournals: TypeAlias = dict[Path, _KnownJournal]


def _journals(
    store: "Store | None", state_dir: Path, cluster: str, known: _KnownJournals
) -> Iterator[tuple[DataSource, Journal]]:
    from streams.state.journal import JournalError, first_behind, last_sequence
    from streams.state.sqlite import CommitMark

    for source in JOURNALED:
        path = state_dir / "clusters" / cluster / f"{source}.db"
        if not path.is_file():
            continue
        if path not in known:
            known[path] = _KnownJournal(CommitMark(path))
        before = known[path]
        read, at = 0 if store is None else store.place(cluster, source), before.mark.read()
        journal = before.journal
        if journal is None or journal.read != read or at is None or at != before.at:
            try:
                last: int | None = last_sequence(path)
                unread_ms = first_behind(path, read) if read < (last or 0) else None
            except JournalError as error:
                _LOG.warning("%s", error)
                at, last, unread_ms = None, None, None
            journal = Journal(last=last, read=read, unread_ms=unread_ms)
            before.at, before.journal = at, journal
        yield source, journal


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


def require_id(
    config: Config, entry: ClusterEntry, sources: Mapping[DataSource, SourceStatus]
) -> None:
    """Raise ConfigError if the stored state belongs to another cluster than the configured one.

    A source with an error may have rejected the cluster that it reports.
    """
    stored = {each.cluster_id for each in sources.values() if each.error is None}
    if entry.id is not None and (others := stored - {None, entry.id}):
        found = ", ".join(sorted(map(str, others)))
        what = f"the state of {entry.name} in {config.state_dir} belongs to cluster {found}"
        fix = "correct `id`, or use another `state_dir`"
        raise ConfigError([f"{config.path}: {what}, not {entry.id}: {fix}"])


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
        self._journals: _KnownJournals = {}
        self._reported_before: dict[str, Mapping[DataSource, int]] = {}
        self.execution: Callable[[str], ExecutionStatus | None] = partial(
            execution_status.read_for, config.state_dir
        )

    def follow_from_here(self) -> None:
        """Treat the existing events and reports as those of an earlier process."""
        store = self._opened()
        for name in (each.name for each in self._config.clusters):
            last = store.events(name, limit=1, newest=True) if store else []
            self._behind[name] = last[-1][0] if last else 0
            found = read_sources(self._config.state_dir, name)
            self._reported_before[name] = {
                source: each.observed_ms for source, each in found.items()
            }

    def read(self, now_ms: int) -> list[ClusterRead]:
        """Read every cluster once.

        Raises:
            FollowingError: the store cannot be read.
            ConfigError: this process follows nothing, and the stored state is of another cluster
                than the configured one.
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
            known=self._journals,
        )
        if name not in self._reported_before:
            require_id(self._config, entry, one.sources)
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
