"""Writes a scene as the state directory of `kraftgate run`: store, status files, execution."""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from migration.image.cluster import ClusterImage
from migration.image.summary import ClusterSummary
from migration.metadata.events import Event
from migration.observed.facts import ZooKeeperBlind
from migration.observed.source_status import SourceStatus
from orchestrator.run import execution_status
from orchestrator.run.execution_status import ExecutionStatus
from streams.state.journal import Journal
from streams.state.source_status import write_status
from streams.state.store import BatchResult, Store

CONFIG_FILE: Final = "kraftgate.yaml"
_POLL_EVERY_MS: Final = 60_000


@dataclass(frozen=True, kw_only=True)
class ClusterScene:
    """One cluster at one moment.

    Attributes:
        configured: the other keys of the cluster's entry in the configuration, in YAML.
        summary: None: no batch was committed.
        statuses: by the name of the status file; a source without one has never reported.
        execution: None: no runbook is executed.
        unread_ms: by source, when the first fact of its journal that the store lacks was observed.
    """

    name: str
    configured: Mapping[str, str]
    summary: ClusterSummary | None
    events: tuple[Event, ...] = ()
    statuses: Mapping[str, SourceStatus] = field(default_factory=dict)
    execution: ExecutionStatus | None = None
    unread_ms: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Scene:
    """All clusters of one process.

    Attributes:
        now_ms: the wall clock of the last poll.
        watched_ms: for so long `kraftgate run` has polled the same state.
    """

    clusters: tuple[ClusterScene, ...]
    now_ms: int
    watched_ms: int = 0


@dataclass(frozen=True, kw_only=True)
class Written:
    """A scene on disk.

    Attributes:
        polls_ms: when `kraftgate run` polls, in order; the last one is what is compared.
        move: writes the status files as they are at such a time.
    """

    config: Path
    polls_ms: tuple[int, ...]
    move: Callable[[int], None]


def write(scene: Scene, folder: Path) -> Written:
    """Write the configuration and the state directory of a scene below `folder`."""
    (folder / CONFIG_FILE).write_text(_config(scene), "utf-8")
    state = folder / "state"
    state.mkdir(mode=0o700)
    known = [each for each in scene.clusters if each.summary is not None]
    if known:
        with closing(Store.open(state / "store.db")) as store:
            store.commit(1, [_outcome(each) for each in known], scene.now_ms)
    for each in scene.clusters:
        _write_files(each, state / "clusters" / each.name)

    def move(at_ms: int) -> None:
        earlier_ms = scene.now_ms - at_ms
        for each in scene.clusters:
            for source, status in each.statuses.items():
                file = state / "clusters" / each.name / f"{source}.json"
                write_status(file, _earlier(status, earlier_ms))
            if each.execution is not None:
                at = each.execution.model_copy(update={"at_ms": each.execution.at_ms - earlier_ms})
                home = state / "clusters" / each.name
                execution_status.write(home / execution_status.EXECUTION_FILE, at)

    first_ms = scene.now_ms - scene.watched_ms
    polls_ms = (*range(first_ms, scene.now_ms, _POLL_EVERY_MS), scene.now_ms)
    return Written(config=folder / CONFIG_FILE, polls_ms=polls_ms, move=move)


def _config(scene: Scene) -> str:
    common = "state_dir: state\n"
    if len(scene.clusters) == 1:
        (one,) = scene.clusters
        entry = "".join(f"{key}: {value}\n" for key, value in one.configured.items())
        return f"cluster: {{name: {one.name}}}\n{entry}{common}"
    entries = "".join(
        f"  - name: {one.name}\n"
        + "".join(f"    {key}: {value}\n" for key, value in one.configured.items())
        for one in scene.clusters
    )
    return f"clusters:\n{entries}{common}"


def _outcome(one: ClusterScene) -> BatchResult:
    assert one.summary is not None
    return BatchResult(
        cluster=one.name,
        image=ClusterImage(),
        summary=replace(one.summary, cluster=one.name),
        brokers=one.summary.brokers,
        gone=(),
        place={},
        events=one.events,
        files=(),
    )


def _write_files(one: ClusterScene, home: Path) -> None:
    home.mkdir(parents=True)
    if one.execution is not None:
        execution_status.write(home / execution_status.EXECUTION_FILE, one.execution)
    for source, at_ms in one.unread_ms.items():
        with closing(Journal(home / f"{source}.db")) as journal:
            journal.append([ZooKeeperBlind(at_ms, "the connection to zk1:2181 was lost")])


def _earlier(status: SourceStatus, by_ms: int) -> SourceStatus:
    replied_ms = status.last_reply_ms
    return replace(
        status,
        observed_ms=status.observed_ms - by_ms,
        last_reply_ms=None if replied_ms is None else replied_ms - by_ms,
    )
