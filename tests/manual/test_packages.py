"""Every package says in a README what it holds, in a screen, and names only files that exist."""

import re
from pathlib import Path

import pytest

from tests.manual.pages import ROOT

LINES_MAX = 40
SMALL = 3
"""Packages of so few files need no page."""
PARTS = {"schema", "content"}
"""Packages that the page of their parent describes."""


def packages() -> list[Path]:
    """The packages that need a page."""
    found = []
    for top in ("migration", "streams", "orchestrator"):
        for each in sorted((ROOT / top).rglob("__init__.py")):
            many = len(list(each.parent.glob("*.py"))) > SMALL or each.parent.parent == ROOT
            if top == "orchestrator":  # the page of a package describes those below it
                many = each.parent.parent in (ROOT, ROOT / top)
            if many and each.parent.name not in PARTS:
                found.append(each.parent)
    return found


@pytest.mark.parametrize("package", packages(), ids=lambda each: str(each.relative_to(ROOT)))
def test_a_package_has_its_page(package: Path) -> None:
    page = package / "README.md"
    text = page.read_text("utf-8")
    name = str(package.relative_to(ROOT)).replace("/", ".")
    assert text.startswith(f"# {name}\n")
    assert text.count("\n") <= LINES_MAX
    for file in re.findall(r"`([\w/.-]+\.(?:py|md|yaml))`", text):
        assert (package / file).exists() or (ROOT / file).exists(), file
