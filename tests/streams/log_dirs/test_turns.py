"""Whose turn it is."""

import pytest

from streams.log_dirs.schedule import Schedule

PATHS = frozenset({"/a", "/b"})


@pytest.fixture
def turns() -> Schedule:
    made = Schedule(interval_s=10.0, eager_s=1.0, eager_for_s=30.0)
    made.expect([1, 2, 3], 0.0)
    return made


def poll(
    turns: Schedule, broker: int, now_s: float, paths: frozenset[str] | None = PATHS
) -> list[int]:
    turns.begin(broker)
    return turns.finish(broker, now_s, paths)


def test_everybody_is_due_at_first_but_only_so_many_at_a_time(turns: Schedule) -> None:
    assert turns.due(0.0, 2) == [1, 2]
    turns.begin(1)
    assert turns.due(0.0, 2) == [2]
    turns.begin(2)
    assert turns.due(0.0, 2) == []


def test_who_answers_is_due_after_the_interval(turns: Schedule) -> None:
    poll(turns, 1, 5.0)
    assert 1 not in turns.due(14.9, 9)
    assert 1 in turns.due(15.0, 9)


def test_who_is_down_is_asked_eagerly_until_it_seems_to_have_left(turns: Schedule) -> None:
    poll(turns, 1, 5.0, None)
    assert 1 in turns.due(6.0, 9)
    poll(turns, 1, 700.0, None)
    assert 1 not in turns.due(701.0, 9)
    assert 1 in turns.due(710.0, 9)


@pytest.mark.parametrize("was", [None, frozenset({"/a"})], ids=["down", "other paths"])
def test_who_has_just_come_is_asked_eagerly_for_a_while(
    turns: Schedule, was: frozenset[str] | None
) -> None:
    poll(turns, 1, 5.0, was)
    poll(turns, 1, 6.0)
    assert turns.is_eager(1, 7.0)
    assert not turns.is_settled(1, 7.0)
    assert 1 in turns.due(7.0, 9)
    poll(turns, 1, 36.0)
    assert not turns.is_eager(1, 36.0)
    assert turns.is_settled(1, 36.0)
    assert 1 not in turns.due(37.0, 9)


def test_a_request_is_answered_by_polls_that_begin_after_it(turns: Schedule) -> None:
    turns.begin(1)
    turns.request(7, [1, 2], 1.0, about=1)
    assert turns.finish(1, 2.0, PATHS) == []
    assert 1 in turns.due(2.0, 9)
    assert poll(turns, 2, 3.0) == []
    assert poll(turns, 1, 3.0, None) == [7]
    assert not turns.open_tickets


def test_a_request_about_nobody_is_answered_at_once(turns: Schedule) -> None:
    turns.request(7, [99], 1.0, about=99)
    assert turns.take_answered() == [7]


def test_only_whom_a_request_is_about_is_asked_eagerly_for_it(turns: Schedule) -> None:
    for each in (1, 2):
        poll(turns, each, 0.0)
    turns.request(7, [1, 2], 1.0, about=1)
    assert set(turns.due(1.0, 9)) >= {1, 2}
    assert (turns.is_eager(1, 2.0), turns.is_eager(2, 2.0)) == (True, False)
