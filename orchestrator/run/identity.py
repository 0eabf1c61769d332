"""Checks that every followed source belongs to the configured cluster."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from migration.assessment.data_source import DataSource
from orchestrator.config.load import Config
from orchestrator.config.models import ClusterEntry
from orchestrator.errors import ConfigError
from orchestrator.run.assessed import Tick
from orchestrator.run.reader import ClusterRead

_FIX: Final = (
    "correct `id` or the addresses; a state directory that followed another cluster cannot be used"
    " for this one"
)

_WHERE: Final = {
    DataSource.METADATA_LOG: "the controllers",
    DataSource.ZOOKEEPER: "ZooKeeper (/cluster/id)",
    DataSource.LOG_DIRS: "the brokers",
}


def require_one_cluster(config: Config, tick: Tick) -> None:
    """Check that the configuration and all sources name one cluster id for each cluster.

    A status that was reported to an earlier process is ignored.

    Raises:
        ConfigError: they name several ids; the message lists every id and its source.
    """
    problems = []
    for one in tick.clusters:
        named = list(_named(one.entry, one.read))
        if len({id_ for _, id_ in named}) > 1:
            ids = ", ".join(f"{where}: {id_}" for where, id_ in named)
            problems.append(
                f"{config.path}: cluster {one.entry.name}: several cluster ids: {ids}: {_FIX}"
            )
    if problems:
        raise ConfigError(problems)


class FollowedIds(NamedTuple):
    """The ids of the followed clusters.

    Attributes:
        ids: those that are configured, or that a source has reported.
        unknown: the names of the clusters of which none is known yet.
    """

    ids: frozenset[str]
    unknown: tuple[str, ...]


def followed_ids(config: Config, tick: Tick | None) -> FollowedIds:
    """Return the ids of the followed clusters by the last tick; None: there was none yet."""
    named = {each.name: {each.id} - {None} for each in config.clusters}
    for one in tick.clusters if tick is not None else ():
        named[one.entry.name] |= {id_ for _, id_ in _named(one.entry, one.read)}
    return FollowedIds(
        ids=frozenset(id_ for ids in named.values() for id_ in ids if id_ is not None),
        unknown=tuple(name for name, ids in named.items() if not ids),
    )


def _named(entry: ClusterEntry, one: ClusterRead) -> Iterator[tuple[str, str]]:
    if entry.id is not None:
        yield "`id`", entry.id
    for source, where in _WHERE.items():
        cluster_id = one.sources[source].cluster_id
        if cluster_id is not None and source not in one.resuming:
            yield where, cluster_id
