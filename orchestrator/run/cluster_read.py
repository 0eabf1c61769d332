"""What one read of a cluster returns, and the interfaces to the job and the store.

`streams.spark` and `streams.state` implement the interfaces. Tests implement them with fakes,
because those tests cover the screens and exit codes, not the job. `ClusterRead` is everything that
is read of one cluster at one moment.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from migration.assessment.data_source import JOURNALED, DataSource
from migration.assessment.snapshot import Journal
from migration.assessment.waits import nothing_seen
from migration.image.summary import ClusterSummary, Phase
from migration.metadata.events import Event
from migration.observed.source_status import (
    NO_STATUS,
    SourceStatus,
    SourceStatusError,
    from_json,
    meaningful_end,
)
from migration.values.foreign import load
from orchestrator.run import execution_status
from orchestrator.run.execution_status import ExecutionStatus

STATUS_FILES: Final = {
    DataSource.METADATA_LOG: "source.json",
    DataSource.ZOOKEEPER: "zookeeper.json",
    DataSource.LOG_DIRS: "log_dirs.json",
    DataSource.JMX: "jmx.json",
}
PHASE_CHANGED: Final = "phase_changed"
_LOG = logging.getLogger(__name__)


class TransitionFile(Protocol):
    """A Parquet file of replica transitions."""

    @property
    def path(self) -> str:
        """Its path, below the transitions of the state directory."""


class Following(Protocol):
    """A running query that keeps the store up to date."""

    def poll(self) -> None:
        """Raise the query's error if it has died."""

    def stop(self) -> None:
        """Stop the query; the store stays as the last complete batch left it."""


class Store(Protocol):
    """The observed state of the clusters, as of the last complete batch."""

    def clusters(self) -> list[str]:
        """Return the names of the clusters that have observed data."""

    def summary(self, cluster: str) -> ClusterSummary | None:
        """Return a cluster's latest summary; None before the first batch."""

    def events(
        self, cluster: str, after: int = 0, limit: int | None = None, *, newest: bool = False
    ) -> list[tuple[int, Event]]:
        """Return events with their sequence numbers, oldest first."""

    def place(self, cluster: str, source: str) -> int:
        """Return the position up to which a source's facts are stored; 0 before the first."""

    def counts(self, cluster: str, after: int = 0) -> tuple[int, Mapping[str, int]]:
        """Return the last event's sequence number, and the count of events of each kind."""

    def newest(self, cluster: str, kind: str) -> Event | None:
        """Return the newest event of one kind."""

    def transition_files(self, cluster: str) -> Sequence[TransitionFile]:
        """Return the Parquet files of replica transitions that belong to the committed state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The events of one cluster so far.

    Attributes:
        last: the sequence number of the last event that is counted.
        counts: the number of events, by kind.
        phase: the newest event that reports a change of phase; None: there is none.
    """

    last: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    phase: Event | None = None

    def phase_began_ms(self, phase: Phase) -> int | None:
        """Return when `phase` began; None: the newest change is of another phase.

        That happens because a snapshot of the log skips changes of phase.
        """
        changed = self.phase
        return (
            changed.moment_ms
            if changed is not None and changed.fields.get("now") == phase
            else None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRead:
    """The data of the store, the sources and the execution of the runbook for one cluster.

    Attributes:
        events: the latest events, oldest first, with their sequence numbers.
        status: that of the metadata log's source.
        journals: the existing journals, by the name of their source.
        walk: how far the execution of the runbook is; None: there is none.
    """

    summary: ClusterSummary
    events: tuple[tuple[int, Event], ...]
    status: SourceStatus
    zookeeper: SourceStatus = NO_STATUS
    log_dirs: SourceStatus = NO_STATUS
    jmx: SourceStatus = NO_STATUS
    journals: Mapping[str, Journal] = field(default_factory=dict, compare=False)
    execution: ExecutionStatus | None = None

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
        """What the sources cannot observe in this cluster, in the sources' own words."""
        return (*self.status.limits, *self.zookeeper.limits, *self.log_dirs.limits)

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
        return from_json(load(path.read_bytes()))
    except FileNotFoundError:
        return NO_STATUS
    except (OSError, ValueError, SourceStatusError) as error:
        _LOG.warning("%s cannot be read: %s", path, error)
        return NO_STATUS


def read_cluster(
    store: Store | None,
    state_dir: Path,
    cluster: str,
    *,
    after: int = 0,
    limit: int | None = None,
    newest: bool = False,
) -> ClusterRead:
    """Read one cluster; `after`, `limit` and `newest` are those of `Store.events`."""
    summary = None if store is None else store.summary(cluster)
    events: list[tuple[int, Event]] = []
    if store is not None and summary is not None:
        events = store.events(cluster, after=after, limit=limit, newest=newest)
    return ClusterRead(
        summary=nothing_seen(cluster) if summary is None else summary,
        events=tuple(events),
        status=read_status(state_dir, cluster, STATUS_FILES[DataSource.METADATA_LOG]),
        zookeeper=read_status(state_dir, cluster, STATUS_FILES[DataSource.ZOOKEEPER]),
        log_dirs=read_status(state_dir, cluster, STATUS_FILES[DataSource.LOG_DIRS]),
        jmx=read_status(state_dir, cluster, STATUS_FILES[DataSource.JMX]),
        journals=dict(_journals(store, state_dir, cluster)),
        execution=execution_status.read(
            state_dir / "clusters" / cluster / execution_status.EXECUTION_FILE
        ),
    )


def tally(store: Store, cluster: str, before: Tally) -> Tally:
    """Return `before` with the events that were added since then."""
    last, counts = store.counts(cluster, before.last)
    if not counts:
        return before
    total = dict(before.counts)
    for kind, count in counts.items():
        total[kind] = total.get(kind, 0) + count
    phase = store.newest(cluster, PHASE_CHANGED) if PHASE_CHANGED in counts else before.phase
    return Tally(last=last, counts=total, phase=phase)


def _journals(store: Store | None, state_dir: Path, cluster: str) -> Iterator[tuple[str, Journal]]:
    from streams.state.journal import JournalError, first_behind, last_sequence

    for name in map(str, JOURNALED):
        path = state_dir / "clusters" / cluster / f"{name}.db"
        if not path.is_file():
            continue
        read = 0 if store is None else store.place(cluster, name)
        try:
            last: int | None = last_sequence(path)
            unread_ms = first_behind(path, read) if read < (last or 0) else None
        except JournalError as error:
            _LOG.warning("%s", error)
            last, unread_ms = None, None
        yield name, Journal(last=last, read=read, unread_ms=unread_ms)
