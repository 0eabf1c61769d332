"""The results of the cursor: the next `Action`, and the `Effect` of a reply on the spool."""

from dataclasses import dataclass

from streams.kafka.messages import OffsetAndEpoch
from streams.metadata.batches import Mark
from streams.metadata.spool import Position
from streams.net.endpoint import Endpoint
from streams.net.errors import LiveError


@dataclass(frozen=True, slots=True)
class Connect:
    """Connect to this controller; then call `connected` or `failed`."""

    endpoint: Endpoint


@dataclass(frozen=True, slots=True)
class Fetch:
    """Send a FETCH; then call `fetched` or `failed`."""

    leader_epoch: int
    offset: int
    last_fetched_epoch: int


@dataclass(frozen=True, slots=True)
class FetchSnapshot:
    """Send a FETCH_SNAPSHOT; then call `snapshot_fetched` or `failed`."""

    leader_epoch: int
    snapshot: OffsetAndEpoch
    position: int


@dataclass(frozen=True, slots=True)
class Pause:
    """Do nothing until `until` (monotonic seconds); `reason` is None for a pause that is normal."""

    until: float
    reason: str | None


@dataclass(frozen=True, slots=True)
class Refuse:
    """Report this error and do nothing until `until`; None: until an operator fixes the cause."""

    error: LiveError
    until: float | None


Action = Connect | Fetch | FetchSnapshot | Pause | Refuse


@dataclass(frozen=True, slots=True)
class Append:
    """Append these batches to the spool; `position` is its end afterwards."""

    records: bytes
    position: Position


@dataclass(frozen=True, slots=True)
class BeginSnapshot:
    """Begin this snapshot in the spool."""

    snapshot: OffsetAndEpoch


@dataclass(frozen=True, slots=True)
class SnapshotPart:
    """Append `content` to the snapshot; `complete`: this is its last part."""

    content: bytes
    complete: bool


@dataclass(frozen=True, slots=True)
class KeepHead:
    """Store in the spool the mark of the log's beginning."""

    head: Mark


@dataclass(frozen=True, slots=True)
class Restart:
    """Begin another log in the spool: the quorum's log is not the one that was followed."""

    head: Mark


Effect = Append | BeginSnapshot | SnapshotPart | KeepHead | Restart | None
