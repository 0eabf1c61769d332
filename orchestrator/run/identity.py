"""Checks that every followed source belongs to the configured cluster."""

from collections.abc import Iterator

from migration.observed.cluster_id import Named, disagreement
from orchestrator.config.load import Config
from orchestrator.config.models import ClusterEntry
from orchestrator.errors import ConfigError
from orchestrator.run.assessed import Tick
from orchestrator.run.cluster_read import ClusterRead

_FIX = (
    "correct `id` or the addresses; a state directory that followed another cluster cannot be used"
    " for this one"
)


def require_one_cluster(config: Config, tick: Tick, since_ms: int) -> None:
    """Check that the configuration and all sources name one cluster id for each cluster.

    A status from before `since_ms` was reported to an earlier process and is ignored.

    Raises:
        ConfigError: they name several ids; the message lists every id and its source.
    """
    problems = []
    for one in tick.clusters:
        differ = disagreement(_named(one.entry, one.read, since_ms))
        if differ is not None:
            problems.append(f"{config.path}: cluster {one.entry.name}: {differ}: {_FIX}")
    if problems:
        raise ConfigError(problems)


def _named(entry: ClusterEntry, one: ClusterRead, since_ms: int) -> Iterator[Named]:
    if entry.id is not None:
        yield Named("`id`", entry.id)
    sources = (
        ("the controllers", one.status),
        ("ZooKeeper (/cluster/id)", one.zookeeper),
        ("the brokers", one.log_dirs),
    )
    for where, status in sources:
        if status.cluster_id is not None and status.observed_ms >= since_ms:
            yield Named(where, status.cluster_id)
