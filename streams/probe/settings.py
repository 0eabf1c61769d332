"""The mode of each broker according to its settings."""

from collections.abc import Callable, Mapping
from typing import Final

from migration.assessment.conditions import SettingsSeen
from migration.image.summary import Mode
from migration.observed.probed import Maybe, Unknown
from streams.kafka.broker_values import BrokerAddress
from streams.net.endpoint import Endpoint
from streams.net.security import Security
from streams.probe.asking import in_parallel, query_node
from streams.probe.gather import Target, cluster_view

_ROLES: Final = "process.roles"
_MIGRATION: Final = "zookeeper.metadata.migration.enable"
SETTINGS: Final = (_ROLES, _MIGRATION)


def ask_settings(target: Target, clock_ms: Callable[[], int]) -> Maybe[SettingsSeen]:
    at_ms = clock_ms()
    view = cluster_view(target)
    if isinstance(view, Unknown):
        return view
    brokers = sorted(view.brokers.values())
    modes = in_parallel(lambda one: _mode(one, target.brokers_security), brokers)
    answers = dict(zip((each.id for each in brokers), modes, strict=True))
    return SettingsSeen(
        at_ms=at_ms,
        modes={id_: each for id_, each in answers.items() if not isinstance(each, Unknown)},
        silent={id_: each.why for id_, each in answers.items() if isinstance(each, Unknown)},
    )


def _mode(broker: BrokerAddress, security: Security) -> Maybe[Mode]:
    endpoint = Endpoint(broker.host, broker.port)
    settings = query_node(endpoint, security, lambda node: node.settings(broker.id, SETTINGS))
    return settings if isinstance(settings, Unknown) else mode_of(settings)


def mode_of(settings: Mapping[str, str]) -> Maybe[Mode]:
    """Return the mode of a broker with these settings (KafkaConfig: without roles, ZooKeeper)."""
    if settings.get(_ROLES):
        return Mode.KRAFT
    enabled = settings.get(_MIGRATION)
    if enabled not in ("true", "false"):
        return Unknown(f"it does not report {_MIGRATION}")
    return Mode.MIGRATING if enabled == "true" else Mode.ZOOKEEPER
