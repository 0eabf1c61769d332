"""What the cursor says: what to do next (`Action`), what a reply does to the spool (`Effect`)."""

from dataclasses import dataclass

from streams.kafka.messages import OffsetAndEpoch
from streams.metadata.log_marks import Mark
from streams.metadata.spool import Position
from streams.net.endpoint import Endpoint
from streams.net.errors import LiveError


@dataclass(frozen=True, slots=True)
class Why:
    """A named reason: a stable name for alerts and metrics, and a sentence for a person."""

    name: str
    detail: str


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
class Wait:
    """Do nothing until then (monotonic seconds); `why` is None for pauses of the normal course."""

    until: float
    why: Why | None


@dataclass(frozen=True, slots=True)
class Refuse:
    """Tell this error and do nothing until then; None: until a person mends it."""

    error: LiveError
    until: float | None


Action = Connect | Fetch | FetchSnapshot | Wait | Refuse


@dataclass(frozen=True, slots=True)
class Append:
    """Append these batches to the spool, which then ends at `position`."""

    records: bytes
    position: Position


@dataclass(frozen=True, slots=True)
class BeginSnapshot:
    """Begin this snapshot in the spool."""

    snapshot: OffsetAndEpoch


@dataclass(frozen=True, slots=True)
class SnapshotPart:
    """Append this to the snapshot; when `complete`, that was the last of it."""

    content: bytes
    complete: bool


@dataclass(frozen=True, slots=True)
class KeepHead:
    """Remember in the spool how the log begins."""

    head: Mark


@dataclass(frozen=True, slots=True)
class Restart:
    """Begin another log in the spool: the quorum's is not the one that was followed."""

    head: Mark


Effect = Append | BeginSnapshot | SnapshotPart | KeepHead | Restart | None
