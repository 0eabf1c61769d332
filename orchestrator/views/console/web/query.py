"""The parameters of a request's query: checked, bounded, and rejected with the reason."""

from typing import Final, cast

from starlette.datastructures import QueryParams

from migration.metadata.replica_state import ReplicaState
from migration.observed.probed import TopicPartition
from orchestrator.api.console.state import Lane
from orchestrator.views.console.access.refusals import Refused
from orchestrator.views.console.answers.bounds import bounded
from orchestrator.views.console.answers.pending_replicas import PENDING, partition_of
from orchestrator.views.console.answers.timeline import LANES, TimelineQuery, place_of
from streams.state.timeline import EventPosition

LIMIT_MAX: Final = 1000
_LIMIT: Final = 200
_TEXT_MAX: Final = 400


def timeline_query(cluster: str, query: QueryParams) -> TimelineQuery:
    """Return the requested part of the timeline."""
    return TimelineQuery(
        cluster=cluster,
        from_ms=number(query, "from_ms"),
        to_ms=number(query, "to_ms"),
        lanes=_lanes(query),
        kind=text(query, "kind"),
        broker=number(query, "broker"),
    )


def limit(query: QueryParams, key: str = "limit") -> int:
    """Return the requested number of items; default 200."""
    found = number(query, key)
    if found is None:
        return _LIMIT
    if not 1 <= found <= LIMIT_MAX:
        raise _wrong(key, f"a number from 1 to {LIMIT_MAX}")
    return found


def is_newest_first(query: QueryParams) -> bool:
    """Whether the order is newest first, the default."""
    order = query.get("order", "newest")
    if order not in ("newest", "oldest"):
        raise _wrong("order", "newest or oldest")
    return order == "newest"


def behind_event(query: QueryParams) -> EventPosition | None:
    """Return the event behind which the page begins; None: at the start."""
    try:
        return None if query.get("cursor") is None else place_of(query["cursor"][:_TEXT_MAX])
    except ValueError:
        raise _wrong("cursor", "what a page gave as `next`") from None


def behind_partition(query: QueryParams) -> TopicPartition | None:
    """Return the partition behind which the page begins; None: at the start."""
    try:
        return None if query.get("cursor") is None else partition_of(query["cursor"][:_TEXT_MAX])
    except ValueError:
        raise _wrong("cursor", "what a page gave as `next`") from None


def states(query: QueryParams) -> frozenset[ReplicaState]:
    """Return the requested states; default: those without a directory."""
    given = query.getlist("state")
    try:
        return frozenset(map(ReplicaState, given)) or PENDING
    except ValueError:
        raise _wrong("state", f"some of {', '.join(ReplicaState)}") from None


def number(query: QueryParams, key: str) -> int | None:
    """Return a whole number; None: the key is missing."""
    given = query.get(key)
    if given is None:
        return None
    return whole(given, key)


def whole(given: str, key: str) -> int:
    """Return a whole number of a query or a path."""
    try:
        if given.isascii() and given.isdigit():
            return bounded(given)
    except ValueError:
        pass
    raise _wrong(key, "a whole number")


def text(query: QueryParams, key: str) -> str | None:
    """Return a text; None: the key is missing."""
    given = query.get(key)
    if given is not None and len(given) > _TEXT_MAX:
        raise _wrong(key, f"a text of at most {_TEXT_MAX} characters")
    return given


def _lanes(query: QueryParams) -> frozenset[Lane]:
    every = frozenset(LANES.values())
    given = query.getlist("lane")
    if not every.issuperset(given):
        raise _wrong("lane", f"some of {', '.join(sorted(every))}")
    return cast(frozenset[Lane], frozenset(given)) or every


def _wrong(key: str, right: str) -> Refused:
    return Refused(400, "bad_request", f"`{key}` must be {right}")
