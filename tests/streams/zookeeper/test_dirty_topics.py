"""What was touched is read soon, and once more when what was found may count."""

from migration.comparison.differences import LASTS_MS
from streams.zookeeper.dirty_topics import AGAIN_S, SOON_S, DirtyTopics
from streams.zookeeper.watch_events import NAMES_MAX

NOTHING = (frozenset[str](), frozenset[str]())


def names(*some: str) -> frozenset[str]:
    return frozenset(some)


def test_what_was_touched_waits_for_what_belongs_to_it_but_not_for_more_of_it() -> None:
    dirty = DirtyTopics()
    dirty.touch(names("a"), 0.0)
    dirty.touch(names("a", "b"), SOON_S / 2)
    assert dirty.take(SOON_S / 2) == NOTHING
    assert dirty.take(SOON_S) == (names("a"), names("a"))
    assert dirty.take(2 * SOON_S) == (names("b"), names("b"))
    assert dirty.take(1e9) == NOTHING


def test_what_was_read_is_read_once_more_when_a_difference_may_count() -> None:
    assert AGAIN_S * 1000 > LASTS_MS
    dirty = DirtyTopics()
    dirty.read(names("a"), 100.0)
    assert dirty.take(100.0 + LASTS_MS / 1000) == NOTHING
    assert dirty.take(100.0 + AGAIN_S) == (names("a"), frozenset())


def test_a_whole_reading_stands_for_all_and_what_was_touched_is_read_again() -> None:
    dirty = DirtyTopics()
    dirty.touch(names("a"), 0.0)
    assert dirty.take(0.0, whole=True) == (None, names("a"))
    assert dirty.take(1e9) == NOTHING


def test_too_many_are_all_of_them_and_none_is_kept() -> None:
    dirty = DirtyTopics()
    dirty.touch(names(*(f"t{n}" for n in range(NAMES_MAX))), 0.0)
    dirty.touch(names("one more"), 0.0)
    dirty.touch(names("and another"), 0.0)
    assert dirty.take(0.0) == (None, frozenset())
    assert dirty.take(1e9) == NOTHING


def test_all_is_all_at_once() -> None:
    dirty = DirtyTopics()
    dirty.touch(None, 0.0)
    assert dirty.take(0.0) == (None, frozenset())


def test_what_is_forgotten_is_not_read() -> None:
    dirty = DirtyTopics()
    dirty.touch(names("a"), 0.0)
    dirty.read(names("b"), 0.0)
    dirty.forget()
    assert dirty.take(1e9) == NOTHING
