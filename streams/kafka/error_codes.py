"""Kafka's error codes that the follower acts on (org.apache.kafka.common.protocol.Errors)."""

from typing import Final

from kio.schema.errors import ErrorCode

__all__ = ["ELSEWHERE", "NOT_A_CONTROLLER", "SNAPSHOT_GONE", "ErrorCode", "name"]

ELSEWHERE: Final = frozenset(
    {
        ErrorCode.not_leader_or_follower,
        ErrorCode.broker_not_available,
        ErrorCode.fenced_leader_epoch,
        ErrorCode.unknown_leader_epoch,
    }
)
"""This controller is not the leader, or not in the requested epoch (validateLeaderOnlyRequest)."""

SNAPSHOT_GONE: Final = frozenset({ErrorCode.snapshot_not_found, ErrorCode.position_out_of_range})
"""The leader deleted the snapshot during the fetch, or has another snapshot with that name."""

NOT_A_CONTROLLER: Final = frozenset(
    {ErrorCode.unknown_topic_or_partition, ErrorCode.unknown_topic_id}
)
"""A broker does not serve the metadata log (KafkaApis.handleFetchRequest)."""


def name(code: int) -> str:
    """Return the name of an error code, and its number."""
    try:
        return f"{ErrorCode(code).name.upper()} ({int(code)})"
    except ValueError:
        return f"error code {code}"
