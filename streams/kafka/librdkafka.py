"""Makes confluent-kafka's clients from the security settings of every other connection."""

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, Protocol, TypeVar

from confluent_kafka import KafkaError, KafkaException

from streams.kafka.errors import ConnectionFailed, NotAuthorized, RequestRefused
from streams.kafka.framing import CLIENT_ID
from streams.net.endpoint import Endpoint
from streams.net.errors import AuthenticationFailed, LiveError
from streams.net.security import Security
from streams.net.tls import client_context

_UNREACHABLE: Final = frozenset(
    {
        KafkaError._TIMED_OUT,  # noqa: SLF001  # public by its documentation
        KafkaError._TRANSPORT,  # noqa: SLF001
        KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001
        KafkaError._DESTROY_BROKER,  # noqa: SLF001  # it left the cluster before it answered
        KafkaError.REQUEST_TIMED_OUT,
    }
)
_NEVER_S: Final = 2.0**31
_MOMENT: Final = re.compile(r" \(after \d+ms in state [^)]*(\(s\)[^)]*)?\)$")
"""The end of librdkafka's text of an error, which differs each time."""
_SILENT: Final = logging.getLogger(f"{__name__}.silent")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False

Client = TypeVar("Client")


class _Polled(Protocol):
    """A client, whose callbacks are called from `poll`."""

    def poll(self, timeout: float, /) -> object: ...


class Clients:
    """Makes clients of one listener, and records why the listener rejects them.

    The requests of a rejected client only time out.
    """

    def __init__(self, bootstrap: Sequence[Endpoint], security: Security) -> None:
        self.where = ",".join(map(str, bootstrap))
        self._security = security
        self._rejected: KafkaError | None = None

    def made(
        self,
        client: Callable[[dict[str, Any]], Client],
        more: Mapping[str, Any] | None = None,
    ) -> Client:
        """Return a client; it connects at the first request.

        Args:
            client: its class.
            more: further settings of librdkafka.

        Raises:
            AuthenticationFailed: a secret cannot be read.
            ConnectionFailed: a file of the TLS settings cannot be used.
            RequestRefused: librdkafka does not support the security settings.
        """
        security = self._security
        settings = {
            "bootstrap.servers": self.where,
            **client_settings(security),
            **(more or {}),
            "error_cb": self._note,
            "logger": _SILENT,  # the errors are raised; even at log level 0, fatal ones are printed
        }
        if security.sasl_mechanism == "OAUTHBEARER":
            settings["oauth_cb"] = lambda _: (security.password() or "", _NEVER_S)
        try:
            if security.tls:
                # It names a file that librdkafka cannot use, or would wait for.
                client_context(security)
            return client(settings)
        except OSError as error:
            raise ConnectionFailed(f"{error} (`{security.key}`)") from error
        except KafkaException as error:
            text = f"confluent-kafka does not accept `{security.key}`: {words(error)}"
            raise RequestRefused(text) from error

    def _note(self, error: KafkaError) -> None:
        """Take an error of a client's connections, which no request raises."""
        if error.code() in (KafkaError._SSL, KafkaError._AUTHENTICATION):  # noqa: SLF001  # public
            self._rejected = error

    def rejection(self, what: str, *clients: _Polled) -> LiveError | None:
        """Return the last rejection of these clients; None: there was none.

        `what`: what failed, for the message.
        """
        for each in clients:
            with suppress(KafkaException), calling():  # a fatal error: the request has raised it
                each.poll(0)
        if self._rejected is None:
            return None
        is_tls = self._rejected.code() == KafkaError._SSL  # noqa: SLF001
        kind = ConnectionFailed if is_tls else AuthenticationFailed
        why = _MOMENT.sub("", str(self._rejected.str()))
        return kind(f"{what}: {why}: check `{self._security.key}`")

    def error_of(
        self, what: str, error: KafkaException, denied: Mapping[int, str], *clients: _Polled
    ) -> LiveError:
        """Return the error of a request of these clients as this package's.

        `what`: what failed, for the message; `denied`: the missing right by error code.
        """
        code = error.args[0].code()
        if code in denied:
            return NotAuthorized(f"{what}: {denied[code]} is needed")
        if code not in _UNREACHABLE:
            return RequestRefused(f"{what}: {words(error)}")
        return self.rejection(what, *clients) or ConnectionFailed(f"{what}: {words(error)}")


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
        }
        settings |= {key: str(value) for key, value in named.items() if value is not None}
    if security.sasl:
        settings["sasl.mechanisms"] = security.sasl_mechanism
        if security.sasl_mechanism not in ("OAUTHBEARER", "GSSAPI"):
            settings["sasl.username"] = security.username or ""
            settings["sasl.password"] = security.password() or ""
    return settings


@contextmanager
def calling() -> Iterator[None]:
    """Raise a fatal error as KafkaException from what calls callbacks (poll, flush).

    confluent-kafka sets that exception and then still calls the callbacks of deliveries, and Python
    makes a SystemError of it.
    """
    try:
        yield
    except SystemError as error:
        if isinstance(error.__cause__, KafkaException):
            raise error.__cause__ from None
        raise


def words(error: KafkaException) -> str:
    return str(error.args[0].str()) if error.args else str(error)
