"""What the tests against a real quorum share."""

import time
from collections.abc import Callable

from migration.observed.source_status import SourceStatus
from orchestrator.lab import Lab
from streams.metadata.follower import Follower
from streams.metadata.log_files import listing
from streams.metadata.spool import Spool
from streams.net.endpoint import Endpoint
from streams.net.listener import Listener

PATIENCE_S = 120.0
"""A busy machine may need it; nothing waits so long where all is well."""


def config(lab: Lab, cluster_id: str | None = None) -> Listener:
    return Listener(Endpoint.parse_list(lab.controller_bootstrap), cluster_id=cluster_id)


def until(
    follower: Follower, holds: Callable[[SourceStatus], bool], timeout_s: float = PATIENCE_S
) -> SourceStatus:
    deadline = time.monotonic() + timeout_s
    while not holds(status := follower.status()):
        assert time.monotonic() < deadline, status
        time.sleep(0.02)
    return status


def wait_for(follower: Follower, beyond_offset: int, timeout_s: float = PATIENCE_S) -> bool:
    """Wait until the spool ends after an offset of its first log; return whether it does."""
    deadline = time.monotonic() + timeout_s
    while follower.position.reach <= (1, beyond_offset):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def mirrored(spool: Spool) -> bytes:
    """What the spool has of the log, one segment after the other."""
    return b"".join(s.path.read_bytes() for s in listing(spool.directory).segments)
