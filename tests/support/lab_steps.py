"""Steps on a lab that only tests need: `kraftgate lab` and the demo have no such command."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    OffsetSpec,
    ResourceType,
)
from confluent_kafka.cimpl import NewPartitions
from kazoo.client import KazooClient
from kio.schema.alter_partition_reassignments.v0 import request as reassignments
from kio.schema.errors import ErrorCode
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i32, i32Timedelta

from migration.image.summary import Mode
from orchestrator.lab import Lab
from streams.kafka.node import Node
from streams.net.endpoint import Endpoint
from streams.net.security import Security

_CALL_S_MAX: Final = 60.0
_NOTICE_S_MAX: Final = 60.0
_SYNC_S_MAX: Final = 180.0
_TOOL_S_MAX: Final = 180.0
_REQUEST_S_MAX: Final = 30
_CLUSTER_MAIN: Final = "org.apache.kafka.tools.ClusterTool"
_LEADER_CHANGES: Final = {
    KafkaError._NOENT,  # its public name; the brokers name no leader
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.UNKNOWN_TOPIC_OR_PART,  # a ZooKeeper controller sends brokers first, topics later
}


def add_partitions(lab: Lab, topic: str, total: int) -> None:
    """Increase a topic's partitions to `total` and wait until each has a leader."""
    lab._change(
        f"add partitions to {topic}",
        lambda admin: admin.create_partitions([NewPartitions(topic, total)]),
        done=KafkaError.INVALID_PARTITIONS,
    )
    lab._wait_leaders(topic, total)


