"""axe finds nothing: every view, both themes, both sizes, and when it is not the present."""

import re
from itertools import product

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Page, expect

from tests.orchestrator.views.browser.conftest import Start
from tests.orchestrator.views.browser.desk import LAPTOP, PHONE, VIEWS, Desk

pytestmark = [pytest.mark.browser, pytest.mark.long(minutes=1)]

# Those of WCAG 2.2 AA, and what axe calls best practice.
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RULES = {
    "dark": ({"type": "tag", "values": TAGS}, 20),
    # Its style differs in colors.
    "light": ({"type": "rule", "values": ["color-contrast"]}, 0),
}
DRAWN = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def _no_violation(desk: Desk, page: Page, where: str) -> None:
    """In either size and theme; loading the page for each would take most of the time."""
    for size, (theme, (only, passes)) in product((LAPTOP, PHONE), RULES.items()):
        desk.refresh()
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
        page.evaluate(DRAWN)
        found = Axe().run(page, options={"runOnly": only, "resultTypes": ["violations"]})
        said = [
            f"{where}, {theme}, {size}: {each['id']}: {node['html'][:200]}: "
            f"{node['failureSummary']}"
            for each in found.response["violations"]
            for node in each["nodes"][:3]
        ]
        assert not said, "\n".join(said)
        assert len(found.response["passes"]) > passes, "it looked"


def test_every_view(desk: Desk) -> None:
    page = desk.open()
    for view in VIEWS:
        desk.refresh()
        page.goto(f"{desk.served.url}/#/prod/{view}")
        page.wait_for_selector("main .panel")
        if view == "timeline":
            page.wait_for_selector(".chart svg")
        expect(page.locator(".old-band")).to_have_count(0)
        _no_violation(desk, page, view)


def test_the_sheets(desk: Desk) -> None:
    page = desk.open("brokers?broker=2")
    page.wait_for_selector("table.pending")
    _no_violation(desk, page, "broker")
    page.keyboard.press("Escape")
    page.get_by_test_id("checkpoint").click()
    page.wait_for_selector(".decisions, .evaluation")
    _no_violation(desk, page, "gate")


def test_a_dialog_and_its_refusal(desk: Desk) -> None:
    desk.expected = ["401"]
    page = desk.open()
    page.get_by_role("button", name="Abort").click()
    dialog = page.locator("dialog.action-dialog")
    _no_violation(desk, page, "dialog")
    dialog.get_by_label("Your name").fill("anna")
    dialog.get_by_label("Why").fill("why not")
    dialog.get_by_label(re.compile("^Type the cluster")).fill("prod")
    dialog.get_by_label("Token").fill("wrong-wrong-wrong-wrong")
    dialog.get_by_role("button", name="Abort the execution").click()
    expect(dialog.get_by_role("alert")).to_be_visible()
    _no_violation(desk, page, "refused")


def test_what_is_not_the_present(desk: Desk, start: Start) -> None:
    desk.served = start()
    desk.expected = ["Failed to load resource"]
    page = desk.open()
    desk.served.end()
    expect(page.locator(".old-band")).to_be_visible()
    for view in ("overview", "brokers", "directories"):
        page.evaluate("view => (location.hash = `#/prod/${view}`)", view)
        page.wait_for_selector("main .panel")
        _no_violation(desk, page, f"old {view}")


def test_the_settings(desk: Desk) -> None:
    page = desk.open()
    page.get_by_role("button", name="Settings").click()
    _no_violation(desk, page, "settings")
