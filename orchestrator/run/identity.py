"""Checks that sources and answers are of one cluster, the configured one, and of one entry."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

from migration.assessment.data_source import DataSource
from migration.observed.source_status import NO_STATUS, SourceStatus
from orchestrator.config.load import Config
from orchestrator.config.models import ClusterEntry
from orchestrator.config.targets import security_of, target_of
from orchestrator.errors import ConfigError
from orchestrator.run.assessed import Tick
from orchestrator.run.reader import ClusterRead, read_sources
from streams.net.endpoint import Endpoint
from streams.probe.gather import Target

_ASK_AGAIN_S: Final = 10.0
_FIX: Final = (
    "correct `id` or the addresses; a state directory that followed another cluster cannot be used"
    " for this one"
)

_WHERE: Final = {
    DataSource.METADATA_LOG: "the controllers",
    DataSource.ZOOKEEPER: "ZooKeeper (/cluster/id)",
    DataSource.LOG_DIRS: "the brokers",
}


AskController: TypeAlias = Callable[[ClusterEntry, str, str], bool | None]
"""Returns whether the controller at an address belongs to a cluster id; None: it is unknown."""


def ask_controller(entry: ClusterEntry, address: str, cluster_id: str) -> bool | None:
    """Ask a controller by a FETCH with this cluster id, which needs no right that `run` lacks."""
    from streams.probe.asking import query_node
    from streams.probe.controllers import ask_fetch

    (endpoint,) = Endpoint.parse_list(address)
    security = security_of(entry.controllers, "controllers.security")
    answer = query_node(endpoint, security, lambda node: ask_fetch(node, cluster_id)[1])
    return answer if isinstance(answer, bool) else None


def followed_target(config: Config, entry: ClusterEntry) -> Target:
    """Return the addresses of a cluster with the id that it must have, also if none is configured.

    Raises:
        ConfigError: no id is configured, and the sources report several, or reject the only one.
    """
    target = target_of(entry)
    if target.cluster_id is not None:
        return target
    reports = read_sources(config.state_dir, entry.name)
    accepted = accepted_ids(reports)
    ids = set(accepted.values())
    if len(ids) > 1:
        named = [(_WHERE[source], id_) for source, id_ in accepted.items()]
        raise ConfigError([_several(config, entry, named)])
    rejected = [
        f"{where}: {reports[source].error}"
        for source, where in _WHERE.items()
        if reports[source].cluster_id is not None and not ids
    ]
    if rejected:
        what = f"{config.path}: cluster {entry.name}: the cluster id is unknown"
        raise ConfigError([f"{what}: {'; '.join(rejected)}: {_FIX}"])
    return replace(target, cluster_id=next(iter(ids), None))


def accepted_ids(reports: Mapping[DataSource, SourceStatus]) -> Mapping[DataSource, str]:
    """Return the cluster ids that the sources follow.

    A source with an error that never had an answer may have rejected the id that it reports.
    """
    return {
        source: one.cluster_id
        for source in _WHERE
        if (one := reports.get(source, NO_STATUS)).cluster_id is not None
        and (one.error is None or one.last_reply_ms is not None)
    }


def _several(config: Config, entry: ClusterEntry, named: Iterable[tuple[str, str]]) -> str:
    ids = ", ".join(f"{where}: {id_}" for where, id_ in named)
    return f"{config.path}: cluster {entry.name}: several cluster ids: {ids}: {_FIX}"


class OneCluster:
    """Checks at each tick that all sources belong to one cluster, the configured one.

    A controller reports its cluster id only to principals with ALTER on CLUSTER. One that does not
    report it is asked whether it belongs to the cluster of the other sources, once.
    """

    def __init__(
        self,
        config: Config,
        ask: AskController = ask_controller,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = config
        self._ask = ask
        self._clock_s = clock_s
        self._answers: dict[tuple[str, str, int, str], bool] = {}
        self._ask_at_s: dict[str, float] = {}

    def require(self, tick: Tick) -> None:
        """Check that the configuration and all sources name one cluster id for each cluster.

        Two entries of one cluster would each perform its steps. A status that was reported to an
        earlier process is ignored.

        Raises:
            ConfigError: they name several ids, listed with their sources; or two name the same one.
        """
        problems = []
        names: dict[str, str] = {}
        for one in tick.clusters:
            named = list(_named(one.entry, one.read))
            if len({id_ for _, id_ in named}) == 1:
                named += self._other_id(one.entry, one.read, named[0][1])
            if len({id_ for _, id_ in named}) > 1:
                problems.append(_several(self._config, one.entry, named))
            elif named and named[0][1] in names:
                id_ = named[0][1]
                problems.append(
                    f"{self._config.path}: clusters {names[id_]} and {one.entry.name} are the same"
                    f" cluster ({id_}): keep one entry"
                )
            elif named:
                names[named[0][1]] = one.entry.name
        if problems:
            raise ConfigError(problems)

    def _other_id(
        self, entry: ClusterEntry, one: ClusterRead, cluster_id: str
    ) -> list[tuple[str, str]]:
        """Return that the followed controller belongs to another cluster, if it does."""
        status = one.status
        if status.cluster_id is not None or status.endpoint is None:
            return []  # the follower sends the id with each FETCH, or no controller has answered
        if DataSource.METADATA_LOG in one.resuming:
            return []
        key = entry.name, status.endpoint, status.log, cluster_id
        if key not in self._answers and self._clock_s() >= self._ask_at_s.get(entry.name, 0.0):
            agrees = self._ask(entry, status.endpoint, cluster_id)
            if agrees is None:
                self._ask_at_s[entry.name] = self._clock_s() + _ASK_AGAIN_S
            else:
                self._answers[key] = agrees
        if self._answers.get(key, True):
            return []
        return [(f"the controllers ({status.endpoint})", "another one, which they do not report")]


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
