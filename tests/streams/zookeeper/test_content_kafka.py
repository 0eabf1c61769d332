"""Two real brokers in ZooKeeper mode: the content that is read equals their own metadata."""

import time
import warnings
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from migration.observed.facts import ZkPartition, ZkTopic
from migration.observed.topic_facts import ZkTopicChanged
from migration.observed.znode_codec import topic_of
from migration.observed.znodes import TOPICS
from orchestrator.lab import Lab, LabSpec
from streams.zookeeper.content.reader import ContentFact
from tests.streams.zookeeper.content import (
    Compared,
    all_touched,
    comparing,
    configs_of,
    parts,
    topics_of,
)
from tests.streams.zookeeper.watching import data, wall_ms, watching
from tests.support.lab_steps import add_partitions, reassign

with warnings.catch_warnings():
    # kafka-python warns of its own use of importlib when first imported; no test is about that.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.admin import KafkaAdminClient

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def cluster() -> Iterator[Lab]:
    with Lab(LabSpec(brokers=2, directories=1, zookeeper_chroot="/kafka")) as made:
        made.start_zookeeper()
        made.start_brokers()
        made.create_topic("spread", 8, 2)
        made.create_topic("alone", 3, 1)
        made.create_topic("dotted.name_x", 1, 2)
        yield made


def described(lab: Lab) -> dict[str, ZkTopic]:
    """Return every topic from broker 1's metadata."""
    # Of a broker that is down kafka-python would leave a socket open.
    admin = KafkaAdminClient(bootstrap_servers=lab.broker_bootstrap.split(",")[0])
    try:
        return {topic["name"]: _topic(topic) for topic in admin.describe_topics()}
    finally:
        admin.close()


def _topic(said: dict[str, Any]) -> ZkTopic:
    partitions = (
        ZkPartition(
            partition=each["partition_index"],
            replicas=tuple(each["replica_nodes"]),
            leader=each["leader_id"],
            isr=tuple(each["isr_nodes"]),
        )
        for each in said["partitions"]
    )
    return ZkTopic(UUID(said["topic_id"]).bytes, said["name"], tuple(sorted(partitions)))


def until_alike(
    cluster: Lab, compared: Compared, before: dict[str, ZkTopic] | None = None
) -> tuple[dict[str, ZkTopic], tuple[ContentFact, ...]]:
    """Read until the brokers, which are updated shortly after ZooKeeper, report the same topics."""
    deadline = time.monotonic() + 180
    facts = compared.until_reported()
    while (said := described(cluster)) != topics_of(facts) or said == before:
        assert time.monotonic() < deadline, (said, topics_of(facts))
        all_touched(compared)
        facts = compared.until_reported(len(compared.reported()) + 1)
    return said, facts


def test_what_is_read_is_what_the_brokers_tell(cluster: Lab) -> None:
    with comparing(cluster.zookeeper_connect) as compared:
        seen, facts = until_alike(cluster, compared)
        assert {"spread", "alone", "dotted.name_x"} <= set(seen)
        of_shards, read = parts(facts)
        assert read.brokers == (1, 2)
        assert not any(each.unreadable for each in of_shards)
        assert {("topics", name) for name in seen} == set(configs_of(facts))
        cluster.stop(2)
        said, facts = until_alike(cluster, compared, seen)
        assert parts(facts)[1].brokers == (1,)
        assert {each.leader for topic in said.values() for each in topic.partitions} == {1, -1}


def test_what_kafka_does_to_topics_is_told_as_it_does_it(cluster: Lab) -> None:
    """In ZooKeeper mode, without another source: create, extend, move, configure, delete."""

    def until(what: str) -> ZkTopicChanged:
        def found() -> ZkTopicChanged | None:
            return next((each for each in of_topic() if each.what == what), None)

        watched.until(lambda: found() is not None)
        each = found()
        assert each is not None
        return each

    def of_topic() -> list[ZkTopicChanged]:
        told = (each for each in watched.appended() if isinstance(each, ZkTopicChanged))
        return [each for each in told if each.topic == "young"]

    if not cluster.is_alive("broker-2"):
        cluster.start("broker-2")  # the other test stopped it
    with watching(cluster.zookeeper_connect) as watched:
        watched.until_seen()
        began_ms = wall_ms()
        cluster.create_topic("young", 2, 1)
        appeared = until("appeared")
        assert appeared.at_ms is not None
        assert began_ms <= appeared.at_ms <= appeared.seen_ms
        add_partitions(cluster, "young", 3)
        extended = until("reassigned")
        assert (extended.was, extended.now, extended.moved) == (2, 3, 0)
        before = topic_of(data(watched.of(f"{TOPICS}/young")[-1])).replicas
        reassign(cluster, {("young", 0): [3 - before[0][0]]})
        watched.until(lambda: any(each.moved for each in of_topic()))
        moved = next(each for each in of_topic() if each.moved)
        assert moved.named[0][:2] == (0, before[0])
        cluster.delete_topic("young")
        assert until("vanished").topic_id == appeared.topic_id
        assert sum(each.what in {"appeared", "vanished"} for each in of_topic()) == 2
