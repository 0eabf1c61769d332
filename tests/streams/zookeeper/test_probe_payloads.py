"""Preflight judges a znode's content by the same rules as `kraftgate run`. No ZooKeeper is used."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest

from migration.observed.probed import ZooKeeper
from migration.observed.znodes import TOPICS
from streams.zookeeper import probe
from streams.zookeeper.calls import Znode
from streams.zookeeper.ensemble import Ensemble
from streams.zookeeper.errors import NoNode
from tests.streams.zookeeper.content import config_data, raw_id, topic_data

_OLD_TOPIC = json.dumps({"version": 1, "partitions": {"0": [1, 4]}}).encode()


@dataclass
class Answer:
    """The answer to a request; an error is raised like that of ZooKeeper."""

    answer: Callable[[], object]

    def result(self, answer_s: float) -> object:
        assert answer_s > 0
        return self.answer()


class Tree:
    """The requests of preflight, answered from a mapping of paths to contents."""

    place = "zk:2181"

    def __init__(self, znodes: Mapping[str, bytes]) -> None:
        self._znodes = znodes

    def connect(self, timeout_s: float) -> None:
        assert timeout_s > 0

    def close(self) -> None:
        pass

    def begin_get(self, path: str) -> Answer:
        return Answer(lambda: Znode(data=self._znodes[path] if path in self._znodes else none()))

    def begin_children(self, path: str) -> Answer:
        below = [each.removeprefix(f"{path}/") for each in self._znodes if f"{path}/" in each]
        return Answer(lambda: sorted({each.partition("/")[0] for each in below}))

    def begin_is_open(self, path: str) -> Answer:
        assert path
        return Answer(lambda: True)


def none() -> bytes:
    raise NoNode("no node")


def asked(monkeypatch: pytest.MonkeyPatch, znodes: Mapping[str, bytes]) -> ZooKeeper:
    monkeypatch.setattr(probe, "ZooKeeperCalls", lambda _: Tree(znodes))
    found = probe.ask_zookeeper(Ensemble(connect=Tree.place))
    assert isinstance(found, ZooKeeper)
    return found


@pytest.mark.parametrize(
    ("path", "data", "why"),
    [
        (f"{TOPICS}/old", _OLD_TOPIC, "it has no topic_id"),
        (f"{TOPICS}/odd", b'{"topic_id":7,"partitions":{}}', "its topic_id is no text"),
        (f"{TOPICS}/odd", b"{}", "it has no topic_id"),
        (f"{TOPICS}/odd", topic_data(raw_id(1), {0: [-1]}), "its replicas are no list of"),
        ("/brokers/ids/7", b'{"host":"%s"}' % (b"x" * 1025), "its host is longer than 1024"),
        ("/brokers/ids/7", b'{"host":null,"endpoints":"b7"}', "it has no listeners"),
        ("/brokers/ids/7", b"[]", "its content is not a JSON object"),
        ("/brokers/ids/x", b"[]", "its name is no broker id"),
        ("/config/topics/orders", b"{}", "it has no config"),
        ("/config/users/alice", config_data({"producer_byte_rate": "fast"}), "is not a number"),
        ("/config/ips/1.2.3.4", config_data({"connection_creation_rate": 7}), "not strings"),
        ("/config/brokers/1", config_data({"n": 7}), "values that are not strings: n"),
    ],
)
def test_a_znode_that_run_cannot_parse_is_named_once(
    monkeypatch: pytest.MonkeyPatch, path: str, data: bytes, why: str
) -> None:
    ((named, reason),) = asked(monkeypatch, {path: data}).unreadable
    assert named == path
    assert why in reason


def test_what_kafka_writes_is_readable(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = {"SCRAM-SHA-256": "salt=x,stored_key=y", "producer_byte_rate": "1024.5"}
    znodes = {
        f"{TOPICS}/orders": topic_data(raw_id(1), {0: [1, 2], 1: [2, 3]}),
        "/brokers/ids/1": b'{"version":5,"host":null,"endpoints":["SSL://b1:9093"]}',
        "/config/topics/orders": config_data({"retention.ms": "1"}),
        "/config/users/alice": config_data(secret),
        "/config/users/bob": b"",
        "/config/users/bob/clients/app": config_data({"request_percentage": "50"}),
        "/config/brokers/1": config_data({"log.cleaner.threads": "2"}),
    }
    found = asked(monkeypatch, znodes)
    assert found.unreadable == ()
    assert found.broker_ids == frozenset({1})
    assert found.assignments == {"orders": frozenset({1, 2, 3})}
    assert found.dynamic_keys == {"/config/brokers/1": ("log.cleaner.threads",)}


def test_the_brokers_and_keys_of_an_odd_znode_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other checks need them: a broker that is down may be named by such a topic alone."""
    znodes = {
        f"{TOPICS}/old": _OLD_TOPIC,
        "/brokers/ids/7": b"[]",
        "/config/brokers/7": config_data({"ssl.key.password": 7}),
    }
    found = asked(monkeypatch, znodes)
    assert len(found.unreadable) == 3
    assert found.broker_ids == frozenset({7})
    assert found.assignments == {"old": frozenset({1, 4})}
    assert found.dynamic_keys == {"/config/brokers/7": ("ssl.key.password",)}
