"""What is known is what the facts add up to, all of them or only those that a journal keeps."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from migration.observed.facts import (
    DisksUnreachable,
    NotificationsMissed,
    ZnodeGone,
    ZnodeSeen,
    ZooKeeperBlind,
    ZooKeeperFact,
    ZooKeeperSeen,
)
from migration.observed.topic_facts import ZkConfigSeen, ZkStatesChanged, ZkTopicsFound
from migration.observed.znodes import NOTIFICATIONS
from streams.zookeeper.known import Known
from tests.streams.zookeeper.watching import EVENT


def seen(path: str, ms: int = 1, mzxid: int = 1) -> ZnodeSeen:
    return ZnodeSeen(ms, path, b"", 0, mzxid, 0, 0)


PATHS = st.sampled_from(["/controller", "/brokers/ids/1", NOTIFICATIONS]) | st.integers(0, 20).map(
    lambda n: f"{EVENT}{n:010d}"
)
MS = st.integers(1, 9)
FACTS = st.lists(
    st.builds(seen, PATHS, MS, st.integers(1, 5))
    | st.builds(ZnodeGone, MS, PATHS)
    | st.builds(NotificationsMissed, MS, st.integers(0, 20), st.integers(0, 3))
    | st.builds(ZooKeeperBlind, MS, st.just("lost"))
    | st.builds(ZooKeeperSeen, MS, st.just("h:1"), st.just(1), st.none() | MS, st.just(1))
    | st.builds(ZkConfigSeen, MS, st.just("/config/topics/t"), st.just(()), MS, MS)
    | st.builds(ZnodeGone, MS, st.just("/config/topics/t"))
    | st.builds(ZkTopicsFound, MS, MS, MS)
    | st.builds(ZkStatesChanged, MS, MS, MS, MS, st.just(()))
)


@given(facts=FACTS, more=FACTS)
def test_its_own_facts_add_up_to_it(facts: list[ZooKeeperFact], more: list[ZooKeeperFact]) -> None:
    known = Known(facts)
    again = Known(known.facts())
    assert again == known
    assert (again.sees, again.blind_since_ms) == (known.sees, known.blind_since_ms)
    for fact in more:
        known.take(fact)
        again.take(fact)
    assert again.next_notification == known.next_notification
    assert again.below(NOTIFICATIONS) == known.below(NOTIFICATIONS)
    for path in ("/controller", "/config/topics/t"):
        assert again.kept(path) == known.kept(path)
    assert again.topics_found == known.topics_found


def after(*facts: ZooKeeperFact) -> int | None:
    return Known(facts).next_notification


def test_notifications_are_accounted_for_by_each_of_their_facts() -> None:
    """KIP-589, "Motivation": the controller deletes what it read."""
    twelve = f"{EVENT}0000000012"
    assert after() is None
    assert after(seen(twelve)) == 13
    assert after(ZnodeGone(1, twelve)) == 13
    assert after(NotificationsMissed(1, 10, 5)) == 15
    assert after(seen(twelve), ZnodeGone(1, f"{EVENT}0000000003")) == 13


def test_none_missed_says_where_the_counting_stands() -> None:
    assert after(NotificationsMissed(1, 37, 0)) == 37
    assert after(seen(f"{EVENT}0000000012"), NotificationsMissed(1, 0, 0)) == 0


def test_a_parent_that_is_gone_begins_at_0() -> None:
    assert after(seen(f"{EVENT}0000000012"), ZnodeGone(1, NOTIFICATIONS)) == 0


def test_blind_since_the_first_word_of_it() -> None:
    known = Known([ZooKeeperSeen(1, "h:1", 1, None, 1), ZooKeeperBlind(5, "a")])
    known.take(ZooKeeperBlind(7, "b"))
    assert (known.sees, known.blind_since_ms) == (False, 5)
    known.take(ZooKeeperSeen(9, "h:1", 2, 5, 1))
    assert (known.sees, known.blind_since_ms) == (True, None)


def test_never_seen_is_not_seeing() -> None:
    known = Known([seen("/controller")])
    assert (known.sees, known.blind_since_ms) == (False, None)


def test_other_sources_change_nothing() -> None:
    facts: Sequence[ZooKeeperFact] = [seen("/controller")]
    known = Known(facts).take(DisksUnreachable(99, 1, "off", ()))
    assert known == Known(facts)
    assert known.latest_ms == 1
