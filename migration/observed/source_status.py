"""What a live source says of itself, and how old that is.

The source writes a `SourceStatus` beside the store (`source.json`); whoever shows a number says
with it how old the number is, and whoever opens a gate asks `is_current` first. A file that was
read to its end never ages.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Final

STALE_AFTER_MS: Final = 15_000
"""Older data says nothing of the present: an idle controller writes a no-op every 500 ms."""

BEHIND_RECORDS: Final = 100
"""More unread records than this is history being read, not the present: 50 s of an idle log."""


class SourceStatusError(ValueError):
    """The value is not a SourceStatus."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceStatus:
    """One live source at one moment.

    Attributes:
        observed_ms: wall-clock time this was written; 0 when none was ever written.
        last_reply_ms: wall-clock time of the last answer of a controller; None before the first.
        log: which of the cluster's metadata logs is followed, counted from 1.
        next_offset: the metadata offset that is asked for next.
        busy_until: from here up to `next_offset` there is nothing but no-op records, which make no
            batch of the job until there are many; None: not known.
        high_watermark: the first offset that is not committed, as the last reply told.
        active_controller: the node id that leads the metadata quorum.
        leader_epoch: that leader's epoch.
        endpoint: host:port of the last reply.
        cluster_id: as the source's servers tell it; before they do, as configured or remembered.
        waiting: what the source waits for, in its own words; None while data flows.
        error: why it cannot follow this cluster at all (another cluster id, no authorization).
        finished: a file source that came to its end.
        limits: what it does not see here although it follows the cluster, in its own words.
        whole_since_ms: since when it has seen everything without a break; facts that were taken
            in before say nothing of the present. None: not told.
    """

    observed_ms: int
    last_reply_ms: int | None = None
    log: int = 1
    next_offset: int | None = None
    busy_until: int | None = None
    high_watermark: int | None = None
    active_controller: int | None = None
    leader_epoch: int | None = None
    endpoint: str | None = None
    cluster_id: str | None = None
    waiting: str | None = None
    error: str | None = None
    finished: bool = False
    limits: tuple[str, ...] = ()
    whole_since_ms: int | None = None


NO_STATUS: Final = SourceStatus(observed_ms=0)
"""No source ever said anything."""

_NUMBERS: Final = (
    "last_reply_ms",
    "log",
    "next_offset",
    "busy_until",
    "high_watermark",
    "active_controller",
    "leader_epoch",
    "whole_since_ms",
)
_TEXTS: Final = ("endpoint", "cluster_id", "waiting", "error")


def to_json(status: SourceStatus) -> dict[str, object]:
    """Give the status as JSON values, every field by its name."""
    return asdict(status)


def from_json(value: object) -> SourceStatus:
    """Read what `to_json` gave; keys that are not known are left aside, for a newer writer's sake.

    Raises:
        SourceStatusError: not an object, `observed_ms` is missing, or a value has another type.
    """
    if not isinstance(value, Mapping):
        raise SourceStatusError(f"a source status is an object, not {type(value).__name__}")
    observed = _number(value, "observed_ms")
    if observed is None:
        raise SourceStatusError("a source status needs observed_ms")
    finished = value.get("finished", False)
    if not isinstance(finished, bool):
        raise SourceStatusError(f"finished is true or false, not {finished!r}")
    limits = value.get("limits", ())
    if not isinstance(limits, list | tuple) or not all(isinstance(each, str) for each in limits):
        raise SourceStatusError(f"limits is a list of texts, not {limits!r}")
    numbers = {name: _number(value, name) for name in _NUMBERS}
    texts = {name: _text(value, name) for name in _TEXTS}
    return SourceStatus(
        observed_ms=observed,
        last_reply_ms=numbers["last_reply_ms"],
        log=numbers["log"] or 1,
        next_offset=numbers["next_offset"],
        busy_until=numbers["busy_until"],
        high_watermark=numbers["high_watermark"],
        active_controller=numbers["active_controller"],
        leader_epoch=numbers["leader_epoch"],
        endpoint=texts["endpoint"],
        cluster_id=texts["cluster_id"],
        waiting=texts["waiting"],
        error=texts["error"],
        finished=finished,
        limits=tuple(limits),
        whole_since_ms=numbers["whole_since_ms"],
    )


def _number(value: Mapping[object, object], name: str) -> int | None:
    found = value.get(name)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int):
        raise SourceStatusError(f"{name} is a whole number or null, not {found!r}")
    return found


def _text(value: Mapping[object, object], name: str) -> str | None:
    found = value.get(name)
    if found is None or isinstance(found, str):
        return found
    raise SourceStatusError(f"{name} is text or null, not {found!r}")


def stale_ms(status: SourceStatus, now_ms: int) -> int | None:
    """How long ago a controller last answered; None when none ever did. Never negative."""
    if status.last_reply_ms is None:
        return None
    return max(0, now_ms - status.last_reply_ms)


def is_silent(status: SourceStatus, now_ms: int) -> bool:
    """Whether the process that follows the cluster stopped saying anything of itself."""
    return not status.finished and now_ms - status.observed_ms > STALE_AFTER_MS


def is_current(status: SourceStatus, now_ms: int) -> bool:
    """Whether what was delivered may be taken for the present; False unless shown to be so."""
    if status.error is not None:
        return False
    if status.finished:
        return True
    age = stale_ms(status, now_ms)
    return age is not None and age <= STALE_AFTER_MS and not is_silent(status, now_ms)


def meaningful_end(status: SourceStatus) -> int | None:
    """Return the offset up to which the metadata log holds more than no-op records.

    The job commits the no-op records at a log's end in batches of 20, up to 10 s late; they change
    nothing. None: no high watermark is known.
    """
    end, fetched, busy_until = status.high_watermark, status.next_offset, status.busy_until
    if end is None or fetched is None or busy_until is None or fetched < end:
        return end
    return min(end, busy_until)


def behind(status: SourceStatus, metadata_offset: int | None) -> int:
    """How many committed records were not yet read; 0 when no high watermark is known."""
    if status.high_watermark is None:
        return 0
    read = 0 if metadata_offset is None else metadata_offset + 1
    return max(0, status.high_watermark - read)
