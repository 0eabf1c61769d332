"""A real ZooKeeper with TLS, client certificates and digest ACLs; no secret is printed."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from kazoo.security import make_acl, make_digest_acl

from migration.observed.facts import ZooKeeperSeen
from migration.observed.probed import Unknown, ZooKeeper
from migration.observed.znodes import CONTROLLER, MIGRATION, NOTIFICATIONS, TOPICS
from orchestrator.lab import Lab, LabSpec
from orchestrator.lab.machine.ports import Ports
from streams.net.security import Security
from streams.zookeeper import watcher
from streams.zookeeper.content.reading import ContentReading
from streams.zookeeper.ensemble import Ensemble
from streams.zookeeper.probe import ask_ensemble, ask_zookeeper
from tests.streams.zookeeper.certificates import Authority, Certificate, tls_settings
from tests.streams.zookeeper.content import raw_id, topic_data
from tests.streams.zookeeper.watching import EVENT, Watched, Writer, accounted, data, watching

pytestmark = pytest.mark.lab

SECRET = "hunter2"  # noqa: S105
LARGE = 900_000
"""Bytes of a znode: many TLS records, most of which are read before anybody waits for them."""


@dataclass(frozen=True)
class Secured:
    lab: Lab
    port: int
    authority: Authority
    client: Certificate
    place: Path

    @property
    def tls(self) -> Security:
        return Security(protocol="SSL", ca_file=self.authority.file, key="zookeeper.security")

    @property
    def certified(self) -> Security:
        return replace(self.tls, cert_file=self.client.cert, key_file=self.client.key)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    place = tmp_path_factory.mktemp("certificates")
    authority, ports = Authority(place), Ports()
    port = ports.take()
    settings = tls_settings(port, authority.issue("zookeeper"), authority)
    with Lab(LabSpec(brokers=0, zookeeper_properties=settings)) as lab:
        lab.start_zookeeper()
        yield Secured(lab, port, authority, authority.issue("kraftgate"), place)
    ports.close()


@pytest.fixture
def chroot(request: pytest.FixtureRequest) -> str:
    return f"/{request.node.name.partition('[')[0]}"


@pytest.fixture
def over_tls(secured: Secured, chroot: str) -> str:
    return f"127.0.0.1:{secured.port}{chroot}"


@pytest.fixture
def plain(secured: Secured, chroot: str) -> str:
    return secured.lab.zookeeper_connect + chroot


@pytest.fixture
def kafka(plain: str) -> Iterator[Writer]:
    writer = Writer(plain)
    writer.client.ensure_path("/")
    yield writer
    writer.close()


@pytest.fixture
def password(tmp_path: Path) -> Path:
    file = tmp_path / "password"
    file.write_text(f"{SECRET}\n", "utf-8")
    return file


def digest(password: Path) -> Security:
    return Security(username="kafka", password_file=password)


def close(kafka: Writer, path: str, content: bytes, password: str = SECRET) -> None:
    """Create a znode that only the user kafka may read or write."""
    kafka.client.add_auth("digest", f"kafka:{password}")
    kafka.create(path, content, acl=[make_digest_acl("kafka", password, all=True)])


def test_everything_is_seen_over_tls(secured: Secured, kafka: Writer, over_tls: str) -> None:
    topics = {f"t{number}": raw_id(number) for number in range(150)}
    for name, topic_id in topics.items():
        kafka.create(f"{TOPICS}/{name}", topic_data(topic_id, {}))
    kafka.create(NOTIFICATIONS)
    with watching(over_tls, security=secured.tls) as watched:
        seen = watched.until_seen()
        assert seen.server == f"127.0.0.1:{secured.port}"
        assert watched.known().below(TOPICS) == {f"{TOPICS}/{name}" for name in topics}
        kafka.create(CONTROLLER, b"x" * LARGE)
        assert data(watched.until_of(CONTROLLER, 1)) == b"x" * LARGE
        for number in range(50):
            kafka.notify()
            watched.until_of(f"{EVENT}{number:010}", 1)
        assert accounted(watched.appended()) == dict.fromkeys(range(50), 1)
        # The separate process has the same settings.
        watched.until(lambda: watched.watcher._ahead._watches)
        kafka.delete(f"{TOPICS}/t7")
        watched.until_of(f"{TOPICS}/t7", 2)
    content = ContentReading(Ensemble(connect=over_tls, security=secured.tls)).run()
    assert {each.name: each.topic_id for each in content.topics} == {
        name: topic_id for name, topic_id in topics.items() if name != "t7"
    }


def until_refused_connection(watched: Watched, *words: str) -> None:
    for each in words:
        watched.until_unreachable(each)
    assert ZooKeeperSeen not in watched.kinds()


def test_a_server_that_is_not_trusted_is_not_spoken_to(secured: Secured, over_tls: str) -> None:
    """Only the authorities in the file are trusted, not the system's."""
    stranger = Authority(secured.place, "stranger")
    with watching(over_tls, security=replace(secured.tls, ca_file=stranger.file)) as watched:
        until_refused_connection(
            watched, "unable to get local issuer certificate: check `zookeeper.security.ca_file`"
        )
    with watching(over_tls, security=replace(secured.tls, ca_file=None)) as watched:
        until_refused_connection(watched, "check `zookeeper.security.ca_file`")


