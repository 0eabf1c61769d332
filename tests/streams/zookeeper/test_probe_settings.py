"""Settings that no broker starts with, and znodes that it may not read, as preflight reads them."""

import json

import pytest
from kazoo.security import make_digest_acl

from migration.observed.probed import ZooKeeper
from streams.zookeeper.ensemble import Ensemble
from streams.zookeeper.probe import ask_zookeeper
from tests.streams.zookeeper.watching import Writer

pytestmark = pytest.mark.lab


def test_a_value_that_is_no_text_is_named(kafka: Writer, connect: str) -> None:
    """Kafka's JSON reader rejects it at each broker's start, and the controllers at the copy."""
    number = json.dumps({"version": 1, "config": {"producer_byte_rate": 1024}}).encode()
    text = json.dumps({"version": 1, "config": {"producer_byte_rate": "1024"}}).encode()
    wrong = {
        "/config/topics/orders",
        "/config/users/alice",
        "/config/users/alice/clients/app",
        "/config/clients/app",
        "/config/ips/127.0.0.1",
        "/config/brokers/1",
    }
    for path in ("/brokers/topics", "/brokers/ids", "/config/topics/well", "/config/users/well"):
        kafka.client.create(path, text if "config" in path else b"", makepath=True)
    kafka.client.create("/config/users/bob/clients/app", text, makepath=True)
    for path in sorted(wrong):
        kafka.client.create(path, number, makepath=True)
    found = ask_zookeeper(Ensemble(connect=connect))
    assert isinstance(found, ZooKeeper)
    assert {path for path, _ in found.unreadable} == wrong
    assert "producer_byte_rate: no broker starts with them" in found.unreadable[0][1]


def test_a_znode_that_may_not_be_read_is_not_one_of_another_format(
    kafka: Writer, connect: str
) -> None:
    hidden = ("/brokers/ids/1", "/brokers/topics/orders", "/config/topics/orders")
    for path in hidden:
        kafka.client.create(path, b"{}", makepath=True)
        kafka.client.set_acls(path, [make_digest_acl("someone", "secret", all=True)])
    found = ask_zookeeper(Ensemble(connect=connect))
    assert isinstance(found, ZooKeeper)
    assert set(found.hidden) == {(path, "reading it is refused (NoAuth)") for path in hidden}
    assert (found.unreadable, found.broker_ids) == ((), frozenset({1}))
