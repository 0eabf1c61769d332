"""Every package says in a README what it holds, in a screen, and names only files that exist."""

import re
from pathlib import Path

import pytest

from tests.manual.pages import ROOT

LINES_MAX = 40


def packages() -> list[Path]:
    """The packages of two modules or more."""
    found = []
    for top in ("migration",):
        for each in sorted((ROOT / top).rglob("__init__.py")):
            if len(list(each.parent.glob("*.py"))) > 2 or each.parent.parent == ROOT:
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
