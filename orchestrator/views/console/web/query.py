"""What stands in a request's query: checked, bounded, and refused with the reason."""

from typing import Final, cast

from starlette.datastructures import QueryParams

from migration.metadata.replica_state import ReplicaState
from migration.observed.probed import TopicPartition
from orchestrator.api.console.shape import Lane
from orchestrator.views.console.access.refusals import Refused
from orchestrator.views.console.answers.bounds import bounded
from orchestrator.views.console.answers.pending_replicas import PENDING, partition_of
from orchestrator.views.console.answers.timeline import LANES, Asked, place_of
from streams.state.timeline import Place

LIMIT_MAX: Final = 1000
_LIMIT: Final = 200
_TEXT_MAX: Final = 400


def timeline_asked(cluster: str, query: QueryParams) -> Asked:
    """Which part of the timeline."""
    return Asked(
        cluster=cluster,
        from_ms=number(query, "from_ms"),
        to_ms=number(query, "to_ms"),
        lanes=_lanes(query),
        kind=text(query, "kind"),
        broker=number(query, "broker"),
    )


def limit(query: QueryParams, key: str = "limit") -> int:
    """How many; 200 when it is not said."""
    found = number(query, key)
    if found is None:
        return _LIMIT
    if not 1 <= found <= LIMIT_MAX:
        raise _wrong(key, f"a number from 1 to {LIMIT_MAX}")
    return found


def is_newest_first(query: QueryParams) -> bool:
    """In which order."""
    order = query.get("order", "newest")
    if order not in ("newest", "oldest"):
        raise _wrong("order", "newest or oldest")
    return order == "newest"


def behind_event(query: QueryParams) -> Place | None:
    """Behind which event."""
    try:
        return None if query.get("cursor") is None else place_of(query["cursor"][:_TEXT_MAX])
    except ValueError:
        raise _wrong("cursor", "what a page gave as `next`") from None


def behind_partition(query: QueryParams) -> TopicPartition | None:
    """Behind which partition."""
    try:
        return None if query.get("cursor") is None else partition_of(query["cursor"][:_TEXT_MAX])
    except ValueError:
        raise _wrong("cursor", "what a page gave as `next`") from None


def states(query: QueryParams) -> frozenset[ReplicaState]:
    """Of which states; those without a directory when it is not said."""
    given = query.getlist("state")
    try:
        return frozenset(map(ReplicaState, given)) or PENDING
    except ValueError:
        raise _wrong("state", f"some of {', '.join(ReplicaState)}") from None


def number(query: QueryParams, key: str) -> int | None:
    """A whole number, if one is given."""
    given = query.get(key)
    if given is None:
        return None
    return whole(given, key)


def whole(given: str, key: str) -> int:
    """A whole number, as a query or a path has it."""
    try:
        if given.isascii() and given.isdigit():
            return bounded(given)
    except ValueError:
        pass
    raise _wrong(key, "a whole number")


def text(query: QueryParams, key: str) -> str | None:
    """A text, if one is given."""
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
