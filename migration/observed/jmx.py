"""The last known state of the nodes' JMX beans: numbers, and how long a queue has not been empty.

Interprets the facts of `migration.observed.facts`. `migration.observed.jmx_names` documents each
number; `migration.image.jmx_check` compares the numbers with the other sources.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from migration.metadata.event_kinds import EventKind
from migration.metadata.events import Event, EventCollector, Source
from migration.observed.facts import JmxFact, JmxNodes, JmxSeen, JmxUnreachable
from migration.observed.jmx_names import JmxName

_TOLD: Final = (
    JmxName.ZK_MIGRATION_STATE,
    JmxName.MIGRATING_ZK_BROKER_COUNT,
    JmxName.ACTIVE_CONTROLLER_COUNT,
    JmxName.OFFLINE_LOG_DIRECTORY_COUNT,
)
"""Each change of these is an event; the other numbers change all the time."""
READ_GAP_MS: Final = 90_000
"""A node that answers is read every 10 s, and a fact arrives at least every 40 s. The queue's state
in a longer gap, such as a restart of Kraftgate or a clock that was set back, is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFloor:
    """The lower bound of a broker's queue of assignments over a time.

    Attributes:
        value: the smallest number since `since_ms`, above 0.
        since_ms: when it was first read.
        filled_ms: since when no reading found the queue empty.
    """

    value: int
    since_ms: int
    filled_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JmxNode:
    """One node's numbers.

    Attributes:
        endpoint: the last source of the numbers.
        read_ms: when they were read; None: never.
        numbers: by bean; an absent number is unknown.
        unreachable: why they are not available now; None: they are.
        unreachable_since_ms: since when.
        queue: None: the queue is empty, or unknown.
    """

    id: int
    endpoint: str | None = None
    read_ms: int | None = None
    numbers: Mapping[str, int] = field(default_factory=dict)
    unreachable: str | None = None
    unreachable_since_ms: int | None = None
    queue: QueueFloor | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """A number that differs from another source.

    Attributes:
        reads: the number.
        expected: the number according to `against`.
        against: `metadata log` or `disks`.
        since_ms: when the number of the first such reading was read.
        lasting: a second reading confirmed it.
    """

    node: int
    name: str
    reads: int
    expected: int
    against: str
    since_ms: int
    lasting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JmxImage:
    """All nodes' numbers; `contradictions` includes unconfirmed ones."""

    nodes: Mapping[int, JmxNode] = field(default_factory=dict)
    contradictions: tuple[Contradiction, ...] = ()


def observe(image: JmxImage, fact: JmxFact) -> tuple[JmxImage, tuple[Event, ...]]:
    if isinstance(fact, JmxNodes):
        return _asked(image, fact), ()
    collected = EventCollector(Source.JMX, fact.seen_ms)
    before = image.nodes.get(fact.node, JmxNode(id=fact.node))
    after = (
        _read(before, fact, collected)
        if isinstance(fact, JmxSeen)
        else _silent(before, fact, collected)
    )
    return replace(image, nodes={**image.nodes, fact.node: after}), collected.events


def _asked(image: JmxImage, fact: JmxNodes) -> JmxImage:
    """Drop the nodes that are no longer polled: their state would never change."""
    return replace(
        image,
        nodes={id_: each for id_, each in image.nodes.items() if id_ in fact.nodes},
        contradictions=tuple(each for each in image.contradictions if each.node in fact.nodes),
    )


def _read(before: JmxNode, fact: JmxSeen, collected: EventCollector) -> JmxNode:
    if before.unreachable_since_ms is not None:
        silent_ms = fact.seen_ms - before.unreachable_since_ms
        collected.add(EventKind.JMX_ANSWERS_AGAIN, node=fact.node, silent_ms=silent_ms)
    numbers = dict(fact.numbers)
    for name in _TOLD:
        was, now = before.numbers.get(name), numbers.get(name)
        if was is not None and now is not None and was != now:
            collected.add(EventKind.JMX_CHANGED, node=fact.node, name=str(name), was=was, now=now)
    return JmxNode(
        id=fact.node,
        endpoint=fact.endpoint,
        read_ms=fact.read_ms,
        numbers=numbers,
        queue=_queue(before, numbers, fact, collected),
    )


def _silent(before: JmxNode, fact: JmxUnreachable, collected: EventCollector) -> JmxNode:
    if before.unreachable is None:
        collected.add(EventKind.JMX_UNREACHABLE, node=fact.node, reason=fact.why)
    since_ms = before.unreachable_since_ms
    return replace(
        before,
        unreachable=fact.why,
        unreachable_since_ms=fact.seen_ms if since_ms is None else since_ms,
    )


def _queue(
    before: JmxNode, numbers: Mapping[str, int], fact: JmxSeen, collected: EventCollector
) -> QueueFloor | None:
    was, now = before.queue, numbers.get(JmxName.QUEUED_REPLICA_TO_DIR_ASSIGNMENTS)
    if not now or now < 0:
        if was is not None:
            full_ms = fact.read_ms - was.filled_ms
            collected.add(
                EventKind.ASSIGNMENT_QUEUE_EMPTY, fact.node, full_ms=full_ms, known=now is not None
            )
        return None
    if was is None:
        collected.add(EventKind.ASSIGNMENTS_QUEUED, fact.node, queued=now)
    if was is None or abs(fact.read_ms - (before.read_ms or 0)) > READ_GAP_MS:
        return QueueFloor(value=now, since_ms=fact.read_ms, filled_ms=fact.read_ms)
    if now < was.value:
        return QueueFloor(value=now, since_ms=fact.read_ms, filled_ms=was.filled_ms)
    return was
