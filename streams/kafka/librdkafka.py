"""Makes confluent-kafka's clients from the security settings of every other connection."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from confluent_kafka import KafkaError, KafkaException

from streams.kafka.errors import RequestRefused
from streams.kafka.framing import CLIENT_ID
from streams.net.endpoint import Endpoint
from streams.net.errors import AuthenticationFailed
from streams.net.security import Security

UNREACHABLE: Final = frozenset(
    {
        KafkaError._TIMED_OUT,  # noqa: SLF001  # public by its documentation
        KafkaError._TRANSPORT,  # noqa: SLF001
        KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001
        KafkaError._DESTROY_BROKER,  # noqa: SLF001  # it left the cluster before it answered
        KafkaError.REQUEST_TIMED_OUT,
    }
)
_REJECTIONS: Final = (KafkaError._SSL, KafkaError._AUTHENTICATION)  # noqa: SLF001
_NEVER_S: Final = 2.0**31
_SILENT: Final = logging.getLogger(f"{__name__}.silent")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False
"""Its errors are raised by the calls."""

Client = TypeVar("Client")


class Rejected:
    """The last error of TLS or SASL; the calls themselves only say that no broker answered.

    It is the client's `error_cb`, which runs while the client is polled.
    """

    def __init__(self, security: Security) -> None:
        self._key = security.key
        self._why: str | None = None

    def __call__(self, error: KafkaError) -> None:
        """Keep the error if it is one."""
        if error.code() in _REJECTIONS:
            self._why = str(error.str())

    def error(self, what: str, *clients: Any) -> AuthenticationFailed | None:  # noqa: ANN401
        """Return the error of a call that failed; None: the clients had no such error."""
        for each in clients:
            each.poll(0)
        if self._why is None:
            return None
        return AuthenticationFailed(f"{what}: {self._why}: check `{self._key}`")


def made(
    client: Callable[[dict[str, Any]], Client],
    bootstrap: Sequence[Endpoint],
    security: Security,
    more: Mapping[str, Any] | None = None,
    *,
    rejected: Rejected,
) -> Client:
    """Return a client; it connects at the first request.

    Args:
        client: its class.
        bootstrap: the addresses of the brokers.
        security: the settings of their listener.
        more: further settings of librdkafka.
        rejected: gets the errors of its connections.

    Raises:
        AuthenticationFailed: a secret cannot be read.
        RequestRefused: librdkafka does not support the security settings.
    """
    settings = {
        "bootstrap.servers": ",".join(map(str, bootstrap)),
        **client_settings(security),
        **(more or {}),
        # Without one it prints fatal errors to stderr, at each level.
        "logger": _SILENT,
        "error_cb": rejected,
    }
    if security.sasl_mechanism == "OAUTHBEARER":
        settings["oauth_cb"] = lambda _: (security.password() or "", _NEVER_S)
    try:
        return client(settings)
    except KafkaException as error:
        text = f"confluent-kafka does not accept `{security.key}`: {words(error)}"
        raise RequestRefused(text) from error


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


def words(error: KafkaException) -> str:
    """Return librdkafka's text of an error."""
    return str(error.args[0].str()) if error.args else str(error)
