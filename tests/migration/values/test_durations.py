"""Durations as a person writes them."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migration.values.durations import NoDuration, format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("5m", 300),
        ("1h30m", 5400),
        ("2d", 172_800),
        ("250ms", 0.25),
        ("1.5h", 5400),
        ("PT5M", 300),
        ("P1DT2H", 93_600),
        ("PT0.5S", 0.5),
    ],
)
def test_a_duration_is_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("5", "the duration 5 has no unit: write 5s, 5m or 5h"),
        (5, "the duration 5 has no unit: write 5s, 5m or 5h"),
        ("5 minutes", "'5 minutes' is not a duration: write it like 90s, 5m, 1h30m or PT5M"),
        ("30m1h", "'30m1h' is not a duration: write it like 90s, 5m, 1h30m or PT5M"),
        ("-5m", "'-5m' is not a duration: write it like 90s, 5m, 1h30m or PT5M"),
        ("PT", "'PT' is not a duration: write it like 90s, 5m, 1h30m or PT5M"),
        ("0s", "the duration 0s must be longer than 0"),
        ("9999999d", "the duration 9999999d is longer than 1000 years"),
        (True, "a duration is text like 90s, 5m or 1h30m, not True"),
        (None, "a duration is text like 90s, 5m or 1h30m, not None"),
    ],
)
def test_what_is_none_is_refused_with_an_example(value: object, said: str) -> None:
    with pytest.raises(NoDuration) as caught:
        parse_duration(value)
    assert str(caught.value) == said


@given(st.integers(1, 10**13))
def test_what_is_written_is_read_back(milliseconds: int) -> None:
    duration = timedelta(milliseconds=milliseconds)
    assert parse_duration(format_duration(duration)) == duration


@given(st.text())
def test_any_text_is_a_duration_or_an_error(text: str) -> None:
    try:
        assert parse_duration(text) > timedelta(0)
    except NoDuration as error:
        assert "duration" in str(error)  # noqa: PT017  # either outcome is right
