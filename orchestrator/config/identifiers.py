"""Identifiers that an operator types: an unknown one is a usage error, before anything is done."""

from collections.abc import Mapping, Sequence

from migration.assessment.conditions import View
from migration.assessment.conditions.existence import absent_broker
from migration.image.known_ids import known_brokers
from orchestrator.config.load import Config
from orchestrator.config.models import ClusterEntry
from orchestrator.errors import UnknownIdError


def clusters_named(config: Config, name: str | None) -> Sequence[ClusterEntry]:
    """Return the configured clusters, or the one of this name.

    Raises:
        UnknownIdError: no cluster has this name.
    """
    found = [each for each in config.clusters if name in (None, each.name)]
    if not found:
        names = ", ".join(each.name for each in config.clusters)
        raise UnknownIdError(f"{config.path} has no cluster {name}. Configured clusters: {names}")
    return found


def broker_not_known(broker: int, views: Mapping[str, View]) -> Mapping[str, str]:
    """Return the clusters that may have the broker, with the reason; empty if one has it.

    Raises:
        UnknownIdError: no cluster has it, and the sources that would show it are current.
    """
    if any(broker in known_brokers(each.summary) for each in views.values()):
        return {}
    absent = {name: absent_broker(broker, view) for name, view in views.items()}
    if all(absent.values()):
        raise UnknownIdError("; ".join(why for why in absent.values() if why))
    why = f"whether broker {broker} exists: the sources that would show it are not current"
    return {name: why for name, known in absent.items() if known is None}
