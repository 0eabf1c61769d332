"""Clusters to judge: one that is well, and small changes of it."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from migration.observed.probed import (
    Broker,
    Controller,
    Facts,
    LogDir,
    MetaProperties,
    Partition,
    Quorum,
    TopicPartition,
    Topics,
    Unknown,
    ZooKeeper,
    ZooKeeperServer,
)

ID = "bxbgvpIDTVK2yCpNZDS7iA"
WHY = Unknown("b2:9092 refused")
GIB = 2**30
ORDERS = TopicPartition("orders", 0)
SINGLE = TopicPartition("single", 0)

SETTINGS: Mapping[str, str] = {
    "inter.broker.protocol.version": "3.9",
    "inter.broker.listener.name": "",
    "security.inter.broker.protocol": "PLAINTEXT",
    "zookeeper.connect": "zk1:2181/kafka",
    "zookeeper.metadata.migration.enable": "false",
    "log.dirs": "/d0,/d1",
    "reserved.broker.max.id": "1000",
}


def log_dir(path: str, *replicas: TopicPartition, **fields: Any) -> LogDir:
    given = {"total_bytes": 100 * GIB, "usable_bytes": 60 * GIB} | fields
    return LogDir(path=path, replicas=frozenset(replicas), **given)


BROKERS = (
    Broker(
        id=1,
        endpoint="b1:9092",
        release=(3, 9),
        settings=SETTINGS,
        log_dirs=(log_dir("/d0", ORDERS), log_dir("/d1", SINGLE)),
    ),
    Broker(
        id=2,
        endpoint="b2:9092",
        release=(3, 9),
        settings=SETTINGS,
        log_dirs=(log_dir("/d0"), log_dir("/d1", ORDERS)),
    ),
)
PARTITIONS = (
    Partition(at=ORDERS, replicas=(1, 2), isr=(1, 2), leader=1),
    Partition(at=SINGLE, replicas=(1,), isr=(1,), leader=1),
)
TOPICS = Topics(
    cluster_id=ID,
    broker_ids=frozenset({1, 2}),
    partitions=PARTITIONS,
    min_isr={"orders": 1, "single": 1},
    reassignments=(),
)
ZOOKEEPER = ZooKeeper(
    controller=b'{"version":2,"brokerid":1,"timestamp":"1","kraftControllerEpoch":-1}',
    controller_epoch=b"1",
    cluster_id=json.dumps({"version": "1", "id": ID}).encode(),
    broker_ids=frozenset({1, 2}),
    assignments={"orders": frozenset({1, 2}), "single": frozenset({1})},
)
CONTROLLERS = tuple(
    Controller(
        endpoint=f"c{number}:9093",
        node_id=3000 + number,
        release=(3, 9),
        metadata_version=21,
        migration_ready=True,
        cluster_id=ID,
        may_fetch=True,
        may_describe=True,
        quorum=Quorum(leader=3001, epoch=1, high_watermark=400, voters=(3001, 3002, 3003))
        if number == 1
        else None,
        settings={"zookeeper.connect": "zk1:2181/kafka", "inter.broker.listener.name": "PLAINTEXT"},
    )
    for number in (1, 2, 3)
)
WELL = Facts(
    cluster="prod",
    wanted_id=ID,
    zookeeper_connect="zk1:2181/kafka",
    zookeeper=ZOOKEEPER,
    ensemble=(ZooKeeperServer(endpoint="zk1:2181", version=(3, 8, 4), mode="standalone"),),
    topics=TOPICS,
    brokers=BROKERS,
    controllers=CONTROLLERS,
)
EARLY = replace(WELL, controllers=())
"""Before the controllers exist."""


def zookeeper(**fields: Any) -> Facts:
    return replace(WELL, zookeeper=replace(ZOOKEEPER, **fields))


def topics(**fields: Any) -> Facts:
    return replace(WELL, topics=replace(TOPICS, **fields))


def broker2(**fields: Any) -> Facts:
    """Broker 2 differs."""
    return replace(WELL, brokers=(BROKERS[0], replace(BROKERS[1], **fields)))


def broker1(**fields: Any) -> Facts:
    """Broker 1 differs: it has the only copy of single-0."""
    return replace(WELL, brokers=(replace(BROKERS[0], **fields), BROKERS[1]))


def settings(**values: str) -> Facts:
    """Broker 2 has other settings; `_` stands for the dots in their names."""
    return broker2(settings={**SETTINGS, **_dotted(values)})


def controller(**fields: Any) -> Facts:
    """The first controller, which leads, differs."""
    return replace(WELL, controllers=(replace(CONTROLLERS[0], **fields), *CONTROLLERS[1:]))


def controllers(**fields: Any) -> Facts:
    """All of them differ."""
    return replace(WELL, controllers=tuple(replace(one, **fields) for one in CONTROLLERS))


def one_silent(facts: Facts) -> Facts:
    """The last controller does not answer."""
    *rest, last = facts.controllers
    silent = Controller(endpoint=last.endpoint, unreachable="refused")
    return replace(facts, controllers=(*rest, silent))


def all_settings(**values: str) -> Facts:
    """Every broker has other settings."""
    given = {**SETTINGS, **_dotted(values)}
    return replace(WELL, brokers=tuple(replace(one, settings=given) for one in BROKERS))


def meta(path: str, node_id: int, **fields: Any) -> MetaProperties:
    return MetaProperties(
        path=path, node_id=node_id, cluster_id=fields.pop("cluster_id", ID), **fields
    )


def no_brokers() -> Facts:
    return replace(WELL, topics=Unknown("b1:9092 refused"), brokers=())


def no_zookeeper() -> Facts:
    return replace(WELL, zookeeper=Unknown("zk1:2181 does not answer"))


def _dotted(values: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "."): value for name, value in values.items()}
