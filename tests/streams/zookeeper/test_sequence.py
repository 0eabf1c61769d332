"""The count of creations comes back from what ZooKeeper shows, and every number gets its run."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.zookeeper.sequence import creations, notification_number, runs


@given(created=st.integers(0, 2**29), gone=st.integers(0, 2**29))
def test_creations_come_back_from_cversion_and_children(created: int, gone: int) -> None:
    children = max(0, created - gone)
    cversion = 2 * created - children  # DataNode.copyStat
    assert creations(cversion, children) == created


@given(first=st.integers(0, 50), length=st.integers(0, 50), read=st.sets(st.integers(0, 120)))
def test_runs_cover_every_number_once_and_in_order(first: int, length: int, read: set[int]) -> None:
    end = first + length
    parted = list(runs(first, end, read))
    numbers = [n for run in parted for n in range(run.first, run.first + run.number)]
    assert numbers == list(range(first, end))
    assert {run.first for run in parted if run.read} == {n for n in read if first <= n < end}
    assert all(run.number == 1 for run in parted if run.read)
    missed = [run for run in parted if not run.read]
    assert all(a.first + a.number < b.first for a, b in pairwise(missed))


def test_a_long_absence_is_one_run() -> None:
    assert [(run.first, run.number) for run in runs(3, 2**31, [])] == [(3, 2**31 - 3)]


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("/log_dir_event_notification/log_dir_event_0000000012", 12),
        ("/log_dir_event_notification/log_dir_event_2147483647", 2**31 - 1),
        ("/log_dir_event_notification/log_dir_event_12", None),
        ("/log_dir_event_notification/log_dir_event_-000000012", None),
        ("/log_dir_event_notification/other_0000000012", None),
        ("/log_dir_event_notification", None),
        ("/other/log_dir_event_0000000012", None),
    ],
)
def test_only_a_notification_has_a_number(path: str, number: int | None) -> None:
    """KIP-589, "Motivation": the znodes below /log_dir_event_notification."""
    assert notification_number(path) == number
