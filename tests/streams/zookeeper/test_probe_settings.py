"""Settings in ZooKeeper that no broker starts with, as preflight reads them."""

import json

import pytest

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
