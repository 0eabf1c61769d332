"""Every relative link of every Markdown page leads to a file, and to a heading in it."""

import re
from pathlib import Path

import pytest

from tests.manual.pages import HANDBOOK, ROOT, anchors, pages, shown_to_users


@pytest.mark.parametrize("page", pages(), ids=lambda each: str(each.relative_to(ROOT)))
def test_links_resolve(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        file = (page.parent / target) if target else page
        assert file.exists(), link
        if anchor:
            assert anchor in anchors(file), link


def test_the_index_of_the_handbook_has_every_page() -> None:
    index, *others = shown_to_users()[1:]
    assert index.name == "README.md"
    linked = set(re.findall(r"\]\(([\w-]+\.md)\)", index.read_text("utf-8")))
    assert linked == {each.name for each in others}


@pytest.mark.parametrize(
    "page",
    [*sorted((ROOT / ".github").glob("*.md")), HANDBOOK / "proposals.md"],
    ids=lambda each: each.stem,
)
def test_the_files_that_readers_are_sent_to_exist(page: Path) -> None:
    named = re.findall(r"`(\w+(?:/[\w.-]+)+)`", page.read_text("utf-8"))
    assert [each for each in named if not (ROOT / each).exists()] == []
