"""The throttle of a broker's moves between its log directories, read and set by confluent-kafka.

It is only a dynamic setting (KIP-226): a broker describes it while it is set, for itself or as the
cluster's default. The connection has the security settings of every other one.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Final, NamedTuple

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # it exports them
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ResourceType,
)

from migration.moves.planner import THROTTLE
from streams.kafka.errors import ConnectionFailed
from streams.kafka.librdkafka import Clients
from streams.net.endpoint import Endpoint
from streams.net.security import Security

_ANSWER_S_MAX: Final = 5.0
_TRIES: Final = 3
"""A broker that has just restarted is missing from the metadata of brokers that lag behind."""
_DENIED: Final = frozenset(
    {KafkaError.CLUSTER_AUTHORIZATION_FAILED, KafkaError.TOPIC_AUTHORIZATION_FAILED}
)


class Throttle(NamedTuple):
    """The throttle of one broker, as text; None: none.

    Attributes:
        own: what is set for this broker.
        effective: `own`, or else the cluster's default.
    """

    own: str | None
    effective: str | None


class Throttles:
    """Reads and sets the throttles of brokers.

    Each request uses a new client: one that read the metadata while a broker was restarting no
    longer knows that broker, and waits for it in vain (librdkafka 2.16, confirmed on 3.9.1).

    Every request raises AuthenticationFailed if a secret cannot be read or the listener rejects the
    credentials, and RequestRefused if Kafka returns another error or librdkafka does not support
    the security settings.
    """

    def __init__(self, bootstrap: Sequence[Endpoint], security: Security) -> None:
        self._bootstrap = bootstrap
        self._security = security

    def read(self, broker: int) -> Throttle:
        """Return the throttle of a broker, as the broker itself applies it.

        Raises:
            ConnectionFailed: no answer.
            NotAuthorized: DESCRIBE_CONFIGS on CLUSTER is missing.
        """
        asked = ConfigResource(ResourceType.BROKER, str(broker))

        def ask(client: AdminClient) -> "Future[Any]":
            return client.describe_configs([asked], request_timeout=_ANSWER_S_MAX)[asked]

        entry = self._answer(ask, broker, "describe", "DESCRIBE_CONFIGS").get(THROTTLE)
        if entry is None or entry.value is None:
            return Throttle(None, None)
        is_own = entry.source == ConfigSource.DYNAMIC_BROKER_CONFIG.value
        return Throttle(entry.value if is_own else None, entry.value)

    def write(self, broker: int, value: str | None) -> None:
        """Set the throttle of this broker alone; None: delete it.

        Raises:
            ConnectionFailed: no answer; whether it is set is unknown.
            NotAuthorized: ALTER_CONFIGS on CLUSTER is missing.
        """
        how = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
        entry = ConfigEntry(THROTTLE, value, incremental_operation=how)
        asked = ConfigResource(ResourceType.BROKER, str(broker), incremental_configs=[entry])

        def ask(client: AdminClient) -> "Future[Any]":
            return client.incremental_alter_configs([asked], request_timeout=_ANSWER_S_MAX)[asked]

        self._answer(ask, broker, "change", "ALTER_CONFIGS")

    def _answer(
        self, ask: "Callable[[AdminClient], Future[Any]]", broker: int, verb: str, right: str
    ) -> Any:  # noqa: ANN401
        where = ",".join(map(str, self._bootstrap))
        what = f"broker {broker} ({where}) does not {verb} its {THROTTLE}"
        for _ in range(_TRIES - 1):
            with suppress(ConnectionFailed):
                return self._result(ask, what, right)
        return self._result(ask, what, right)

    def _result(self, ask: "Callable[[AdminClient], Future[Any]]", what: str, right: str) -> Any:  # noqa: ANN401
        clients = Clients(self._bootstrap, self._security)
        client = clients.made(AdminClient)
        try:
            return ask(client).result(_ANSWER_S_MAX + 1)
        except TimeoutError as error:
            rejection = clients.rejection(what, client)
            raise rejection or ConnectionFailed(f"{what}: no answer") from error
        except KafkaException as error:
            denied = dict.fromkeys(_DENIED, f"{right} on CLUSTER")
            raise clients.error_of(what, error, denied, client) from error
