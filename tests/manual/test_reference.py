"""The reference pages are those that the code gives."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from migration.assessment.hazards import HazardKind
from orchestrator.output.manual import HANDBOOK
from orchestrator.reference.hazards import HAZARDS
from orchestrator.reference.pages import PAGES
from tests.manual.pages import ROOT
from tests.orchestrator.notify.rules import alerts


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_as_generated(name: str) -> None:
    page = HANDBOOK / "reference" / f"{name}.md"
    assert page.read_text("utf-8") == PAGES[name](), "run: make reference"


def test_there_is_no_other_page() -> None:
    assert {each.stem for each in (HANDBOOK / "reference").iterdir()} == set(PAGES)


def test_every_hazard_is_described() -> None:
    assert set(HAZARDS) == set(HazardKind)


def literals() -> Iterator[tuple[str, str]]:
    """Kind and blocked step of each `Hazard(...)` in the code that names both."""
    for file in sorted((ROOT / "migration").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "Hazard":
                given = {each.arg: ast.unparse(each.value) for each in node.keywords}
                kind = given.get("kind", "").removeprefix("HazardKind.")
                blocks = given.get("blocks", "").removeprefix("Action.")
                if kind.isupper() and blocks.isupper():
                    yield kind, blocks


def test_the_page_of_hazards_says_what_the_code_blocks() -> None:
    found = list(literals())
    assert found
    for kind, blocks in found:
        assert blocks in {each.name for each in HAZARDS[HazardKind[kind]].blocks}, kind


def test_the_handbook_has_every_alert() -> None:
    text = (Path(HANDBOOK) / "alerts.md").read_text("utf-8")
    rows = {line.split("`")[1] for line in text.splitlines() if line.startswith("| `")}
    assert rows == {each.name for each in alerts()}
