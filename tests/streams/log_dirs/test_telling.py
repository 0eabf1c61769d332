"""Which disks are news."""

from typing import Any

import pytest

from migration.observed.facts import DisksSeen, DisksUnreachable, LogDirSeen
from streams.log_dirs.compare import is_news

DIR = LogDirSeen("/a", 0, 10_000, 5_000, 3, 1_000, 0, 0, None, True)
LAST = DisksSeen(1000, 2, (DIR,))
DOWN = DisksUnreachable(1000, 2, "refused", (DIR,))


def seen(now_ms: int = 2000, **changed: Any) -> DisksSeen:
    return DisksSeen(now_ms, 2, (DIR._replace(**changed),))


def test_the_first_answer_is_news() -> None:
    assert is_news(None, LAST)
    assert is_news(DOWN, LAST)
    assert is_news(LAST, DOWN)


@pytest.mark.parametrize(
    "changed",
    [{"bytes": 1_009}, {"usable_bytes": 4_951}, {"bytes": 991}, {}],
    ids=str,
)
def test_small_changes_of_size_are_none(changed: dict[str, Any]) -> None:
    assert not is_news(LAST, seen(**changed))


@pytest.mark.parametrize(
    "changed",
    [
        {"bytes": 1_010},
        {"total_bytes": None},
        {"usable_bytes": 4_950},
        {"error": 56},
        {"replicas": 4},
        {"futures": 1},
        {"readable": False},
        {"directory_id": "uSLaubyUxZGsRKrz8FtoCw"},
        {"path": "/b"},
    ],
    ids=str,
)
def test_all_else_is(changed: dict[str, Any]) -> None:
    assert is_news(LAST, seen(**changed))


def test_time_alone_is_none() -> None:
    """It is in the next report (`LogDirsPoller`)."""
    assert not is_news(LAST, seen(3_600_000))


def test_it_is_told_again_when_the_clock_was_set_back() -> None:
    assert is_news(seen(3_600_000), seen(1_000))


def test_each_poll_of_a_move_is_news() -> None:
    """Three polls without progress make a move stuck; KIP-113, "Create DescribeLogDirsResponse"."""
    moving = seen(futures=1)
    assert is_news(moving, moving._replace(seen_ms=3000))
    assert is_news(moving, LAST._replace(seen_ms=3000))


def test_being_down_is_told_once_for_each_reason() -> None:
    assert not is_news(DOWN, DOWN._replace(seen_ms=900_000))
    assert is_news(DOWN, DOWN._replace(why="timed out"))
    assert is_news(DOWN, DOWN._replace(log_dirs=(DIR._replace(readable=False),)))
