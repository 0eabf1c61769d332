"""Gathers the facts of one cluster: ZooKeeper and the brokers in parallel, then the controllers.

Input: the addresses. Output: `Facts`, always; data that could not be read is unknown in them, with
its reason. Nothing is written anywhere, no znode is created, no watch remains.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from migration.observed.probed import Facts, Maybe, Topics, Unknown, ZooKeeper, ZooKeeperServer
from migration.observed.znode_codec import cluster_id_of
from streams.net.endpoint import Endpoint
from streams.net.security import Security
from streams.probe.brokers import ask_brokers, with_absent
from streams.probe.controllers import ask_controllers
from streams.zookeeper.ensemble import Ensemble
from streams.zookeeper.probe import ask_ensemble, ask_zookeeper

ZOOKEEPER_BELONGS: Final = "ZooKeeper (/cluster/id) belongs"
_PLAINTEXT: Final = Security()


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The addresses of one cluster; an address that is not configured is None or empty.

    Attributes:
        cluster: its name in the configuration.
        cluster_id: the id that it must have, configured or followed before; None: unknown.
    """

    cluster: str
    cluster_id: str | None = None
    zookeeper: Ensemble | None = None
    brokers: Sequence[Endpoint] = ()
    brokers_security: Security = _PLAINTEXT
    controllers: Sequence[Endpoint] = ()
    controllers_security: Security = _PLAINTEXT

    def mismatch(self, found: str | None, belongs: str = "the brokers belong") -> str | None:
        """Return why a source with this cluster id is not of this cluster; None: it may be."""
        if self.cluster_id in (None, found):
            return None
        return f"{belongs} to cluster {found or '(not reported)'}, not {self.cluster_id}"


def gather(target: Target) -> Facts:
    """Query everything; takes a few seconds, and at most about a minute when nothing answers."""
    with ThreadPoolExecutor(3) as pool:
        asked = pool.submit(ask_brokers, target.brokers, target.brokers_security)
        znodes = pool.submit(_zookeeper, target.zookeeper)
        servers = pool.submit(_ensemble, target.zookeeper)
        answers, zookeeper, ensemble = asked.result(), znodes.result(), servers.result()
    id_ = target.cluster_id or cluster_id_from(answers.topics, zookeeper)
    controllers = ask_controllers(target.controllers, target.controllers_security, id_)
    return Facts(
        cluster=target.cluster,
        wanted_id=target.cluster_id,
        zookeeper_connect=None if target.zookeeper is None else target.zookeeper.connect,
        zookeeper_identity=(
            target.zookeeper is not None and target.zookeeper.security.zookeeper_identity
        ),
        zookeeper=zookeeper,
        ensemble=ensemble,
        topics=answers.topics,
        brokers=tuple(with_absent(answers.brokers, _ids(zookeeper))),
        bootstrap_ids=answers.bootstrap_ids,
        controllers=controllers,
    )


def _zookeeper(ensemble: Ensemble | None) -> Maybe[ZooKeeper]:
    if ensemble is None:
        return Unknown("the configuration names no ZooKeeper")
    return ask_zookeeper(ensemble)


def _ensemble(ensemble: Ensemble | None) -> tuple[ZooKeeperServer, ...]:
    return () if ensemble is None else ask_ensemble(ensemble)


def _ids(zookeeper: Maybe[ZooKeeper]) -> frozenset[int]:
    if isinstance(zookeeper, Unknown):
        return frozenset()
    return zookeeper.broker_ids.union(*zookeeper.assignments.values())


def cluster_id_from(topics: Maybe[Topics], zookeeper: Maybe[ZooKeeper]) -> str | None:
    """Return the id that the brokers report, or else ZooKeeper; None: neither does."""
    if isinstance(topics, Topics) and topics.cluster_id:
        return topics.cluster_id
    return None if isinstance(zookeeper, Unknown) else cluster_id_of(zookeeper.cluster_id)