def test_a_client_that_the_server_does_not_trust_is_named(secured: Secured, over_tls: str) -> None:
    stranger = Authority(secured.place, "unknown-client")
    own = stranger.issue("unknown")
    security = replace(secured.tls, cert_file=own.cert, key_file=own.key)
    with watching(over_tls, security=security) as watched:
        until_refused_connection(watched, "rejects the client", "`zookeeper.security.cert_file`")


def test_a_server_of_another_name_is_spoken_to_only_if_one_says_so(
    secured: Secured, kafka: Writer, over_tls: str
) -> None:
    kafka.create(CONTROLLER, b"1")
    other = over_tls.replace("127.0.0.1", "localhost", 1)
    with watching(other, security=secured.tls) as watched:
        until_refused_connection(
            watched, "Hostname mismatch", "set `zookeeper.security.check_hostname: false`"
        )
    with watching(other, security=replace(secured.tls, check_hostname=False)) as watched:
        watched.until_seen()
        assert data(watched.of(CONTROLLER)[0]) == b"1"


def test_the_wrong_way_of_speaking_is_named(secured: Secured, over_tls: str, plain: str) -> None:
    with watching(plain, security=secured.tls) as watched:
        until_refused_connection(
            watched, "does that listener speak SSL? check `zookeeper.security.protocol`"
        )
    with watching(over_tls, security=Security(key="zookeeper.security")) as watched:
        until_refused_connection(
            watched, "gives no session", "speaks TLS (`zookeeper.security.protocol`)"
        )


def test_a_file_that_is_missing_is_named_and_found_at_the_next_attempt(
    secured: Secured, kafka: Writer, over_tls: str, tmp_path: Path
) -> None:
    kafka.create(CONTROLLER, b"1")
    missing = tmp_path / "ca.pem"
    with watching(over_tls, security=replace(secured.tls, ca_file=missing)) as watched:
        until_refused_connection(watched, f"the ca_file {missing} cannot be used: No such file")
        missing.write_text("no certificate", "utf-8")
        until_refused_connection(watched, f"the ca_file {missing} cannot be used: ")
        missing.write_bytes(secured.authority.file.read_bytes())
        watched.until_seen()
        assert data(watched.until_of(CONTROLLER, 1)) == b"1"


def test_a_client_is_who_its_certificate_names(
    secured: Secured, kafka: Writer, over_tls: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "_AGAIN_S", 0.1)
    kafka.create(CONTROLLER, b"1", acl=[make_acl("x509", "CN=kraftgate", all=True)])
    with watching(over_tls, security=secured.tls) as watched:
        error = watched.until(lambda: watched.watcher.status().error)
        assert error is not None
        assert error == f"ZooKeeper refused to show {CONTROLLER}: NoAuth"
    with watching(over_tls, security=secured.certified) as watched:
        watched.until_seen()
        assert data(watched.of(CONTROLLER)[0]) == b"1"


def test_a_user_and_its_password_open_what_is_closed_by_digest(
    kafka: Writer, plain: str, password: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    close(kafka, CONTROLLER, b"1")
    with watching(plain, security=digest(password)) as watched:
        watched.until_seen()
        assert data(watched.of(CONTROLLER)[0]) == b"1"
        client = watched.watcher._client
        assert SECRET not in f"{watched.watcher.status()}{client!r}{vars(watched.watcher)}"
    assert SECRET not in caplog.text


def test_the_password_is_read_again_at_each_connection(
    secured: Secured,
    kafka: Writer,
    plain: str,
    password: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(watcher, "_AGAIN_S", 0.1)
    close(kafka, CONTROLLER, b"1")
    password.write_text("wrong\n", "utf-8")
    with watching(plain, security=digest(password)) as watched:
        error = watched.until(lambda: watched.watcher.status().error)
        assert error is not None
        assert error == f"ZooKeeper refused to show {CONTROLLER}: NoAuth"
        password.write_text(SECRET, "utf-8")
        secured.lab.kill("zookeeper")
        secured.lab.start_zookeeper()
        watched.until_seen()
        password.unlink()
        secured.lab.kill("zookeeper")
        secured.lab.start_zookeeper()
        watched.until_unreachable(f"the secret in {password} cannot be read")
        password.write_text(SECRET, "utf-8")
        watched.until_seen(2)
        assert SECRET not in f"{watched.watcher.status()}"
    assert not any(each in caplog.text for each in (SECRET, "kafka:wrong"))


def test_the_checks_before_the_window_speak_tls_and_authenticate(
    secured: Secured, kafka: Writer, over_tls: str, password: Path
) -> None:
    kafka.create(TOPICS)
    close(kafka, MIGRATION, b"{}")
    ensemble = Ensemble(connect=over_tls, security=secured.tls)
    closed = ask_zookeeper(ensemble)
    assert isinstance(closed, Unknown)
    assert "/migration: reading it is refused (NoAuth)" in closed.why
    security = replace(secured.tls, username="kafka", password_file=password)
    asked = replace(ensemble, security=security)
    opened = ask_zookeeper(asked)
    assert isinstance(opened, ZooKeeper)
    assert opened.migration == b"{}"
    (server,) = ask_ensemble(asked)
    assert (server.version, server.mode) == ((3, 8, 4), "standalone")
    untrusted = replace(ensemble, security=replace(secured.tls, ca_file=None))
    (server,) = ask_ensemble(untrusted)
    assert isinstance(server.version, Unknown)
    assert "check `zookeeper.security.ca_file`" in server.version.why
    unknown = ask_zookeeper(untrusted)
    assert isinstance(unknown, Unknown)
    assert "check `zookeeper.security.ca_file`" in unknown.why
