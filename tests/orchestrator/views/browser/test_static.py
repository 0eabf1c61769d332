"""The page's files: nothing from elsewhere but what is named, and nothing stale unseen."""

import re
from pathlib import Path

import orchestrator.views.console
from orchestrator.views.console.web.manual import rendered
from tests.orchestrator.views.browser.typedefs import typedefs

STATIC = Path(orchestrator.views.console.__file__).parent / "static"
OWN = sorted([*STATIC.glob("*.js"), *STATIC.glob("js/*.js")])


def test_the_types_are_those_of_the_server() -> None:
    """`python -m tests.orchestrator.views.browser.typedefs > .../js/types.js` writes them."""
    assert (STATIC / "js/types.js").read_text("utf-8") == typedefs()


def test_every_module_is_asked_for_at_once() -> None:
    """Over a VPN one that is found by another's import costs a journey more."""
    page = (STATIC / "index.html").read_text("utf-8")
    asked = set(re.findall(r'modulepreload" href="static/([^"]+)"', page))
    there = {str(each.relative_to(STATIC)) for each in OWN if each.parent.name == "js"}
    there |= {str(each.relative_to(STATIC)) for each in STATIC.glob("vendor/*.mjs")}
    assert asked == there - {"js/types.js"}


def test_every_style_is_asked_for() -> None:
    pages = (STATIC / "index.html").read_text("utf-8") + rendered("rollback")
    asked = set(re.findall(r'stylesheet" href="(?:../)?static/([^"]+)"', pages))
    assert asked == {str(each.relative_to(STATIC)) for each in STATIC.glob("css/*.css")}


def test_nothing_is_fetched_from_elsewhere() -> None:
    for each in [*STATIC.glob("*.html"), *STATIC.glob("css/*.css"), *OWN]:
        text = each.read_text("utf-8").replace("http://www.w3.org/", "")
        assert not re.search(r"https?://|//[\w-]+\.\w+/", text), each.name


def test_the_policy_is_kept_by_construction() -> None:
    """No script or style in the page, no text that becomes HTML or code."""
    page = (STATIC / "index.html").read_text("utf-8")
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", page) == []
    for each in OWN:
        text = each.read_text("utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|eval\(|new Function", text), each


def test_each_part_is_small() -> None:
    for each in [*OWN, *STATIC.glob("css/*.css")]:
        lines = len(each.read_text("utf-8").splitlines())
        assert lines <= 280 or each.name == "types.js", f"{each.name}: {lines} lines"
