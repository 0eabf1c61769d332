"""A real controller that wants SASL: a wrong password, user or mechanism is named as such."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.lab import Lab, LabSpec
from streams.kafka.connection import Connection
from streams.kafka.errors import ConnectionFailed
from streams.net.endpoint import Endpoint
from streams.net.errors import AuthenticationFailed
from streams.net.security import Security
from tests.support.secured_listener import MODULES, of_controller

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    """Where the controller listens with SASL, beside the listener that the lab itself uses."""
    properties: dict[str, str] = {}
    with Lab(LabSpec(brokers=0, controllers=1, controller_properties=properties)) as lab:
        endpoint, secured_properties = of_controller(lab, {"kraftgate": "right"})
        properties |= secured_properties | {
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
            "listener.name.secured.scram-sha-256.sasl.jaas.config": (
                f"{MODULES}.scram.ScramLoginModule required;"
            ),
        }
        lab.start_kraft()
        yield endpoint


def security(tmp_path: Path, mechanism: str, password: str, user: str = "kraftgate") -> Security:
    file = tmp_path / "password"
    file.write_text(password)
    return Security(
        protocol="SASL_PLAINTEXT",
        sasl_mechanism=mechanism,
        username=user,
        password_file=file,
        key="controllers.security",
    )


def connection(endpoint: Endpoint, wanted: Security) -> Connection:
    """Connect with the time that the first connection to a busy controller needs."""
    return Connection(endpoint, wanted, connect_timeout_ms=60_000)


def test_the_right_password_is_let_in(endpoint: Endpoint, tmp_path: Path) -> None:
    connection(endpoint, security(tmp_path, "PLAIN", "right")).close()


@pytest.mark.parametrize(
    ("mechanism", "user", "said"),
    [
        ("PLAIN", "kraftgate", "Authentication failed: Invalid username or password"),
        ("PLAIN", "nobody", "Authentication failed: Invalid username or password"),
        ("SCRAM-SHA-256", "kraftgate", "during authentication due to invalid credentials"),
        ("SCRAM-SHA-512", "kraftgate", "the listener does not offer this mechanism"),
    ],
)
def test_wrong_credentials_are_named(
    endpoint: Endpoint, tmp_path: Path, mechanism: str, user: str, said: str
) -> None:
    with pytest.raises(AuthenticationFailed) as caught:
        connection(endpoint, security(tmp_path, mechanism, "wrong", user))
    begins = f"{endpoint}: authentication failed for user {user} with {mechanism}: "
    assert str(caught.value).startswith(begins)
    assert said in str(caught.value)
    assert str(caught.value).endswith(": check `controllers.security`")


def test_a_listener_without_sasl_is_not_mistaken_for_a_wrong_password(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    wanted = Security(protocol="SSL", key="controllers.security")
    del tmp_path
    with pytest.raises(ConnectionFailed, match="failed TLS"):
        connection(endpoint, wanted)
