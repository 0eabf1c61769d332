"""The mode of each broker according to its settings."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from migration.assessment.conditions import SettingsSeen
from migration.image.summary import Mode
from migration.observed.probed import Maybe, Unknown
from streams.kafka.broker_values import BrokerAddress
from streams.net.security import Security
from streams.probe.brokers import asked, first_view
from streams.probe.cluster import wrong_cluster
from streams.probe.gather import Target

_AT_ONCE_MAX: Final = 32
_ROLES: Final = "process.roles"
_MIGRATION: Final = "zookeeper.metadata.migration.enable"
SETTINGS: Final = (_ROLES, _MIGRATION)


def ask_settings(target: Target, clock_ms: Callable[[], int]) -> Maybe[SettingsSeen]:
    """Query every broker that is up."""
    at_ms = clock_ms()
    view = first_view(target.brokers, target.brokers_security, topics=False)
    if isinstance(view, Unknown):
        return view
    if (other := wrong_cluster(view, target)) is not None:
        return other
    brokers = sorted(view.brokers.values())
    with ThreadPoolExecutor(max(1, min(_AT_ONCE_MAX, len(brokers)))) as pool:
        told = list(pool.map(lambda one: _mode(one, target.brokers_security), brokers))
    answers = dict(zip((each.id for each in brokers), told, strict=True))
    return SettingsSeen(
        at_ms=at_ms,
        modes={id_: each for id_, each in answers.items() if not isinstance(each, Unknown)},
        silent={id_: each.why for id_, each in answers.items() if isinstance(each, Unknown)},
    )


def _mode(broker: BrokerAddress, security: Security) -> Maybe[Mode]:
    found = asked(broker, security, lambda node: node.settings(broker.id, SETTINGS))
    return found if isinstance(found, Unknown) else mode_of(found)


def mode_of(settings: Mapping[str, str]) -> Maybe[Mode]:
    """Return the mode of a broker with these settings (KafkaConfig: without roles, ZooKeeper)."""
    if settings.get(_ROLES):
        return Mode.KRAFT
    told = settings.get(_MIGRATION)
    if told not in ("true", "false"):
        return Unknown(f"it does not tell {_MIGRATION}")
    return Mode.MIGRATING if told == "true" else Mode.ZOOKEEPER
