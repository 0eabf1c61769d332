"""Local times: in the zone of the process, which is named."""

import time
from collections.abc import Iterator

import pytest

from orchestrator.output.formatting import local_time, zone_text

MS = 1_795_311_000_001  # 2026-11-22T01:30:00.001Z


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("zone", "at", "name"),
    [
        ("UTC", "01:30:00", "UTC"),
        ("CET-1", "02:30:00", "CET (UTC+01:00)"),
        ("NPT-5:45", "07:15:00", "NPT (UTC+05:45)"),
        ("EST5", "20:30:00", "EST (UTC-05:00)"),
    ],
    indirect=["zone"],
)
@pytest.mark.usefixtures("zone")
def test_a_time_is_that_of_the_process_s_zone(at: str, name: str) -> None:
    assert (local_time(MS), zone_text(MS)) == (at, name)
