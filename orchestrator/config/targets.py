"""Converts the addresses of a cluster to the types of `streams`."""

from orchestrator.config.load import Config
from orchestrator.config.models import ClusterEntry, Listener, ZookeeperEnsemble
from orchestrator.errors import ConfigError
from streams.net.endpoint import Endpoint
from streams.net.errors import AuthenticationFailed
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


def require_secrets(config: Config, *settings: Security) -> None:
    """Check that the secret files of these listeners can be used, before any of them is asked.

    Raises:
        ConfigError: a file cannot be read, is empty, or other users can read it.
    """
    problems = []
    for each in settings:
        for read in (each.password, each.private_key):
            try:
                read()
            except AuthenticationFailed as error:
                problems.append(f"{config.path}: `{each.key}`: {error}")
    if problems:
        raise ConfigError(list(dict.fromkeys(problems)))


def security_of(listener: Listener | None, key: str) -> Security:
    """Return the security settings of a listener; `key`: their configuration key."""
    given = {} if listener is None else listener.security.model_dump()
    return Security(**given, key=key)
