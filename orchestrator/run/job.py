"""Starts the job of `streams` from the configuration, and translates its errors."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Protocol

from orchestrator.config.load import Config
from orchestrator.config.models import Listener, ZookeeperEnsemble
from orchestrator.errors import FollowingError
from orchestrator.process.crash import of_system

if TYPE_CHECKING:
    from streams.spark.settings import ClusterSources


class Following(Protocol):
    """A running query that keeps the store up to date: a `Job` of `streams.spark`, or a fake."""

    def poll(self) -> None:
        """Raise the query's error if it has died."""

    def stop(self) -> None:
        """Stop the query; the store stays as the last complete batch left it."""


Follow = Callable[[Config], AbstractContextManager[Following | None]]


@contextmanager
def followed(config: Config, check_start: Callable[[], None]) -> Iterator[Following | None]:
    """Follow every cluster that has a source to follow; yield None when there is none.

    `check_start` is called while executors are waited for; its error ends the wait.

    Raises:
        FollowingError: the query could not start.
    """
    sources = [(e.controllers, e.zookeeper, e.brokers, e.jmx) for e in config.clusters]
    if not any(map(any, sources)):
        yield None
        return
    from streams.spark.session import end_session

    try:
        job = _start(config, check_start)
        try:
            yield job
        finally:
            job.stop()
    finally:
        end_session()


def _start(config: Config, check_start: Callable[[], None]) -> Following:
    from streams.spark.query import LOG_FILE, JobFailed, follow
    from streams.spark.settings import Deployment

    spark = config.spark
    deployment = Deployment(
        master=spark.master, settings=spark.settings or {}, secret_file=spark.secret_file
    )
    try:
        return follow(job_sources(config), config.state_dir, deployment, check_start)
    except JobFailed as error:
        raise FollowingError(str(error)) from error
    except OSError as error:
        log = config.state_dir / LOG_FILE
        why = f"Spark cannot be started: {of_system(error)}: see {log}"
        raise FollowingError(why) from error


def job_sources(config: Config) -> "list[ClusterSources]":
    """Return the clusters that the job follows."""
    from streams.spark.settings import ClusterSources

    return [
        ClusterSources(
            cluster=each.name,
            cluster_id=each.id,
            controllers=_source(each.controllers, "controllers.security"),
            zookeeper=_source(each.zookeeper, "zookeeper.security"),
            brokers=_source(each.brokers, "brokers.security"),
            jmx=None if each.jmx is None else each.jmx.model_dump(mode="json"),
        )
        for each in config.clusters
    ]


def _source(given: Listener | ZookeeperEnsemble | None, key: str) -> dict[str, object] | None:
    """Return the address and the security of a source, of that the keys that are not defaults."""
    if given is None:
        return None
    security = given.security.model_dump(mode="json", exclude_defaults=True) | {"key": key}
    if isinstance(given, ZookeeperEnsemble):
        return {"connect": str(given.connect), "security": security}
    return {"bootstrap": ",".join(map(str, given.bootstrap)), "security": security}


def check(job: Following | None) -> None:
    """Check that the query is still running.

    Raises:
        FollowingError: it died.
    """
    if job is None:
        return
    from streams.spark.query import JobFailed

    try:
        job.poll()
    except JobFailed as error:
        raise FollowingError(str(error)) from error
