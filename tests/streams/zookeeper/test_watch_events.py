"""Events become names and counts; what is kept of them is bounded, whatever comes."""

from hypothesis import given
from hypothesis import strategies as st
from kazoo.protocol.states import EventType

from migration.observed.topic_facts import ZkStatesChanged
from migration.observed.znodes import TOPIC_CONFIGS, TOPICS
from streams.zookeeper.watch_events import NAMES_MAX, NONE, ChangedTopics, WatchEvents

CREATED, CHANGED, DELETED = EventType.CREATED, EventType.CHANGED, EventType.DELETED


def state(topic: str, partition: int = 0) -> str:
    return f"{TOPICS}/{topic}/partitions/{partition}/state"


def marks(*events: tuple[str, str], clock: int = 5000) -> WatchEvents:
    made = WatchEvents(lambda: clock)
    for kind, path in events:
        made.add_event(kind, path)
    return made


def names(*some: str) -> frozenset[str]:
    return frozenset(some)


def test_each_path_marks_what_has_to_be_read_again() -> None:
    made = marks(
        (CREATED, f"{TOPICS}/a"),
        (CHANGED, f"{TOPICS}/b"),
        (DELETED, f"{TOPICS}/c"),
        (CREATED, f"{TOPICS}/d/partitions"),
        (CREATED, f"{TOPICS}/d/partitions/0"),
        (CHANGED, state("e")),
        (CHANGED, f"{TOPIC_CONFIGS}/f"),
    )
    assert made.take() == ChangedTopics(names("a", "b", "c"), names("f"), names(*"abcdef"))
    assert made.take() == ChangedTopics(NONE, NONE, NONE)


def test_a_branch_that_came_or_went_marks_all_of_it() -> None:
    assert marks((DELETED, TOPICS)).take() == ChangedTopics(None, NONE, None)
    assert marks((CREATED, TOPIC_CONFIGS)).take() == ChangedTopics(NONE, None, None)


def test_only_writes_of_states_are_counted_and_not_their_creation() -> None:
    made = marks(
        (CREATED, state("a")),
        (CHANGED, state("a")),
        (CHANGED, state("a", 1)),
        (CHANGED, state("b")),
        (DELETED, state("a")),
    )
    assert made.take_states(4999) is None
    assert made.take_states(5000) == ZkStatesChanged(5000, 5000, 3, 2, ("a", "b"))
    assert made.take_states(5000) is None


def test_more_names_than_are_kept_are_all_of_them_until_they_are_taken() -> None:
    made = marks(*((CHANGED, state(f"t{n}")) for n in range(NAMES_MAX + 1)))
    taken = made.take_states(5000)
    assert taken == ZkStatesChanged(5000, 5000, NAMES_MAX + 1, NAMES_MAX, ())
    assert made.take() == ChangedTopics(NONE, NONE, None)
    made.add_event(CHANGED, state("t"))
    assert made.take().touched == names("t")


SEGMENTS = st.sampled_from(["", "t", "partitions", "0", "state", "topics", "x"])
PATHS = st.builds(
    lambda branch, rest: "/".join([branch, *rest]),
    st.sampled_from([TOPICS, TOPIC_CONFIGS]),
    st.lists(SEGMENTS, max_size=6),
)


@given(st.lists(st.tuples(st.sampled_from([CREATED, CHANGED, DELETED]), PATHS)))
def test_no_path_is_refused_and_each_marks_something(events: list[tuple[str, str]]) -> None:
    made = marks(*events)
    assert (made.take().touched == NONE) is (not events)
