"""Local times: in the zone of the process, which is named."""

import time
from collections.abc import Iterator

import pytest

from orchestrator.output.formatting import (
    for_people,
    local_clock,
    local_time,
    local_times,
    moment_text,
    zone_text,
)

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


@pytest.mark.parametrize(
    ("zone", "moment"),
    [
        ("UTC", "2026-11-22 01:30:00 UTC"),
        ("CET-1", "2026-11-22 02:30:00 CET (01:30:00 UTC)"),
        ("<+0545>-5:45", "2026-11-22 07:15:00 UTC+05:45 (01:30:00 UTC)"),
        ("EST5", "2026-11-21 20:30:00 EST (2026-11-22 01:30:00 UTC)"),
    ],
    indirect=["zone"],
)
@pytest.mark.usefixtures("zone")
def test_a_time_in_a_text_is_shown_in_the_zone_and_in_utc(moment: str) -> None:
    assert moment_text(MS) == moment
    assert moment.split()[1] in local_clock(MS)
    for utc in ("2026-11-22T01:30:00.001Z", "2026-11-22T01:30:00Z", "2026-11-22 01:30:00 UTC"):
        assert local_times(f"(held since {utc}, {utc})") == f"(held since {moment}, {moment})"


@pytest.mark.parametrize("zone", ["CET-1"], indirect=True)
@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize(
    "text",
    [
        "2026-11-22 02:30:00 CET (01:30:00 UTC)",
        "since 2026-02-30T01:30:00.000Z",
        "+012345-01-01T00:00:00.000Z",
        "2026-11-22 01:30:00.001",
        "topic-2026-11-22T01:30:00Zulu",
    ],
)
def test_a_text_without_a_time_in_utc_stays(text: str) -> None:
    assert local_times(text) == text


def test_fields_for_people_have_no_digest_and_no_ms() -> None:
    fields = {"sha256": "ab", "fingerprint": "cd", "since_ms": MS, "took_ms": 1_500, "at": 3}
    assert for_people(fields) == {"since": "2026-11-22 01:30:00 UTC", "took": "1 s", "at": 3}
