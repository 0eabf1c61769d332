"""Requests that the brokers move partitions, by AlterPartitionReassignments."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from kio.schema.alter_partition_reassignments.v0 import request, response
from kio.schema.errors import ErrorCode
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i32, i32Timedelta

from orchestrator.lab.errors import RequestRefusedError
from streams.kafka.connection import Connection
from streams.net.endpoint import Endpoint
from streams.net.errors import LiveError
from streams.net.security import Security

_REQUEST_S_MAX = 30


def reassign(bootstrap: str, moves: Mapping[tuple[str, int], Sequence[int]]) -> None:
    """Begin to move partitions; return once Kafka has accepted every move.

    Under ZooKeeper only the controller accepts this request, under KRaft every broker forwards it,
    so the request is sent to each broker until one does not answer NOT_CONTROLLER.

    Args:
        bootstrap: The brokers' addresses.
        moves: The target brokers of each (topic, partition).

    Raises:
        RequestRefusedError: A move was refused, or no broker accepted the request.
    """
    refusals: list[str] = []
    for address in bootstrap.split(","):
        host, _, port = address.rpartition(":")
        try:
            with Connection(Endpoint(host, int(port)), Security()) as connection:
                answer = connection.ask(_request(moves), wait_ms=_REQUEST_S_MAX * 1000)
        except LiveError as error:
            refusals.append(str(error))
            continue
        if answer.error_code is not ErrorCode.not_controller:
            _accept(answer, address)
            return
        refusals.append(f"{address}: not the controller")
    raise RequestRefusedError(
        f"no broker took the reassignment: {'; '.join(refusals)}",
        where=bootstrap,
        fix="Are enough brokers up and thawed? See kraftgate lab status.",
    )


def _accept(answer: response.AlterPartitionReassignmentsResponse, address: str) -> None:
    whole = [(answer.error_code, "the request", answer.error_message)]
    parts = [
        (part.error_code, f"{topic.name}-{part.partition_index}", part.error_message)
        for topic in answer.responses
        for part in topic.partitions
    ]
    refused = [
        f"{subject}: {message or code.name}"
        for code, subject, message in whole + parts
        if code is not ErrorCode.none
    ]
    if refused:
        raise RequestRefusedError(
            f"Kafka refused to reassign {'; '.join(refused)}",
            where=address,
            fix="Name existing partitions and brokers that are up.",
        )


def _request(
    moves: Mapping[tuple[str, int], Sequence[int]],
) -> request.AlterPartitionReassignmentsRequest:
    topics = sorted({topic for topic, _ in moves})
    return request.AlterPartitionReassignmentsRequest(
        timeout=i32Timedelta.parse(timedelta(seconds=_REQUEST_S_MAX)),
        topics=tuple(
            request.ReassignableTopic(
                name=TopicName(name),
                partitions=tuple(
                    request.ReassignablePartition(
                        partition_index=i32(partition),
                        replicas=tuple(BrokerId(broker) for broker in to),
                    )
                    for (topic, partition), to in sorted(moves.items())
                    if topic == name
                ),
            )
            for name in topics
        ),
    )
