"""Converts the addresses of a cluster to the types of `streams`."""

from orchestrator.config.models import ClusterEntry, Listener, ZookeeperEnsemble
from streams.net.endpoint import Endpoint
from streams.net.security import Security
from streams.probe.gather import Target
from streams.zookeeper.ensemble import Ensemble


def target_of(entry: ClusterEntry) -> Target:
    return Target(
        cluster=entry.name,
        cluster_id=entry.id,
        zookeeper=None if entry.zookeeper is None else ensemble_of(entry.zookeeper),
        brokers=endpoints(entry.brokers),
        brokers_security=security_of(entry.brokers, "brokers.security"),
        controllers=endpoints(entry.controllers),
        controllers_security=security_of(entry.controllers, "controllers.security"),
    )


def ensemble_of(given: ZookeeperEnsemble) -> Ensemble:
    security = Security(**given.security.model_dump(), key="zookeeper.security")
    return Ensemble(connect=str(given.connect), security=security)


def endpoints(listener: Listener | None) -> tuple[Endpoint, ...]:
    """Return the addresses of a listener; none: it is not configured."""
    return () if listener is None else listener.bootstrap


def security_of(listener: Listener | None, key: str) -> Security:
    """Return the security settings of a listener; `key`: their configuration key."""
    given = {} if listener is None else listener.security.model_dump()
    return Security(**given, key=key)
