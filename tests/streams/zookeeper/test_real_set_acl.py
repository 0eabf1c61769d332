"""A real broker with zookeeper.set.acl=true: what it closes to others is left out, only that."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from migration.observed.probed import ZooKeeper
from migration.observed.znodes import BROKER_IDS
from migration.values.digests import digest
from orchestrator.lab import Lab, LabSpec
from orchestrator.lab.machine.ports import Ports
from streams.net.security import Security
from streams.zookeeper.content.facts import Content
from streams.zookeeper.content.reading import ContentReading
from streams.zookeeper.ensemble import Ensemble
from streams.zookeeper.probe import ask_zookeeper
from tests.streams.zookeeper.certificates import Authority, Certificate, tls_settings
from tests.streams.zookeeper.watching import watching
from tests.support.lab_steps import alter_broker

pytestmark = pytest.mark.lab

_CONFIGS = "/config/brokers"


@dataclass(frozen=True)
class Closed:
    """A cluster whose brokers, and nobody else, may write to ZooKeeper.

    Attributes:
        as_somebody: how Kraftgate reaches it without any right of its own.
        as_broker: with the brokers' own certificate.
    """

    lab: Lab
    as_somebody: Ensemble
    as_broker: Ensemble


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Closed]:
    place, ports = tmp_path_factory.mktemp("certificates"), Ports()
    authority, port = Authority(place), ports.take()
    server, broker = authority.issue("zookeeper"), authority.issue("broker")
    spec = LabSpec(
        brokers=1,
        directories=1,
        zookeeper_properties=tls_settings(port, server, authority),
        broker_properties=_settings(port, broker, authority),
    )
    security = Security(protocol="SSL", ca_file=authority.file)
    somebody = Ensemble(connect=f"127.0.0.1:{port}", security=security)
    certified = replace(security, cert_file=broker.cert, key_file=broker.key)
    with Lab(spec) as lab:
        lab.start_zookeeper()
        lab.start_brokers()
        lab.create_topic("orders", 4, 1, config={"retention.ms": "600000"})
        alter_broker(lab, 1, "log.cleaner.threads", "2")
        yield Closed(lab, somebody, replace(somebody, security=certified))
    ports.close()


def _settings(port: int, broker: Certificate, authority: Authority) -> dict[str, str]:
    """How the broker reaches ZooKeeper, as Kafka's documentation has it for mutual TLS."""
    return {
        "zookeeper.connect": f"127.0.0.1:{port}",
        "zookeeper.set.acl": "true",
        "zookeeper.ssl.client.enable": "true",
        "zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty",
        "zookeeper.ssl.keystore.location": str(broker.both),
        "zookeeper.ssl.keystore.type": "PEM",
        "zookeeper.ssl.truststore.location": str(authority.file),
        "zookeeper.ssl.truststore.type": "PEM",
    }


def read(ensemble: Ensemble) -> tuple[Content, dict[tuple[str, str], dict[str, bytes]]]:
    content = ContentReading(ensemble).run()
    return content, {(each.entity, each.name): dict(each.entries) for each in content.configs}


def test_all_but_the_brokers_settings_and_quotas_is_compared(closed: Closed) -> None:
    content, configs = read(closed.as_somebody)
    assert content.closed == ("brokers", "quotas")
    partitions = {each.name: len(each.partitions) for each in content.topics}
    assert partitions["orders"] == 4
    assert (content.brokers, content.unreadable) == ((1,), ())
    assert configs["topics", "orders"] == {"retention.ms": digest("600000")}
    assert {entity for entity, _ in configs} == {"topics"}
    whole, configs = read(closed.as_broker)
    assert whole.closed == ()
    assert whole.topics == content.topics
    assert configs["brokers", "1"] == {"log.cleaner.threads": digest("2")}


def test_everything_else_is_watched_without_any_right(closed: Closed) -> None:
    ensemble = closed.as_somebody
    with watching(ensemble.connect, security=ensemble.security) as watched:
        watched.until_seen()
        assert watched.known().below(BROKER_IDS) == {f"{BROKER_IDS}/1"}
        closed.lab.create_topic("young", 1, 1)
        watched.until(
            lambda: any(getattr(fact, "topic", "") == "young" for fact in watched.appended())
        )
        assert (watched.watcher.status().error, watched.watcher.status().limits) == (None, ())


def test_the_checks_before_the_window_say_what_they_could_not_see(closed: Closed) -> None:
    seen = ask_zookeeper(closed.as_somebody)
    assert isinstance(seen, ZooKeeper)
    assert seen.closed == ((_CONFIGS, "reading it is refused (NoAuth)"),)
    assert (seen.dynamic_keys, seen.unreadable) == ({}, ())
    assert "/brokers" in seen.restricted
    whole = ask_zookeeper(closed.as_broker)
    assert isinstance(whole, ZooKeeper)
    assert (whole.closed, whole.dynamic_keys[f"{_CONFIGS}/1"]) == ((), ("log.cleaner.threads",))
