"""The image of the JMX numbers: each node's values, their times, and the reported events."""

from hypothesis import given
from hypothesis import strategies as st

from migration.metadata.events import Event, Source
from migration.observed.facts import JmxFact, JmxNodes, JmxSeen, JmxUnreachable
from migration.observed.jmx import READ_GAP_MS, JmxImage, JmxNode, QueueFloor, observe
from migration.observed.jmx_names import JmxName

QUEUE = str(JmxName.QUEUED_REPLICA_TO_DIR_ASSIGNMENTS)
STATE = str(JmxName.ZK_MIGRATION_STATE)


def seen(at_ms: int, node: int = 1, **numbers: int) -> JmxSeen:
    return JmxSeen(at_ms, node, "e", at_ms, tuple(numbers.items()))


def after(*facts: JmxFact) -> tuple[JmxImage, list[Event]]:
    image = JmxImage()
    events: list[Event] = []
    for fact in facts:
        image, told = observe(image, fact)
        events += told
    return image, events


def test_the_numbers_are_those_of_the_last_reading() -> None:
    image, events = after(seen(10, **{STATE: 2, QUEUE: 0}), seen(20, **{STATE: 1}))
    assert image.nodes == {1: JmxNode(id=1, endpoint="e", read_ms=20, numbers={STATE: 1})}
    (event,) = events
    assert (event.kind, event.source, event.seen_ms) == ("jmx_changed", Source.JMX, 20)
    assert event.fields == {"node": 1, "name": STATE, "was": 2, "now": 1}


def test_a_node_that_is_silent_keeps_what_was_read_with_its_time() -> None:
    gone, again = JmxUnreachable(20, 1, "refused"), JmxUnreachable(30, 1, "timed out")
    image, events = after(seen(10, **{STATE: 2}), gone, again)
    node = image.nodes[1]
    assert (node.read_ms, node.numbers) == (10, {STATE: 2})
    assert (node.unreachable, node.unreachable_since_ms) == ("timed out", 20)
    image, more = after(seen(10, **{STATE: 2}), gone, again, seen(50, **{STATE: 2}))
    assert image.nodes[1].unreachable is None
    assert [each.kind for each in events] == ["jmx_unreachable"]
    assert more[-1].kind == "jmx_answers_again"
    assert more[-1].fields["silent_ms"] == 30


def test_a_node_that_is_not_asked_any_more_is_forgotten() -> None:
    image, _ = after(seen(10, 1), seen(10, 2), JmxNodes(20, (2,)))
    assert set(image.nodes) == {2}


def test_a_queue_is_as_old_as_its_smallest_number() -> None:
    """KIP-858, "Metrics": QueuedReplicaToDirAssignments."""
    image, events = after(*(seen(at, **{QUEUE: n}) for at, n in ((10, 5), (20, 3), (30, 4))))
    assert image.nodes[1].queue == QueueFloor(value=3, since_ms=20, filled_ms=10)
    assert [each.kind for each in events] == ["assignments_queued"]
    image, events = after(seen(10, **{QUEUE: 5}), seen(40, **{QUEUE: 0}))
    assert image.nodes[1].queue is None
    assert (events[-1].kind, events[-1].broker) == ("assignment_queue_empty", 1)
    assert events[-1].fields == {"full_ms": 30, "known": True}


def test_a_broker_that_has_no_queue_any_more_is_not_taken_for_one_that_emptied_it() -> None:
    _, events = after(seen(10, **{QUEUE: 5}), seen(40, **{STATE: 4}))
    assert events[-1].fields == {"full_ms": 30, "known": False}


def test_silence_leaves_the_queue_as_it_was() -> None:
    image, _ = after(seen(10, **{QUEUE: 5}), JmxUnreachable(20, 1, "refused"))
    assert image.nodes[1].queue == QueueFloor(value=5, since_ms=10, filled_ms=10)


def test_a_queue_has_no_age_of_before_the_clock_was_set_back() -> None:
    image, _ = after(seen(READ_GAP_MS + 11, **{QUEUE: 5}), seen(10, **{QUEUE: 5}))
    assert image.nodes[1].queue == QueueFloor(value=5, since_ms=10, filled_ms=10)


def test_what_a_queue_did_while_nobody_read_it_is_not_known() -> None:
    first, later = seen(10, **{QUEUE: 5}), 10 + READ_GAP_MS
    image, _ = after(first, seen(later, **{QUEUE: 5}))
    assert image.nodes[1].queue == QueueFloor(value=5, since_ms=10, filled_ms=10)
    image, events = after(first, seen(later + 1, **{QUEUE: 5}))
    assert image.nodes[1].queue == QueueFloor(value=5, since_ms=later + 1, filled_ms=later + 1)
    assert [each.kind for each in events] == ["assignments_queued"]


@given(st.lists(st.integers(0, 5), min_size=1))
def test_the_floor_is_the_smallest_number_since_the_queue_was_last_empty(values: list[int]) -> None:
    image, _ = after(*(seen(at, **{QUEUE: n}) for at, n in enumerate(values)))
    empty = max((at for at, n in enumerate(values) if n == 0), default=-1)
    since = values[empty + 1 :]
    queue = image.nodes[1].queue
    if not since:
        assert queue is None
        return
    first = empty + 1 + since.index(min(since))
    assert queue == QueueFloor(value=min(since), since_ms=first, filled_ms=empty + 1)
