"""Starts the job of `streams` with what the configuration says; its errors become ours."""

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.config import Config
from orchestrator.config_models import ClusterEntry, Security
from orchestrator.errors import FollowingError, KraftgateError
from orchestrator.following import Following

if TYPE_CHECKING:
    from streams.job.query import JobSettings, LogSource, ReplayOutcome

_LOG = logging.getLogger(__name__)

Follow = Callable[[Config], AbstractContextManager[Following | None]]


@contextmanager
def followed(config: Config) -> Iterator[Following | None]:
    """Follow every cluster that has controllers while the block runs; None when none has.

    Raises:
        FollowingError: the query could not start.
    """
    if all(cluster.controllers is None for cluster in config.clusters):
        yield None
        return
    following = _start(config)
    try:
        yield following
    finally:
        following.stop()


def _start(config: Config) -> Following:
    from streams.job.query import JobFailed, follow
    from streams.store.store import StoreError

    try:
        return follow(job_settings(config), config.state_dir)
    except (JobFailed, StoreError, OSError) as error:
        raise FollowingError(str(error)) from error


def job_settings(config: Config) -> "JobSettings":
    """Say to the job what to follow."""
    from streams.job.query import JobSettings

    sources = [_source(cluster) for cluster in config.clusters if cluster.controllers is not None]
    return JobSettings(sources=sources)


def _source(cluster: ClusterEntry) -> "LogSource":
    from streams.job.query import LogSource

    controllers = cluster.controllers
    if controllers is None:
        raise FollowingError(f"{cluster.name} has no controllers to follow")
    return LogSource(
        cluster=cluster.name,
        bootstrap=",".join(map(str, controllers.bootstrap)),
        cluster_id=cluster.id,
        security=_security(controllers.security),
    )


def _security(security: Security) -> dict[str, str | bool]:
    """Give the fields that differ from their defaults, files as absolute names."""
    given = security.model_dump(exclude_defaults=True)
    return {k: str(v) if isinstance(v, Path) else v for k, v in given.items()}


def check(following: Following | None) -> None:
    """Look whether the query still runs.

    Raises:
        FollowingError: it died.
    """
    if following is None:
        return
    from streams.job.query import JobFailed

    try:
        following.poll()
    except JobFailed as error:
        raise FollowingError(str(error)) from error


def replayed(path: Path, state_dir: Path | None, cluster: str) -> "ReplayOutcome":
    """Run the job over files to their end.

    Raises:
        KraftgateError: there is no metadata log at `path`, or the job failed.
    """
    from streams.job.query import JobFailed, replay
    from streams.source.log_files import NotAMetadataLog
    from streams.store.store import StoreError

    try:
        return replay(path, state_dir, cluster)
    except (JobFailed, NotAMetadataLog, StoreError, OSError) as error:
        raise KraftgateError(str(error)) from error
