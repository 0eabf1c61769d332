"""A real broker with SASL_SSL and ACLs, a real controller with SASL.

Why they reject a client is named: a wrong password, user or mechanism, a missing right; and what
the broker hides from it.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import ResourceType  # type: ignore[attr-defined]  # it exports it

from orchestrator.lab import Lab, LabSpec
from streams.kafka.connection import Connection
from streams.kafka.errors import ConnectionFailed, NotAuthorized, RequestRefused
from streams.kafka.node import Node
from streams.kafka.throttle import Throttles
from streams.kafka.topic_writer import TopicWriter
from streams.net.endpoint import Endpoint
from streams.net.errors import AuthenticationFailed, LiveError
from streams.net.security import Security
from tests.streams.zookeeper.certificates import Authority
from tests.support.granting import AUTHORIZED, grant, withdraw
from tests.support.polling import polls, until
from tests.support.secured_listener import MODULES, of_broker, of_controller

pytestmark = [pytest.mark.lab, pytest.mark.long(minutes=1.0)]

TOPIC: Final = "kraftgate"
NAME: Final = "kraftgate-publish-prod"
USER: Final = "publisher"
ID_RIGHTS: Final = ("WRITE", "DESCRIBE")


@dataclass
class Secured:
    """A lab whose broker and controller have a listener for users with passwords.

    Attributes:
        controller: Where the controller listens with SASL; the lab itself uses another listener.
    """

    lab: Lab
    endpoint: Endpoint
    security: Security
    controller: Endpoint

    def writer(self) -> TopicWriter:
        return TopicWriter([self.endpoint], self.security, TOPIC, NAME)

    def connected(self) -> TopicWriter:
        """Return a writer once the broker applies what was granted."""
        for _ in polls(60.0):
            writer = self.writer()
            try:
                writer.connect()
            except (NotAuthorized, ConnectionFailed):  # late: the topic of transactions is new
                writer.close()
            else:
                return writer
        raise AssertionError("the right is not applied within 60 s")

    def grant(self) -> None:
        grant(self.lab.broker_bootstrap, USER, ID_RIGHTS, ResourceType.TRANSACTIONAL_ID, NAME)

    def withdraw(self) -> None:
        withdraw(self.lab.broker_bootstrap, USER, ResourceType.TRANSACTIONAL_ID, NAME)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secured")
    authority = Authority(folder)
    certificate = authority.issue("broker-1")
    (password := folder / "password").write_text("right")
    password.chmod(0o600)
    properties, of_the_controller = dict(AUTHORIZED), dict(AUTHORIZED)
    spec = LabSpec(
        brokers=1,
        directories=1,
        broker_properties=properties,
        controller_properties=of_the_controller,
    )
    with Lab(spec) as lab:
        endpoint, secured_properties = of_broker(lab, {USER: "right"}, certificate)
        properties |= secured_properties
        controller, secured_properties = of_controller(lab, {"kraftgate": "right"})
        of_the_controller |= secured_properties | {
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
            "listener.name.secured.scram-sha-256.sasl.jaas.config": (
                f"{MODULES}.scram.ScramLoginModule required;"
            ),
        }
        lab.start_kraft()
        lab.create_topic(TOPIC, 1, 1)
        admin = lab.broker_bootstrap
        grant(admin, USER, ("READ", "WRITE", "DESCRIBE"), ResourceType.TOPIC, TOPIC)
        grant(admin, USER, ("READ",), ResourceType.GROUP, NAME)
        until(lambda: _has_coordinator(admin))
        security = Security(
            protocol="SASL_SSL",
            sasl_mechanism="PLAIN",
            username=USER,
            password_file=password,
            ca_file=authority.file,
            key="publish.security",
        )
        # The first TLS connection to a busy broker takes longer than a request may.
        until(lambda: _lets_in(endpoint, security))
        yield Secured(lab, endpoint, security, controller)


def _lets_in(endpoint: Endpoint, security: Security) -> bool:
    try:
        Node(endpoint, security).close()
    except ConnectionFailed:
        return False
    return True


def _has_coordinator(bootstrap: str) -> bool:
    """Whether the group has one; the first request creates the topic of all groups' offsets."""
    with closing(Consumer({"bootstrap.servers": bootstrap, "group.id": NAME})) as consumer:
        try:
            consumer.committed([TopicPartition(TOPIC, 0)], timeout=15.0)
        except KafkaException:
            return False
    return True


def test_a_missing_right_on_the_transactional_id_is_named_and_can_be_granted(
    secured: Secured, capfd: pytest.CaptureFixture[str]
) -> None:
    needed = "WRITE and DESCRIBE on the transactional id is needed"
    with closing(secured.writer()) as writer, pytest.raises(NotAuthorized, match=needed):
        writer.connect()
    secured.grant()
    with closing(secured.connected()) as writer:
        writer.write([(b"prod", b"1")], "first", 1)
        secured.withdraw()
        with pytest.raises(NotAuthorized, match=needed):
            _write_on(writer)
    secured.grant()
    with closing(secured.connected()) as writer:
        writer.write([(b"prod", b"last")], "last", 1000)
    with closing(secured.writer()) as writer:
        assert writer.connect() == "last"
    assert "FATAL" not in capfd.readouterr().err


