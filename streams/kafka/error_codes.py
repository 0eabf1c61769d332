"""Kafka's error codes that the follower acts on (org.apache.kafka.common.protocol.Errors)."""

from enum import IntEnum


class Code(IntEnum):
    """An error code of a FETCH, FETCH_SNAPSHOT or DESCRIBE_CLUSTER reply."""

    UNKNOWN_TOPIC_OR_PARTITION = 3
    NOT_LEADER_OR_FOLLOWER = 6
    BROKER_NOT_AVAILABLE = 8
    CLUSTER_AUTHORIZATION_FAILED = 31
    UNSUPPORTED_VERSION = 35
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    SNAPSHOT_NOT_FOUND = 98
    POSITION_OUT_OF_RANGE = 99
    UNKNOWN_TOPIC_ID = 100
    INCONSISTENT_CLUSTER_ID = 104


ELSEWHERE = frozenset(
    {
        Code.NOT_LEADER_OR_FOLLOWER,
        Code.BROKER_NOT_AVAILABLE,
        Code.FENCED_LEADER_EPOCH,
        Code.UNKNOWN_LEADER_EPOCH,
    }
)
"""This controller is not the leader, or not in the requested epoch (validateLeaderOnlyRequest)."""

SNAPSHOT_GONE = frozenset({Code.SNAPSHOT_NOT_FOUND, Code.POSITION_OUT_OF_RANGE})
"""The leader deleted the snapshot during the fetch, or has another snapshot with that name."""

NOT_A_CONTROLLER = frozenset({Code.UNKNOWN_TOPIC_OR_PARTITION, Code.UNKNOWN_TOPIC_ID})
"""A broker does not serve the metadata log (KafkaApis.handleFetchRequest)."""


def name(code: int) -> str:
    """Return the name of a code of `Code`; for any other code, `error code NUMBER`."""
    try:
        return Code(code).name
    except ValueError:
        return f"error code {code}"