def alter_broker(lab: Lab, broker: int, name: str, value: str | None) -> None:
    """Change a dynamic setting of a broker; None: delete it."""
    operation = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
    entry = ConfigEntry(name, value or "", incremental_operation=operation)
    resource = ConfigResource(ResourceType.BROKER, str(broker), incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": lab.broker_bootstrap})
    for done in admin.incremental_alter_configs([resource]).values():
        done.result(timeout=_CALL_S_MAX)


def unregister(lab: Lab, broker: int) -> None:
    """Remove a broker's registration from the metadata log, as `kafka-cluster.sh` does.

    The tool ends with 0 if it asked a broker that is not in KRaft mode.
    """
    arguments = ("unregister", "--bootstrap-server", lab.broker_bootstrap, "--id", str(broker))
    said = lab._java.run_tool(_CLUSTER_MAIN, arguments, timeout_s=_TOOL_S_MAX)
    assert "is no longer registered" in said


def wait_registered(lab: Lab, broker: int) -> None:
    """Wait until a broker is registered with the controllers."""
    lab.wait_for_log(
        lab.broker(broker).name, rf"Successfully registered broker {broker} with broker epoch \d+"
    )


def watermarks(lab: Lab, topic: str, partition: int) -> tuple[int, int]:
    """Return the partition's low and high watermark: the range that can be read.

    Not with a consumer: on a slow machine it looks for its group's coordinator, for which Kafka
    creates __consumer_offsets in the middle of a test.
    """
    with lab._requesting(f"return the watermarks of {topic}-{partition}"):
        return lab._waiter.until(
            f"{topic}-{partition} to have a leader that every broker knows",
            lambda: _offsets(lab, TopicPartition(topic, partition)),
            timeout_s=_CALL_S_MAX,
            where=lab.broker_bootstrap,
        )


def _offsets(lab: Lab, partition: TopicPartition) -> tuple[int, int] | None:
    """The watermarks, or None while the leader changes.

    A client of its own: another one would remember leader epochs from before a rollback.
    """
    client = AdminClient(lab._client_config)
    try:
        low, high = (
            client.list_offsets({partition: spec}, request_timeout=_CALL_S_MAX)[partition]
            for spec in (OffsetSpec.earliest(), OffsetSpec.latest())  # type: ignore[no-untyped-call]
        )
        return low.result(_CALL_S_MAX).offset, high.result(_CALL_S_MAX).offset
    except KafkaException as error:
        if error.args[0].code() in _LEADER_CHANGES:
            return None
        raise
    finally:
        # The error's frames refer to it, so the collector would end it, perhaps in its own thread,
        # while the other answer arrives: librdkafka aborts the process then.
        del client


def wait_directory_noticed(lab: Lab, broker: int, index: int) -> bool:
    """Wait until a broker has noticed its failed directory.

    Returns:
        True when the broker continues without it; False when it ended because of it, as a broker in
        migration mode does, and any other if it was its last or its metadata directory.
    """
    process = lab._process(lab.broker(broker).name)
    line = f"Stopping serving logs in dir {lab.directory(broker, index)}"
    metadata = index == 0 and lab.mode(process.name) is not Mode.ZOOKEEPER
    fatal = metadata or lab.mode(process.name) is Mode.MIGRATING

    def noticed() -> str | None:
        if not process.alive:
            return "ended"
        return "continues" if not fatal and line in process.logged() else None

    found = lab._waiter.until(
        f"{process.name} to notice that directory {index} failed",
        noticed,
        timeout_s=_NOTICE_S_MAX,
        where=str(process.log),
        tail=process.tail,
    )
    return found == "continues"


def reassign(lab: Lab, moves: Mapping[tuple[str, int], Sequence[int]]) -> None:
    """Move partitions to other brokers, and wait until the replicas are there, in sync.

    `moves`: the target brokers of each (topic, partition). Under ZooKeeper only the controller
    accepts this request, under KRaft every broker forwards it, so the request is sent to each
    broker until one does not answer NOT_CONTROLLER.
    """
    request = _reassignment(moves)
    answers = (_ask(each, request) for each in Endpoint.parse_list(lab.broker_bootstrap))
    answer = next(each for each in answers if each.error_code is not ErrorCode.not_controller)
    parts = [part for topic in answer.responses for part in topic.partitions]
    assert {each.error_code for each in (answer, *parts)} == {ErrorCode.none}, answer

    def moved() -> bool:
        now = lab.isrs()
        return all(
            key in now and now[key][0] == list(to) and set(now[key][1]) == set(to)
            for key, to in moves.items()
        )

    lab._waiter.until(
        "the reassignment to end", moved, timeout_s=_SYNC_S_MAX, where=lab.broker_bootstrap
    )


def _ask(broker: Endpoint, request: object) -> Any:
    with Node(broker, Security()) as node:
        return node.ask(request, wait_ms=_REQUEST_S_MAX * 1000)


def _reassignment(moves: Mapping[tuple[str, int], Sequence[int]]) -> object:
    return reassignments.AlterPartitionReassignmentsRequest(
        timeout=i32Timedelta.parse(timedelta(seconds=_REQUEST_S_MAX)),
        topics=tuple(
            reassignments.ReassignableTopic(
                name=TopicName(name),
                partitions=tuple(
                    reassignments.ReassignablePartition(
                        partition_index=i32(partition),
                        replicas=tuple(BrokerId(broker) for broker in to),
                    )
                    for (topic, partition), to in sorted(moves.items())
                    if topic == name
                ),
            )
            for name in sorted({topic for topic, _ in moves})
        ),
    )


@contextmanager
def zookeeper_client(connect: str) -> Iterator[KazooClient]:
    """Connect to ZooKeeper as an operator's shell does; a lab's: below Kafka's chroot."""
    client = KazooClient(hosts=connect)
    client.start()
    try:
        yield client
    finally:
        client.stop()
        client.close()


def put_znode(lab: Lab, path: str, data: bytes) -> None:
    """Write a znode, and create it if it does not exist."""
    with zookeeper_client(lab.zookeeper_connect) as client:
        if client.exists(path):
            client.set(path, data)
        else:
            client.create(path, data)


def child_znodes(lab: Lab, path: str) -> list[str]:
    """Return the names of a znode's children; the znode must exist."""
    with zookeeper_client(lab.zookeeper_connect) as client:
        return sorted(client.get_children(path))
