"""How old data is."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migration.observed.source_status import (
    NO_STATUS,
    STALE_AFTER_MS,
    SourceStatus,
    behind,
    is_current,
    over_no_ops,
    stale_ms,
)
from migration.values.durations import duration_text
from tests.migration.assessment.test_waits import NOW

maybe = st.none() | st.integers(0, 2**62)
words = st.none() | st.text()
statuses = st.builds(
    SourceStatus,
    observed_ms=st.integers(0, 2**62),
    last_reply_ms=maybe,
    log=st.integers(1, 9),
    next_offset=maybe,
    high_watermark=maybe,
    active_controller=maybe,
    leader_epoch=maybe,
    endpoint=words,
    cluster_id=words,
    waiting=words,
    error=words,
    finished=st.booleans(),
    limits=st.lists(st.text(), max_size=2).map(tuple),
)


@given(statuses, st.integers(0, 2**62))
def test_only_a_recent_answer_is_current(status: SourceStatus, now: int) -> None:
    if is_current(status, now):
        assert status.error is None
        age = stale_ms(status, now)
        assert status.finished or (age is not None and age <= STALE_AFTER_MS)
    assert not is_current(NO_STATUS, now)


def test_an_answer_of_before_the_clock_was_set_back_is_not_recent() -> None:
    answered = SourceStatus(observed_ms=NOW, last_reply_ms=NOW + STALE_AFTER_MS)
    assert is_current(answered, NOW)
    assert not is_current(replace(answered, last_reply_ms=NOW + STALE_AFTER_MS + 1), NOW)
    assert not is_current(answered, NOW - STALE_AFTER_MS - 1)


def test_behind_counts_what_is_committed_and_unread() -> None:
    status = SourceStatus(observed_ms=NOW, high_watermark=10)
    assert behind(status, None) == 10
    assert behind(status, 8) == 1
    assert behind(status, 9) == 0
    assert behind(status, 30) == 0
    assert behind(NO_STATUS, 5) == 0


@pytest.mark.parametrize(
    ("offset", "end", "fetched", "busy_until", "reached"),
    [
        (89, 100, 100, 90, 99),
        (95, 100, 100, 90, 99),
        (120, 100, 100, 90, 120),
        (88, 100, 100, 90, 88),
        (89, 100, 99, 90, 98),  # the last record is not fetched yet
        (89, 100, 80, 90, 89),
        (89, 100, None, 90, 89),
        (89, 100, 100, None, 89),
        (89, None, 100, 90, 89),
        (None, 100, 100, 0, None),
    ],
)
def test_only_no_ops_are_passed_over(
    offset: int | None,
    end: int | None,
    fetched: int | None,
    busy_until: int | None,
    reached: int | None,
) -> None:
    status = SourceStatus(
        observed_ms=NOW, high_watermark=end, next_offset=fetched, busy_until=busy_until
    )
    assert over_no_ops(status, offset) == reached


@given(st.integers(-(10**6), 10**12))
def test_a_duration_reads_in_at_most_two_units(duration_ms: int) -> None:
    text = duration_text(duration_ms)
    assert 2 <= len(text.split()) <= 4
    assert not text.startswith("-")
