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
from streams.kafka.framing import CLIENT_ID
from streams.net.endpoint import Endpoint
from streams.net.security import Security

_ANSWER_S_MAX: Final = 15.0
_DENIED: Final = frozenset(
    {KafkaError.CLUSTER_AUTHORIZATION_FAILED, KafkaError.TOPIC_AUTHORIZATION_FAILED}
)
_UNREACHABLE: Final = frozenset(
    {
        KafkaError._TIMED_OUT,  # noqa: SLF001  # public by its documentation
        KafkaError._TRANSPORT,  # noqa: SLF001
        KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001
        KafkaError.REQUEST_TIMED_OUT,
    }
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
        settings = {"bootstrap.servers": self._where, **client_settings(security)}
        if security.sasl_mechanism == "OAUTHBEARER":
            settings["oauth_cb"] = lambda _: (security.password() or "", _NEVER_S)
        try:
            self._admin = AdminClient(settings)
        except KafkaException as error:
            text = f"confluent-kafka does not accept `{security.key}`: {_words(error)}"
            raise RequestRefused(text) from error

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
            kind = ConnectionFailed if code in _UNREACHABLE else RequestRefused
            raise kind(f"{what}: {_words(error)}") from error


_NEVER_S: Final = 2.0**31


def client_settings(security: Security) -> dict[str, Any]:
    """Return the settings of librdkafka for a listener.

    Raises:
        AuthenticationFailed: a secret cannot be read.
    """
    settings: dict[str, Any] = {
        "client.id": CLIENT_ID,
        "security.protocol": security.protocol,
        "log_level": 0,
    }
    if security.tls:
        settings["ssl.endpoint.identification.algorithm"] = (
            "https" if security.check_hostname else "none"
        )
        named = {
            "ssl.ca.location": security.ca_file,
            "ssl.certificate.location": security.cert_file,
            "ssl.key.location": security.private_key(),
            "ssl.key.password": security.key_password(),
        }
        settings |= {key: str(value) for key, value in named.items() if value is not None}
    if security.sasl:
        settings["sasl.mechanisms"] = security.sasl_mechanism
        if security.sasl_mechanism not in ("OAUTHBEARER", "GSSAPI"):
            settings["sasl.username"] = security.username or ""
            settings["sasl.password"] = security.password() or ""
    return settings


def _words(error: KafkaException) -> str:
    return str(error.args[0].str()) if error.args else str(error)
