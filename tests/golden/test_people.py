"""What people read has local times with their zone next to UTC, names, and no digests.

The outputs are the expected files, which `test_golden` holds against what the commands print now.
"""

import re
from pathlib import Path
from typing import Final

import pytest

from tests.golden.drive import OUTPUTS
from tests.golden.test_golden import EXPECTED
from tests.orchestrator.views.report.test_golden import GOLDEN

FOR_PROGRAMS: Final = frozenset({"metrics.txt", "lines.txt"})
"""The lines of a run without a terminal are for a log: their fields are those of the JSON."""
FOR_PEOPLE: Final = [
    each for each in OUTPUTS if each.endswith((".txt", ".md")) and each not in FOR_PROGRAMS
]
FORBIDDEN: Final = {
    "a time in ms since 1970": r"(?<!\d)1[6-9]\d{11}(?!\d)",
    "a digest": r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])",
    "a fingerprint": r"fingerprint=",
    "the level of a metadata.version": r"metadata\.version (is |level )?\d+(?![\d.])",
}
ISO: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")
UTC_ALONE: Final = re.compile(r"(?<!\()\b(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d UTC")


@pytest.mark.parametrize(
    "file",
    [each for each in sorted(EXPECTED.glob("*/*")) if each.name in FOR_PEOPLE],
    ids=lambda each: f"{each.parent.name}-{each.name}",
)
def test_a_text_for_people_has_only_what_people_read(file: Path) -> None:
    text = file.read_text("utf-8")
    for what, pattern in FORBIDDEN.items():
        found = re.search(pattern, text)
        assert found is None, f"{what}: {found and found[0]}"
    assert ISO.search(text) is None
    assert UTC_ALONE.search(text) is None


@pytest.mark.parametrize("name", ["night.html", "night.md"])
def test_a_report_has_no_digest(name: str) -> None:
    text = (GOLDEN / name).read_text("utf-8")
    for what, pattern in FORBIDDEN.items():
        assert re.search(pattern, text) is None, what


def test_the_patterns_find_what_they_forbid() -> None:
    samples = (
        "since_ms=1789999760000",
        f"head sha256:{'0a' * 32}",
        "alert_ended fingerprint=0123456789abcdef",
        "the metadata.version 21 is set",
    )
    for pattern, sample in zip(FORBIDDEN.values(), samples, strict=True):
        assert re.search(pattern, sample)
        assert not re.search(pattern, "metadata.version 3.9-IV0, offset 1439")
    assert ISO.search("at 2026-09-21T14:13:00.000Z")
    assert UTC_ALONE.search("since 2026-09-21 14:13:00 UTC")
    assert not UTC_ALONE.search("2026-09-21 16:13:00 CEST (14:13:00 UTC)")
