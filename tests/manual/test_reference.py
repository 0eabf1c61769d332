"""The reference pages are those that the code gives."""

from pathlib import Path

import pytest

from migration.assessment.hazards import HazardKind
from orchestrator.output.manual import HANDBOOK
from orchestrator.reference.hazards import HAZARDS
from orchestrator.reference.pages import PAGES
from tests.orchestrator.notify.rules import alerts


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_as_generated(name: str) -> None:
    page = HANDBOOK / "reference" / f"{name}.md"
    assert page.read_text("utf-8") == PAGES[name](), "run: make reference"


def test_there_is_no_other_page() -> None:
    assert {each.stem for each in (HANDBOOK / "reference").iterdir()} == set(PAGES)


def test_every_hazard_is_described() -> None:
    assert set(HAZARDS) == set(HazardKind)


def test_the_handbook_has_every_alert() -> None:
    text = (Path(HANDBOOK) / "alerts.md").read_text("utf-8")
    rows = {line.split("`")[1] for line in text.splitlines() if line.startswith("| `")}
    assert rows == {each.name for each in alerts()}
