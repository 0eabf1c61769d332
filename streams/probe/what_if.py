"""Queries the brokers: the cluster, every broker's disks, and the settings of one broker."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from migration.observed.probed import Broker, Maybe, Topics, Unknown
from migration.what_if.situation import SETTINGS
from streams.net.endpoint import Endpoint
from streams.net.security import Security
from streams.probe.brokers import ask_brokers, broker_settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """The results of the queries.

    Attributes:
        brokers: those that are alive according to the brokers, whether or not they answered, by id.
        settings: the server properties of the broker in question (`SETTINGS`).
    """

    topics: Maybe[Topics]
    brokers: Mapping[int, Broker]
    settings: Maybe[Mapping[str, str]]


def gather(bootstrap: Sequence[Endpoint], security: Security, broker: int) -> Gathered:
    """Query all brokers, then this one for its settings. Takes at most about 45 s."""
    answers = ask_brokers(bootstrap, security)
    alive = set() if isinstance(answers.topics, Unknown) else answers.topics.broker_ids
    brokers = {each.id: each for each in answers.brokers if each.id in alive}
    return Gathered(
        topics=answers.topics,
        brokers=brokers,
        settings=broker_settings(brokers.get(broker), security, SETTINGS),
    )
