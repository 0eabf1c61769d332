"""The timeline: the events of the store and the decisions of the audit trail on one axis.

Both are opened for one response and closed after it; nothing stays in memory.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator

from migration.metadata.events import Event, Source
from orchestrator.api.console.answers import Bucket, EventPage, Timeline
from orchestrator.api.console.state import Lane, TimelineEvent
from orchestrator.audit import AUDIT_FILE, Entry, sentences
from orchestrator.audit.kinds import KINDS, EntryKind
from orchestrator.audit.window import LANE, AuditWindow
from orchestrator.errors import NoDataError
from orchestrator.output.event_text import sentence, weight_of
from orchestrator.run.reader import STORE_FILE
from orchestrator.views.console.answers.query import Limit, Number, Query, Text, bounded
from streams.state.timeline import EventFilter, EventPosition, EventTimeline, TimedRows

LANES: Final[Mapping[str, Lane]] = {
    Source.KRAFT_METADATA: "metadata",
    Source.ZOOKEEPER: "zookeeper",
    Source.LOG_DIRS: "disks",
    Source.JMX: "jmx",
    LANE: "decisions",
}
"""The lane of the page, by that of the store or of the audit trail."""
_TEXT_MAX: Final = 600

Part = tuple[TimedRows[Any], Callable[[int, Any], TimelineEvent]]
"""A file, and the function that makes a row of the page from a sequence number and its value."""


def place_of(text: str) -> EventPosition:
    """Return the place of a cursor, which is its numbers with dots between them.

    Raises:
        ValueError: the text is not a cursor.
    """
    moment_ms, origin, sequence = map(bounded, text.split("."))
    return EventPosition(moment_ms, origin, sequence)


class TimelineQuery(Query):
    """A request for a part of the timeline; a time of None: no limit.

    Attributes:
        cursor: the event behind which the page begins; None: at the start.
    """

    from_ms: Number | None = None
    to_ms: Number | None = None
    lane: frozenset[Lane] = frozenset(LANES.values())
    kind: Text | None = None
    broker: Number | None = None
    buckets: Limit = 200
    limit: Limit = 200
    order: Literal["newest", "oldest"] = "newest"
    cursor: Annotated[EventPosition | None, BeforeValidator(place_of)] = None


class History:
    """Reads events and decisions, as far as they exist yet."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts

    def timeline(self, cluster: str, asked: TimelineQuery) -> Timeline:
        """Return the counts by lane and kind in buckets of equal length."""
        window = self._window(cluster, asked)
        width_ms = max(1, -(-(window.to_ms - window.from_ms) // asked.buckets))
        stretches: dict[tuple[int, Lane], dict[str, int]] = {}
        lanes: Counter[Lane] = Counter()
        kinds: Counter[str] = Counter()
        counted = (part.counts(window, width_ms) for part, _ in self._asked(window))
        for each in chain.from_iterable(counted):
            lane = LANES[each.lane]
            stretches.setdefault((each.stretch, lane), {})[each.kind] = each.number
            lanes[lane] += each.number
            kinds[each.kind] += each.number
        return Timeline(
            from_ms=window.from_ms,
            to_ms=window.to_ms,
            width_ms=width_ms,
            total=lanes.total(),
            lanes=dict(lanes),
            kinds=dict(kinds),
            buckets=tuple(
                Bucket(
                    at_ms=window.from_ms + stretch * width_ms,
                    lane=lane,
                    count=sum(of_kind.values()),
                    bad=sum(number for kind, number in of_kind.items() if _is_bad(kind)),
                    kinds=of_kind,
                )
                for (stretch, lane), of_kind in sorted(stretches.items())
            ),
        )

    def page(self, cluster: str, asked: TimelineQuery) -> EventPage:
        """Return a page of events of the requested lanes, in order."""
        window, newest, limit = self._window(cluster, asked), asked.order == "newest", asked.limit
        if asked.cursor is not None:  # the events on the other side of it need not be read
            near_ms = asked.cursor.moment_ms
            if newest:
                window = replace(window, to_ms=min(window.to_ms, near_ms + 1))
            else:
                window = replace(window, from_ms=max(window.from_ms, near_ms))
        found = [
            (place, row(place.sequence, value))
            for part, row in self._asked(window)
            for place, value in part.page(window, limit + 1, newest=newest, behind=asked.cursor)
        ]
        found.sort(key=lambda each: each[0], reverse=newest)
        shown = found[:limit]
        more = len(found) > limit
        return EventPage(
            events=tuple(each for _, each in shown),
            next=".".join(map(str, shown[-1][0])) if more else None,
        )

    def _window(self, cluster: str, asked: TimelineQuery) -> EventFilter:
        from_ms, to_ms = asked.from_ms, asked.to_ms
        if from_ms is None or to_ms is None:
            spans = [part.span(cluster) for part, _ in self._parts]
            known = [each for each in spans if each is not None]
            first = min((each[0] for each in known), default=0)
            last = max((each[1] for each in known), default=0)
            from_ms = first if from_ms is None else from_ms
            to_ms = last + 1 if to_ms is None else to_ms
        return EventFilter(
            cluster=cluster,
            from_ms=from_ms,
            to_ms=max(from_ms, to_ms),
            lanes=frozenset(name for name, lane in LANES.items() if lane in asked.lane),
            kind=asked.kind,
            broker=asked.broker,
        )

    def _asked(self, window: EventFilter) -> list[Part]:
        return [each for each in self._parts if each[0].lanes & window.lanes]


@contextmanager
def history(state_dir: Path) -> Iterator[History]:
    """Open the store's events and the audit trail, as far as they exist.

    Raises:
        StoreError: the file is not a store.
        AuditError: the audit trail cannot be read.
    """
    with ExitStack() as opened:
        parts: list[Part] = []
        store, audit = state_dir / STORE_FILE, state_dir / AUDIT_FILE
        if store.is_file():
            parts.append((opened.enter_context(closing(EventTimeline(store))), event_row))
        if audit.is_file():
            with suppress(NoDataError):  # it is being created: there are no decisions yet
                decisions = opened.enter_context(closing(AuditWindow(audit)))
                parts.append((decisions, lambda _, entry: decision_row(entry)))
        yield History(parts)


def event_row(sequence: int, event: Event) -> TimelineEvent:
    return TimelineEvent(
        id=f"s{sequence}",
        at_ms=event.moment_ms or 0,
        seen_ms=event.seen_ms,
        lane=LANES[str(event.source)],
        kind=event.kind,
        broker=event.broker,
        offset=event.offset,
        checkpoint=None,
        by=None,
        weight=weight_of(event.kind),
        text=_bounded(sentence(event)),
    )


def decision_row(entry: Entry) -> TimelineEvent:
    broker, checkpoint = entry.body.get("broker"), entry.body.get("checkpoint")
    return TimelineEvent(
        id=f"a{entry.sequence}",
        at_ms=entry.at_ms,
        seen_ms=entry.at_ms,
        lane="decisions",
        kind=entry.kind,
        broker=broker if isinstance(broker, int) else None,
        offset=None,
        checkpoint=checkpoint if isinstance(checkpoint, str) else None,
        by=sentences.author(entry),
        weight=sentences.weight_of(entry),
        text=_bounded(sentences.sentence(entry)),
    )


def _is_bad(kind: str) -> bool:
    """Return whether a kind of event or entry is bad, whatever its fields are."""
    weight = EntryKind(kind).weight if kind in KINDS else weight_of(kind)
    return weight == "bad"


def _bounded(text: str) -> str:
    return f"{text[:_TEXT_MAX]}..." if len(text) > _TEXT_MAX else text
