"""axe finds nothing: every view, both themes, both sizes, and when it is not the present."""

import re
from typing import get_args

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Page, expect

from tests.orchestrator.views.browser.conftest import Start
from tests.orchestrator.views.browser.desk import LAPTOP, PHONE, VIEWS, Desk, Size, Theme

pytestmark = [pytest.mark.browser, pytest.mark.long(minutes=1)]

SIZES = pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
THEMES = pytest.mark.parametrize("theme", get_args(Theme))
# Those of WCAG 2.2 AA, and what axe calls best practice.
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def _no_violation(page: Page, where: str, theme: Theme = "dark") -> None:
    """All rules in the dark theme; in the light one, whose style differs in colors, contrast."""
    only = {"type": "tag", "values": TAGS}
    if theme == "light":
        only = {"type": "rule", "values": ["color-contrast"]}
    found = Axe().run(page, options={"runOnly": only, "resultTypes": ["violations"]})
    said = [
        f"{where}: {each['id']}: {node['html'][:200]}: {node['failureSummary']}"
        for each in found.response["violations"]
        for node in each["nodes"][:3]
    ]
    assert not said, "\n".join(said)
    assert len(found.response["passes"]) > (20 if theme == "dark" else 0), "it looked"


@SIZES
@THEMES
def test_every_view(desk: Desk, theme: Theme, size: Size) -> None:
    page = desk.open(theme=theme, size=size)
    for view in VIEWS:
        desk.refresh()
        page.goto(f"{desk.served.url}/#/prod/{view}")
        page.wait_for_selector("main .panel")
        if view == "timeline":
            page.wait_for_selector(".chart svg")
        expect(page.locator(".old-band")).to_have_count(0)
        _no_violation(page, view, theme)


@SIZES
@THEMES
def test_the_sheets(desk: Desk, theme: Theme, size: Size) -> None:
    page = desk.open("brokers?broker=2", theme=theme, size=size)
    page.wait_for_selector("table.pending")
    _no_violation(page, "broker", theme)
    page.keyboard.press("Escape")
    page.get_by_test_id("checkpoint").click()
    page.wait_for_selector(".decisions, .evaluation")
    _no_violation(page, "gate", theme)


@SIZES
@THEMES
def test_a_dialog_and_its_refusal(desk: Desk, theme: Theme, size: Size) -> None:
    desk.expected = ["401"]
    page = desk.open(theme=theme, size=size)
    page.get_by_role("button", name="Abort").click()
    dialog = page.locator("dialog.action-dialog")
    _no_violation(page, "dialog", theme)
    dialog.get_by_label("Your name").fill("anna")
    dialog.get_by_label("Why").fill("why not")
    dialog.get_by_label(re.compile("^Type the cluster")).fill("prod")
    dialog.get_by_label("Token").fill("wrong-wrong-wrong-wrong")
    dialog.get_by_role("button", name="Abort the execution").click()
    expect(dialog.get_by_role("alert")).to_be_visible()
    _no_violation(page, "refused", theme)


@SIZES
@THEMES
def test_what_is_not_the_present(desk: Desk, start: Start, theme: Theme, size: Size) -> None:
    desk.served = start()
    desk.expected = ["Failed to load resource"]
    page = desk.open(theme=theme, size=size)
    desk.served.end()
    expect(page.locator(".old-band")).to_be_visible()
    for view in ("overview", "brokers", "directories"):
        page.evaluate("view => (location.hash = `#/prod/${view}`)", view)
        page.wait_for_selector("main .panel")
        _no_violation(page, f"old {view}", theme)


@THEMES
def test_the_settings(desk: Desk, theme: Theme) -> None:
    page = desk.open(theme=theme)
    page.get_by_role("button", name="Settings").click()
    _no_violation(page, "settings", theme)
