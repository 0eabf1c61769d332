"""Moments as text: every 64-bit number of ms has one, and years that a datetime has read back."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migration.values.timestamps import EARLIEST_MS, LATEST_MS, iso, nearest_datetime, within

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INT64 = st.integers(-(2**63), 2**63 - 1)
_DATED = st.datetimes(timezones=st.just(UTC)).map(
    lambda moment: (moment - _EPOCH) // timedelta(milliseconds=1)
)


@given(_DATED)
def test_a_year_that_a_datetime_has_is_written_as_python_writes_it(moment_ms: int) -> None:
    moment = _EPOCH + timedelta(milliseconds=moment_ms)
    written = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    assert iso(moment_ms) == written
    assert nearest_datetime(moment_ms) == moment or moment.year in {1, 9999}


@pytest.mark.parametrize(
    ("moment_ms", "text"),
    [
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        (253_402_300_800_000, "+010000-01-01T00:00:00.000Z"),
        (LATEST_MS, "+275760-09-13T00:00:00.000Z"),
        (EARLIEST_MS, "-271821-04-20T00:00:00.000Z"),
        (2**63 - 1, "+292278994-08-17T07:12:55.807Z"),
        (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
        (-62_167_219_200_001, "-000001-12-31T23:59:59.999Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
    ],
)
def test_other_years_are_expanded_as_ecmascript_and_java_do(moment_ms: int, text: str) -> None:
    assert iso(moment_ms) == text


@given(_INT64, _INT64)
def test_what_is_computed_with_stays_within_64_bits(one_ms: int, other_ms: int) -> None:
    first, second = within(one_ms), within(other_ms)
    assert -(2**63) <= first - second < 2**63
    assert (first <= second) == (one_ms <= other_ms) or first == second
    assert within(first) == first


@given(_INT64)
def test_plots_get_the_nearest_moment_that_a_datetime_has(moment_ms: int) -> None:
    assert 2 <= nearest_datetime(moment_ms).year <= 9999
