"""Requests that a broker moves replicas between its own log directories, by AlterReplicaLogDirs."""

from collections.abc import Mapping
from pathlib import Path

from kio.schema.alter_replica_log_dirs.v2 import request
from kio.schema.errors import ErrorCode
from kio.schema.types import TopicName
from kio.static.primitive import i32

from orchestrator.lab.errors import RequestRefusedError
from streams.kafka.connection import Connection
from streams.net.endpoint import Endpoint
from streams.net.errors import LiveError
from streams.net.security import Security

_REQUEST_MS_MAX = 30_000


def move(address: str, moves: Mapping[tuple[str, int], Path]) -> None:
    """Begin to move replicas; return once the broker has accepted every move.

    The broker alone performs the moves, and replaces the replica with the copy once that has caught
    up; in KRaft mode only after the controller has confirmed the new directory
    (ReplicaAlterLogDirsThread).

    Args:
        address: The broker's.
        moves: The target log directory of each (topic, partition).

    Raises:
        RequestRefusedError: A move was refused, or the broker did not answer.
    """
    host, _, port = address.rpartition(":")
    try:
        with Connection(Endpoint(host, int(port)), Security()) as connection:
            answer = connection.ask(_request(moves), wait_ms=_REQUEST_MS_MAX)
    except LiveError as error:
        raise RequestRefusedError(
            f"the broker did not move replicas: {error}",
            where=address,
            fix="Is it up and thawed? See kraftgate lab status.",
        ) from error
    refused = [
        f"{topic.topic_name}-{part.partition_index}: {part.error_code.name}"
        for topic in answer.results
        for part in topic.partitions
        if part.error_code is not ErrorCode.none
    ]
    if refused:
        raise RequestRefusedError(
            f"the broker refused to move {'; '.join(refused)}",
            where=address,
            fix="Name replicas that it hosts and log directories that it has.",
        )


def _request(moves: Mapping[tuple[str, int], Path]) -> request.AlterReplicaLogDirsRequest:
    by_path: dict[Path, dict[str, list[int]]] = {}
    for (topic, partition), path in sorted(moves.items()):
        by_path.setdefault(path, {}).setdefault(topic, []).append(partition)
    return request.AlterReplicaLogDirsRequest(
        dirs=tuple(
            request.AlterReplicaLogDir(
                path=str(path),
                topics=tuple(
                    request.AlterReplicaLogDirTopic(
                        name=TopicName(topic), partitions=tuple(map(i32, partitions))
                    )
                    for topic, partitions in topics.items()
                ),
            )
            for path, topics in by_path.items()
        )
    )
