"""The bounds of the notifications: the share that is missed, and the plain watch, in each run."""

from tests.bench.notifications import figures


def test_one_of_a_hundred_may_be_missed() -> None:
    assert figures([(99, 1, 98), (99, 1, 99)], 100)[1].within
    assert not figures([(100, 0, 98), (100, 0, 98), (98, 2, 98)], 100)[1].within


def test_the_plain_watch_is_never_ahead() -> None:
    """Not in the median: in no run."""
    assert figures([(99, 1, 99), (100, 0, 90)], 100)[-1].within
    assert not figures([(99, 1, 100), (100, 0, 90), (100, 0, 90)], 100)[-1].within
