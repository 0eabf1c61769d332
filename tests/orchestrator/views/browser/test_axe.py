"""axe finds nothing: every view, both themes, both sizes, every state, and stale data."""

import re
from itertools import cycle, product

import pytest
from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]
from playwright.sync_api import Page, expect

from tests.orchestrator.views.browser.conftest import Start
from tests.orchestrator.views.browser.desk import LAPTOP, PHONE, VIEWS, Desk, Size, Theme
from tests.orchestrator.views.browser.states import STATES, drawn, enter, views

pytestmark = [pytest.mark.browser, pytest.mark.long(minutes=1)]

# Those of WCAG 2.2 AA, and what axe calls best practice.
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RULES: dict[Theme, tuple[dict[str, object], int]] = {
    "dark": ({"type": "tag", "values": TAGS}, 20),
    # Its style differs in colors.
    "light": ({"type": "rule", "values": ["color-contrast"]}, 0),
}


def _no_violation(desk: Desk, page: Page, where: str) -> None:
    """In either size and theme; loading the page for each would take most of the time."""
    for size, (theme, (only, passes)) in product((LAPTOP, PHONE), RULES.items()):
        desk.refresh()
        _looks(page, theme, size)
        assert _passes(page, f"{where}, {theme}, {size}", only) > passes, "it looked"


def _looks(page: Page, theme: Theme, size: Size) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.emulate_media(color_scheme=theme)
    drawn(page)


def _passes(page: Page, where: str, only: dict[str, object], part: str | None = None) -> int:
    """How many rules hold, where none is violated; `part`: of the page, all of it otherwise.

    The page keeps the script, which is large, from the first time on.
    """
    options = {"runOnly": only, "resultTypes": ["violations"]}
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate(
        "([part, options]) => axe.run(part ?? document, options)", [part, options]
    )
    said = [
        f"{where}: {each['id']}: {node['html'][:200]}: {node['failureSummary']}"
        for each in found["violations"]
        for node in each["nodes"][:3]
    ]
    assert not said, "\n".join(said)
    return len(found["passes"])


def test_every_view(desk: Desk) -> None:
    page = desk.open()
    for view in VIEWS:
        page.goto(f"{desk.served.url}/#/prod/{view}")
        page.wait_for_selector("main .panel")
        if view == "timeline":
            page.wait_for_selector(".chart svg")
        desk.until_present(page)
        _no_violation(desk, page, view)


def test_every_state(desk: Desk, start: Start) -> None:
    """In one theme and size each, in turn; the top of the page, with the state, in both.

    `held` is the state of the other tests; brokers and timeline have nothing that the others lack.
    """
    desk.served = start()
    page = desk.open()
    looks = cycle(product(RULES, (LAPTOP, PHONE)))
    (tags, _), (contrast, _) = RULES["dark"], RULES["light"]
    for state in sorted(STATES.keys() - {"held"}):
        enter(desk, STATES[state], page)
        for theme in RULES:
            _looks(page, theme, LAPTOP)
            assert _passes(page, f"{state}, {theme}", contrast, ".now")
        theme, size = next(looks)
        _looks(page, theme, size)
        for view in views(desk, page):
            if view not in ("brokers", "timeline"):
                where = f"{state}, {view}, {theme}, {size}"
                assert _passes(page, where, tags, "main" if view != "overview" else None)


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
