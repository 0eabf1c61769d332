"""Two real brokers in ZooKeeper mode: what is read is what they say of themselves."""

import time
import warnings
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from migration.observations import ZkPartition, ZkTopic
from orchestrator.lab import Lab, LabSpec
from tests.zookeeper.content import comparing, configs_of, parts, topics_of

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
    """Every topic as broker 1's metadata has it."""
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


def test_what_is_read_is_what_the_brokers_tell(cluster: Lab) -> None:
    with comparing(cluster.zookeeper_connect) as compared:
        facts = compared.until_told()
        seen = topics_of(facts)
        assert {"spread", "alone", "dotted.name_x"} <= set(seen)
        assert seen == described(cluster)
        _, read = parts(facts)
        assert (read.brokers, read.unreadable) == ((1, 2), ())
        assert {("topics", name) for name in seen} == set(configs_of(facts))
        cluster.stop(2)
        # The broker that is left may hear of it a moment after ZooKeeper.
        deadline = time.monotonic() + 30
        times = 1
        while (said := described(cluster)) != topics_of(facts) or said == seen:
            assert time.monotonic() < deadline, (said, topics_of(facts))
            compared.reader.request()
            times += 1
            facts = compared.until_told(times)
        assert parts(facts)[1].brokers == (1,)
        assert {each.leader for topic in said.values() for each in topic.partitions} == {1, -1}
