"""What a follower is told, and what it tells: its configuration and its status, plain values."""

import time
from dataclasses import dataclass, field

from streams.metadata.actions import Why
from streams.net.endpoint import Endpoint
from streams.net.security import Security


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowerConfig:
    """What to follow, and how.

    Attributes:
        controllers: Where to ask first; any of the quorum's controllers leads to the leader.
        cluster_id: The only cluster to accept; None takes the spool's, or else what it finds.
        security: How the controllers' listener is secured.
        max_wait_ms: How long the leader may hold a FETCH that finds nothing.
        max_bytes: Bytes wanted in one reply.
        connect_timeout_ms: For connecting, TLS and SASL together, for each controller.
    """

    controllers: tuple[Endpoint, ...]
    cluster_id: str | None = None
    security: Security = field(default_factory=Security)
    max_wait_ms: int = 500
    max_bytes: int = 8 * 1024 * 1024
    connect_timeout_ms: int = 3000

    def __post_init__(self) -> None:
        """Refuse what could only fail later.

        Raises:
            ValueError: no controller is named.
        """
        if not self.controllers:
            raise ValueError("no controller is named: there is nobody to ask first")


@dataclass(frozen=True, slots=True)
class Reason:
    """Why nothing arrives, or may be asked for.

    Attributes:
        name: Stable, for alerts: `no_controller_reachable`, `no_leader`, `waiting_for_quorum`,
            `snapshot_vanished`, `fetching_snapshot`, `spool_not_writable`; for an error, its class.
        detail: A sentence for the operator.
        since_ms: Wall clock, ms since 1970, when this name began.
    """

    name: str
    detail: str
    since_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowerStatus:
    """How it stands. Times are wall clock in ms since 1970.

    Attributes:
        observed_at_ms: When this was put together.
        last_reply_ms: When the leader last answered a FETCH without an error; None: never yet.
            While this is recent and `next_offset` is the `high_watermark`, the spool is up to date.
        log: Which of the cluster's metadata logs is followed, counted from 1.
        next_offset: First offset not in the spool.
        busy_until: From here up to `next_offset` there are only no-op records; None: not known.
        high_watermark: First offset not committed, as last told; None while unknown.
        leader_id: Node id of the leader, None while unknown.
        leader_epoch: The highest leader epoch heard of.
        leader_endpoint: Where the leader listens, None while not connected to it.
        cluster_id: The cluster followed, as configured, remembered or found out.
        waiting: Why nothing arrives although all may be well soon.
        error: What a person has to mend.
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
    """Date a reason: it began when its name did, although its words may change."""
    since = before.since_ms if before is not None and before.name == why.name else now_ms
    return Reason(why.name, why.detail, since)


def wall_ms() -> int:
    """Return the wall clock, ms since 1970."""
    return time.time_ns() // 1_000_000
