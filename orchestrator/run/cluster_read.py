"""What the commands need of the job and of the store, as narrow interfaces.

`streams.spark` and `streams.state` are meant to fulfil them; tests fulfil them with fakes, because
there the screens and exit codes are under test, not the job. Beside them: `ClusterRead`, all that
is read of one cluster at one moment.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from migration.assessment.data_source import DataSource
from migration.assessment.snapshot import Journal
from migration.assessment.waits.cluster import nothing_seen
from migration.image.summary import ClusterSummary, Phase
from migration.metadata.events import Event
from migration.observed.source_status import NO_STATUS, SourceStatus, SourceStatusError, from_json
from migration.values.foreign import load
from orchestrator.run import execution_status
from orchestrator.run.execution_status import WalkTold

JOURNALS: Final = ("zookeeper", "log_dirs", "jmx")
PHASE_CHANGED: Final = "phase_changed"
_LOG = logging.getLogger(__name__)


class TransitionFile(Protocol):
    """A Parquet file of replica transitions."""

    @property
    def path(self) -> str:
        """Where it is, below the transitions of the state directory."""


class Following(Protocol):
    """A running query that keeps the store up to date."""

    def poll(self) -> None:
        """Raise the query's error if it died."""

    def stop(self) -> None:
        """End the query; the store stays as the last whole batch left it."""


class Store(Protocol):
    """What was observed, as of the last whole batch."""

    def clusters(self) -> list[str]:
        """Names of the clusters of which something was observed."""

    def summary(self, cluster: str) -> ClusterSummary | None:
        """Give a cluster's latest summary; None before the first batch."""

    def events(
        self, cluster: str, after: int = 0, limit: int | None = None, *, newest: bool = False
    ) -> list[tuple[int, Event]]:
        """Events with their sequence numbers, oldest first."""

    def place(self, cluster: str, source: str) -> int:
        """Up to where a source's facts are taken in; 0 before the first."""

    def counts(self, cluster: str, after: int = 0) -> tuple[int, Mapping[str, int]]:
        """Give the last event's sequence number, and how many there are of each kind."""

    def newest(self, cluster: str, kind: str) -> Event | None:
        """Give the newest event of one kind."""

    def transition_files(self, cluster: str) -> Sequence[TransitionFile]:
        """Give the Parquet files of replica transitions that count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The events of one cluster so far.

    Attributes:
        last: the sequence number of the last one that is counted.
        counts: how many there are, by kind.
        phase: the newest that told of another phase; None: none did.
    """

    last: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    phase: Event | None = None

    def phase_began_ms(self, phase: Phase) -> int | None:
        """When the phase that it is in began; None: the newest event tells of another one.

        A snapshot of the log skips some.
        """
        changed = self.phase
        return (
            changed.moment_ms
            if changed is not None and changed.fields.get("now") == phase
            else None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRead:
    """What the store, the sources and the execution of the runbook hold of one cluster.

    Attributes:
        events: the latest ones, oldest first, with their sequence numbers.
        status: of the metadata log's source.
        journals: by the name of their source, those that there are.
        walk: how far the execution of the runbook is; None: there is none.
    """

    summary: ClusterSummary
    events: tuple[tuple[int, Event], ...]
    status: SourceStatus
    zookeeper: SourceStatus = NO_STATUS
    log_dirs: SourceStatus = NO_STATUS
    jmx: SourceStatus = NO_STATUS
    journals: Mapping[str, Journal] = field(default_factory=dict, compare=False)
    walk: WalkTold | None = None

    @property
    def sources(self) -> Mapping[DataSource, SourceStatus]:
        """What each followed source reports of itself."""
        return {
            DataSource.METADATA_LOG: self.status,
            DataSource.ZOOKEEPER: self.zookeeper,
            DataSource.LOG_DIRS: self.log_dirs,
            DataSource.JMX: self.jmx,
        }

    @property
    def limits(self) -> tuple[str, ...]:
        """What the sources do not see here, in their own words."""
        return (*self.status.limits, *self.zookeeper.limits, *self.log_dirs.limits)


def read_status(state_dir: Path, cluster: str, file: str = "source.json") -> SourceStatus:
    """Read what the cluster's source last said; what cannot be read was never said."""
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
    """Read one cluster; events as `Store.events` gives them."""
    summary = None if store is None else store.summary(cluster)
    events: list[tuple[int, Event]] = []
    if store is not None and summary is not None:
        events = store.events(cluster, after=after, limit=limit, newest=newest)
    return ClusterRead(
        summary=nothing_seen(cluster) if summary is None else summary,
        events=tuple(events),
        status=read_status(state_dir, cluster),
        zookeeper=read_status(state_dir, cluster, "zookeeper.json"),
        log_dirs=read_status(state_dir, cluster, "log_dirs.json"),
        jmx=read_status(state_dir, cluster, "jmx.json"),
        journals=dict(_journals(store, state_dir, cluster)),
        walk=execution_status.read(state_dir / "clusters" / cluster / execution_status.WALK_FILE),
    )


def tally(store: Store, cluster: str, before: Tally) -> Tally:
    """Count the events that came since."""
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

    for name in JOURNALS:
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
