"""The configuration and the status of a follower, as plain values."""

import time
from dataclasses import dataclass, field

from streams.metadata.actions import Why
from streams.net.endpoint import Endpoint
from streams.net.security import Security
from streams.state.source_status import Reason, dated


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowerConfig:
    """The configuration of a follower.

    Attributes:
        controllers: The controllers to contact first; any controller of the quorum leads to the
            leader.
        cluster_id: The only cluster id to accept; None takes the spool's id, or else the quorum's.
        security: The security settings of the controllers' listener.
        max_wait_ms: How long the leader may hold a FETCH without new records.
        max_bytes: The requested size of one reply.
        connect_timeout_ms: The limit for connecting, TLS and SASL together, for each controller.
    """

    controllers: tuple[Endpoint, ...]
    cluster_id: str | None = None
    security: Security = field(default_factory=Security)
    max_wait_ms: int = 500
    max_bytes: int = 8 * 1024 * 1024
    connect_timeout_ms: int = 3000

    def __post_init__(self) -> None:
        """Reject an empty list of controllers.

        Raises:
            ValueError: there is no controller.
        """
        if not self.controllers:
            raise ValueError("no controller is named: there is nobody to ask first")


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowerStatus:
    """The status of a follower. Times are wall clock in ms since 1970.

    Attributes:
        observed_at_ms: When the status was created.
        last_reply_ms: When the leader last answered a FETCH without an error; None: never. While
            this is recent and `next_offset` equals `high_watermark`, the spool is current.
        log: Number of the metadata log that is followed, counted from 1.
        next_offset: First offset that is not in the spool.
        busy_until: From here to `next_offset` there are only no-op records; None: unknown.
        high_watermark: First offset that is not committed, from the last reply; None while unknown.
        leader_id: Node id of the leader; None while unknown.
        leader_epoch: The highest leader epoch received.
        leader_endpoint: Endpoint of the leader; None while not connected to it.
        cluster_id: The cluster id: configured, stored in the spool, or reported by a controller.
        waiting: Why no data arrives, if the cause is temporary.
        error: The cause that an operator must fix.
    """

    observed_at_ms: int
    last_reply_ms: int | None = None
    log: int = 1
    next_offset: int = 0
    busy_until: int | None = None
    high_watermark: int | None = None
    leader_id: int | None = None
    leader_epoch: int = 0
    leader_endpoint: Endpoint | None = None
    cluster_id: str | None = None
    waiting: Reason | None = None
    error: Reason | None = None


def reason(why: Why, before: Reason | None, now_ms: int) -> Reason:
    """Return a reason with its start time, which changes with its name but not with its detail."""
    return dated(why.name, why.detail, before, now_ms)


def wall_ms() -> int:
    """Return the wall clock in ms since 1970."""
    return time.time_ns() // 1_000_000
