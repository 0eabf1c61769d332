"""The live follower: mirrors the committed metadata log of a running quorum into a spool.

In: FETCH and FETCH_SNAPSHOT replies of the active controller. Out: files in Kafka's own layout
(`spool.py`), and a position that Spark may read up to (`follower.py`). Where to start, by errand:

- who is asked what, and when: `cursor.py`, a state machine without I/O;
- what goes over the wire: `messages.py` (as values), `connection.py` (as bytes);
- what lies on disk, and what survives a power cut: `spool.py`;
- the thread that joins them, and its status: `follower.py`.
"""

from streams.live.errors import (
    AuthenticationFailed,
    CommittedLogDiverged,
    ConnectionFailed,
    FollowerCrashed,
    LiveError,
    NotAuthorized,
    ReplyDamaged,
    SpoolDamaged,
    SpoolInUse,
    WrongCluster,
)
from streams.live.follower import Follower
from streams.live.messages import Endpoint
from streams.live.security import Security
from streams.live.spool import Position, Spool
from streams.live.status import FollowerConfig, FollowerStatus, Reason

__all__ = [
    "AuthenticationFailed",
    "CommittedLogDiverged",
    "ConnectionFailed",
    "Endpoint",
    "Follower",
    "FollowerConfig",
    "FollowerCrashed",
    "FollowerStatus",
    "LiveError",
    "NotAuthorized",
    "Position",
    "Reason",
    "ReplyDamaged",
    "Security",
    "Spool",
    "SpoolDamaged",
    "SpoolInUse",
    "WrongCluster",
]
