"""The lab's requests that confluent-kafka lacks: the quorum, and moves of replicas and partitions.

`streams.kafka` sends them.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from kio.schema.alter_partition_reassignments.v0 import request as reassignments
from kio.schema.errors import ErrorCode
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i32, i32Timedelta

from migration.observed.probed import Quorum
from orchestrator.lab.errors import RequestRefusedError
from streams.kafka.node import Node
from streams.net.endpoint import Endpoint
from streams.net.errors import LiveError
from streams.net.security import Security

_REPLY_MS_MAX = 0
"""The client adds 3 s to it."""
_REQUEST_S_MAX = 30
_CONTROLLER_ANSWERS = 20


def quorum(address: str) -> Quorum | None:
    """Return the quorum if the controller at this address leads it.

    None: it does not lead, or does not answer; an unreachable controller is normal in a lab.
    """
    try:
        with _node(address) as node:
            found = node.quorum()
    except LiveError:
        return None
    return None if found is None or found.high_watermark < 0 else found


def names_controller(address: str, broker: int) -> bool:
    """Return whether the broker at this address reports `broker` as the controller.

    A broker in migration mode with a KRaft controller reports a random live broker each time
    (KafkaApis.handleTopicMetadataRequest), so the request is repeated until a match by chance is
    unlikely. A broker that does not answer reports none.
    """
    try:
        with _node(address) as node:
            return all(
                node.metadata(topics=False).controller == broker for _ in range(_CONTROLLER_ANSWERS)
            )
    except LiveError:
        return False


def move_replicas(address: str, moves: Mapping[tuple[str, int], Path]) -> None:
    """Begin to move replicas between log directories of a broker, by AlterReplicaLogDirs.

    The broker alone performs the moves, and replaces the replica with the copy once that has caught
    up; in KRaft mode only after the controller has confirmed the new directory
    (ReplicaAlterLogDirsThread).

    Args:
        address: The broker's.
        moves: The target log directory of each (topic, partition).

    Raises:
        RequestRefusedError: A move was refused, or the broker did not answer.
    """
    try:
        with _node(address, reply_timeout_ms=_REQUEST_S_MAX * 1000) as node:
            refused = node.alter_log_dirs({at: str(path) for at, path in moves.items()})
    except LiveError as error:
        raise _no_answer(address, error) from error
    _require_accepted(
        address, [(f"{topic}-{number}", why) for (topic, number), why in refused.items()]
    )


def reassign(bootstrap: str, moves: Mapping[tuple[str, int], Sequence[int]]) -> None:
    """Begin to move partitions to other brokers, by AlterPartitionReassignments.

    Under ZooKeeper only the controller accepts this request, under KRaft every broker forwards it,
    so the request is sent to each broker until one does not answer NOT_CONTROLLER.

    Args:
        bootstrap: The brokers' addresses.
        moves: The target brokers of each (topic, partition).

    Raises:
        RequestRefusedError: A move was refused, or no broker accepted the request.
    """
    request = reassignments.AlterPartitionReassignmentsRequest(
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
    refusals: list[str] = []
    for address in bootstrap.split(","):
        try:
            answer = _ask(address, request)
        except RequestRefusedError as error:
            refusals.append(error.what)
            continue
        if answer.error_code is ErrorCode.not_controller:
            refusals.append(f"{address} is not the controller")
            continue
        codes = [("the request", answer.error_code, answer.error_message)] + [
            (f"{topic.name}-{part.partition_index}", part.error_code, part.error_message)
            for topic in answer.responses
            for part in topic.partitions
        ]
        _require_accepted(
            address,
            [(at, text or code.name) for at, code, text in codes if code is not ErrorCode.none],
        )
        return
    raise RequestRefusedError(
        f"no broker accepted the reassignment: {'; '.join(refusals)}",
        where=bootstrap,
        fix="Check that enough brokers run and none is frozen: kraftgate lab status.",
    )


def _node(address: str, reply_timeout_ms: int = _REPLY_MS_MAX) -> Node:
    (endpoint,) = Endpoint.parse_list(address)
    return Node(endpoint, Security(), reply_timeout_ms=reply_timeout_ms)


def _ask(address: str, request: object) -> Any:  # noqa: ANN401  # kio's entities
    try:
        with _node(address) as node:
            return node.ask(request, wait_ms=_REQUEST_S_MAX * 1000)
    except LiveError as error:
        raise _no_answer(address, error) from error


def _no_answer(address: str, error: LiveError) -> RequestRefusedError:
    return RequestRefusedError(
        f"the broker did not move anything: {error}",
        where=address,
        fix="Check that it runs and is not frozen: kraftgate lab status.",
    )


def _require_accepted(address: str, refused: Sequence[tuple[str, str]]) -> None:
    if refused:
        raise RequestRefusedError(
            f"Kafka refused to move {'; '.join(f'{at}: {why}' for at, why in refused)}",
            where=address,
            fix="Name existing partitions, and brokers and log directories that are available.",
        )
