"""The lab's requests that confluent-kafka lacks: the quorum, and moves of replicas.

`streams.kafka` sends them.
"""

from collections.abc import Mapping
from pathlib import Path

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
    return None if found is None or found.high_watermark is None else found


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

    Raises:
        RequestRefusedError: A move was refused, or the broker did not answer.
    """
    try:
        with _node(address, reply_timeout_ms=_REQUEST_S_MAX * 1000) as node:
            refused = node.alter_log_dirs({at: str(path) for at, path in moves.items()})
    except LiveError as error:
        raise RequestRefusedError(
            f"the broker did not move anything: {error}",
            where=address,
            fix="Check that it runs and is not frozen: kraftgate lab status.",
        ) from error
    if refused:
        named = "; ".join(f"{topic}-{number}: {why}" for (topic, number), why in refused.items())
        raise RequestRefusedError(
            f"Kafka refused to move {named}",
            where=address,
            fix="Name existing partitions, and brokers and log directories that are available.",
        )


def _node(address: str, reply_timeout_ms: int = _REPLY_MS_MAX) -> Node:
    (endpoint,) = Endpoint.parse_list(address)
    return Node(endpoint, Security(), reply_timeout_ms=reply_timeout_ms)