def test_only_a_topic_that_may_be_described_is_known_not_to_exist(secured: Secured) -> None:
    """Replicas of a hidden topic are not taken for deleted ones (streams.log_dirs)."""
    admin = secured.lab.broker_bootstrap
    secured.lab.create_topic("hidden", 1, 1)
    with Node(secured.endpoint, secured.security) as broker:
        assert not broker.nonexistent({TOPIC, "hidden", "gone"})
        grant(admin, USER, ("DESCRIBE",), ResourceType.TOPIC, "*")
        until(lambda: broker.nonexistent({TOPIC, "hidden", "gone"}) == {"gone"})
        withdraw(admin, USER, ResourceType.TOPIC, "*")
        until(lambda: not broker.nonexistent({"gone"}))


def test_a_topic_that_is_created_again_has_another_id(secured: Secured) -> None:
    with closing(secured.writer()) as writer:
        before = writer.topic_id()
        secured.lab.delete_topic(TOPIC)
        until(lambda: _topic_id(writer) is None)
        secured.lab.create_topic(TOPIC, 1, 1)
        until(lambda: _topic_id(writer) is not None)
        assert writer.topic_id() != before


def _topic_id(writer: TopicWriter) -> str | None:
    with suppress(RequestRefused):  # there is no such topic
        return writer.topic_id()
    return None


def _write_on(writer: TopicWriter) -> None:
    """Write until the broker applies what was withdrawn."""
    for number, _ in enumerate(polls(60.0), start=2):
        writer.write([(b"prod", b"%d" % number)], str(number), number)


def _wrong_password(given: Security, folder: Path) -> Security:
    (file := folder / "password").write_text("wrong")
    file.chmod(0o600)
    return replace(given, password_file=file)


def _wrong_authority(given: Security, folder: Path) -> Security:
    return replace(given, ca_file=Authority(folder, "another").file)


@pytest.mark.parametrize(
    ("wrong", "kind", "says"),
    [
        (_wrong_password, AuthenticationFailed, "Authentication failed: Invalid username or"),
        (_wrong_authority, ConnectionFailed, "certificate verify failed"),
    ],
)
def test_what_the_listener_rejects_is_named(
    secured: Secured,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    wrong: Callable[[Security, Path], Security],
    kind: type[LiveError],
    says: str,
) -> None:
    monkeypatch.setattr("streams.kafka.topic_writer._ANSWER_S_MAX", 5.0)
    security = wrong(secured.security, tmp_path)
    with closing(TopicWriter([secured.endpoint], security, TOPIC, NAME)) as writer:
        for ask in (writer.cluster_id, writer.connect):
            with pytest.raises(kind) as caught:
                ask()
            assert says in str(caught.value)
            assert str(caught.value).endswith(": check `publish.security`")
            assert "ms in state" not in str(caught.value), "it is reported once"
    with pytest.raises(kind) as caught:
        Throttles([secured.endpoint], security).read(1)
    assert says in str(caught.value)
    assert str(caught.value).endswith(": check `publish.security`")


def _of_controller(tmp_path: Path, mechanism: str, password: str, user: str) -> Security:
    file = tmp_path / "password"
    file.write_text(password)
    return Security(
        protocol="SASL_PLAINTEXT",
        sasl_mechanism=mechanism,
        username=user,
        password_file=file,
        key="controllers.security",
    )


def _connect(endpoint: Endpoint, wanted: Security) -> Connection:
    """Connect with the time that the first connection to a busy controller needs."""
    return Connection(endpoint, wanted, connect_timeout_ms=60_000)


def test_the_controller_lets_the_right_password_in(secured: Secured, tmp_path: Path) -> None:
    _connect(secured.controller, _of_controller(tmp_path, "PLAIN", "right", "kraftgate")).close()


@pytest.mark.parametrize(
    ("mechanism", "user", "said"),
    [
        ("PLAIN", "kraftgate", "Authentication failed: Invalid username or password"),
        ("PLAIN", "nobody", "Authentication failed: Invalid username or password"),
        ("SCRAM-SHA-256", "kraftgate", "during authentication due to invalid credentials"),
        ("SCRAM-SHA-512", "kraftgate", "the listener does not offer this mechanism"),
    ],
)
def test_credentials_that_the_controller_rejects_are_named(
    secured: Secured, tmp_path: Path, mechanism: str, user: str, said: str
) -> None:
    endpoint = secured.controller
    with pytest.raises(AuthenticationFailed) as caught:
        _connect(endpoint, _of_controller(tmp_path, mechanism, "wrong", user))
    begins = f"{endpoint}: authentication failed for user {user} with {mechanism}: "
    assert str(caught.value).startswith(begins)
    assert said in str(caught.value)
    assert str(caught.value).endswith(": check `controllers.security`")


def test_a_listener_without_sasl_is_not_mistaken_for_a_wrong_password(secured: Secured) -> None:
    wanted = Security(protocol="SSL", key="controllers.security")
    with pytest.raises(ConnectionFailed, match="failed TLS"):
        _connect(secured.controller, wanted)
