"""When sources report: at the same moments in a process, at others in the next process."""

import time

import pytest

from streams.process import background
from streams.process.background import REPORT_S, interval_of, shift_intervals, until_next

NOW_S = 1_000_000_000.0


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: NOW_S)
    monkeypatch.setattr(background, "_shift_s", 0.0)


@pytest.mark.parametrize("shift_s", [0.0, 6.0, 24.0])
def test_an_interval_ends_when_the_next_one_begins(shift_s: float) -> None:
    shift_intervals(shift_s)
    end_ms = round((NOW_S + until_next(REPORT_S)) * 1000)
    assert interval_of(end_ms, REPORT_S) == interval_of(end_ms - 1, REPORT_S) + 1
    assert (end_ms / 1000 - shift_s) % REPORT_S == 0
