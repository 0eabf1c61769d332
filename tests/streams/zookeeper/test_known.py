"""What is known is what the facts add up to."""

from migration.observed.facts import (
    DisksUnreachable,
    NotificationsMissed,
    ZnodeGone,
    ZnodeSeen,
    ZooKeeperBlind,
    ZooKeeperFact,
    ZooKeeperSeen,
)
from migration.observed.znodes import NOTIFICATIONS
from streams.zookeeper.known import Known
from tests.streams.zookeeper.watching import EVENT


def seen(path: str, ms: int = 1, mzxid: int = 1) -> ZnodeSeen:
    return ZnodeSeen(ms, path, b"", 0, mzxid, 0, 0)


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
    known = Known([seen("/controller")]).take(DisksUnreachable(99, 1, "off", ()))
    assert known.latest_ms == 1
