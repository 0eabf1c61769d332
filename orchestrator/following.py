"""What the commands need of the job and of the store, as narrow interfaces.

`streams.job` and `streams.store` are meant to fulfil them; tests fulfil them with fakes, because
there the screens and exit codes are under test, not the job. Beside them: `Snapshot`, all that
a screen shows of one cluster at one moment.
"""

import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from migration.event import Event
from migration.source_status import NO_STATUS, SourceStatus, SourceStatusError, from_json
from migration.summary import ClusterSummary
from migration.waits import nothing_seen

_LOG = logging.getLogger(__name__)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All that is shown of one cluster at one moment.

    Attributes:
        events: the latest ones, oldest first, with their sequence numbers.
        status: of the metadata log's source.
        zookeeper: of ZooKeeper's.
        log_dirs: of the disks'.
    """

    summary: ClusterSummary
    events: tuple[tuple[int, Event], ...]
    status: SourceStatus
    zookeeper: SourceStatus = NO_STATUS
    log_dirs: SourceStatus = NO_STATUS


def read_status(state_dir: Path, cluster: str, file: str = "source.json") -> SourceStatus:
    """Read what the cluster's source last said; what cannot be read was never said."""
    path = state_dir / "clusters" / cluster / file
    try:
        return from_json(json.loads(path.read_bytes()))
    except FileNotFoundError:
        return NO_STATUS
    except (OSError, ValueError, SourceStatusError) as error:
        _LOG.warning("%s cannot be read: %s", path, error)
        return NO_STATUS


def snapshot(
    store: Store | None,
    state_dir: Path,
    cluster: str,
    *,
    after: int = 0,
    limit: int | None = None,
    newest: bool = False,
) -> Snapshot:
    """Read one cluster: its summary, its source's word, and events as `Store.events` gives them."""
    summary = None if store is None else store.summary(cluster)
    events: list[tuple[int, Event]] = []
    if store is not None and summary is not None:
        events = store.events(cluster, after=after, limit=limit, newest=newest)
    return Snapshot(
        summary=nothing_seen(cluster) if summary is None else summary,
        events=tuple(events),
        status=read_status(state_dir, cluster),
        zookeeper=read_status(state_dir, cluster, "zookeeper.json"),
        log_dirs=read_status(state_dir, cluster, "log_dirs.json"),
    )
