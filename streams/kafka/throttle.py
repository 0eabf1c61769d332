"""The throttle of a broker's moves between its log directories, read and set by confluent-kafka.

It is only a dynamic setting (KIP-226): a broker describes it while it is set, for itself or as the
cluster's default. The connection has the security settings of every other one.
"""

from collections.abc import Sequence
from concurrent.futures import Future
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
from streams.kafka.errors import ConnectionFailed, NotAuthorized, RequestRefused
from streams.kafka.librdkafka import UNREACHABLE, made, words
from streams.net.endpoint import Endpoint
from streams.net.security import Security

_ANSWER_S_MAX: Final = 15.0
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
    """Reads and sets the throttles of brokers. Not thread-safe."""

    def __init__(self, bootstrap: Sequence[Endpoint], security: Security) -> None:
        """Prepare the client; it connects at the first request.

        Raises:
            AuthenticationFailed: a secret cannot be read.
            RequestRefused: librdkafka does not support the security settings.
        """
        self._where = ",".join(map(str, bootstrap))
        self._admin = made(AdminClient, bootstrap, security)

    def read(self, broker: int) -> Throttle:
        """Return the throttle of a broker, as the broker itself applies it.

        Raises:
            ConnectionFailed: no answer.
            NotAuthorized: DESCRIBE_CONFIGS on CLUSTER is missing.
            RequestRefused: the broker returns another error.
        """
        asked = ConfigResource(ResourceType.BROKER, str(broker))
        answer = self._admin.describe_configs([asked], request_timeout=_ANSWER_S_MAX)
        entry = self._result(answer[asked], broker, "describe", "DESCRIBE_CONFIGS").get(THROTTLE)
        if entry is None or entry.value is None:
            return Throttle(None, None)
        is_own = entry.source == ConfigSource.DYNAMIC_BROKER_CONFIG.value
        return Throttle(entry.value if is_own else None, entry.value)

    def write(self, broker: int, value: str | None) -> None:
        """Set the throttle of this broker alone; None: delete it.

        Raises:
            ConnectionFailed: no answer; whether it is set is unknown.
            NotAuthorized: ALTER_CONFIGS on CLUSTER is missing.
            RequestRefused: Kafka returns another error.
        """
        how = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
        entry = ConfigEntry(THROTTLE, value, incremental_operation=how)
        asked = ConfigResource(ResourceType.BROKER, str(broker), incremental_configs=[entry])
        answer = self._admin.incremental_alter_configs([asked], request_timeout=_ANSWER_S_MAX)
        self._result(answer[asked], broker, "change", "ALTER_CONFIGS")

    def _result(self, answer: "Future[Any]", broker: int, verb: str, right: str) -> Any:  # noqa: ANN401
        what = f"broker {broker} ({self._where}) does not {verb} its {THROTTLE}"
        try:
            return answer.result(_ANSWER_S_MAX + 1)
        except TimeoutError as error:
            raise ConnectionFailed(f"{what}: no answer") from error
        except KafkaException as error:
            code = error.args[0].code()
            if code in _DENIED:
                raise NotAuthorized(f"{what}: {right} on CLUSTER is needed") from error
            kind = ConnectionFailed if code in UNREACHABLE else RequestRefused
            raise kind(f"{what}: {words(error)}") from error
