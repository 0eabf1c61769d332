"""Everything that a mouse can do is done with the keyboard alone."""

import pytest
from playwright.sync_api import Page, expect

from tests.orchestrator.views.browser.conftest import Start
from tests.orchestrator.views.browser.desk import Desk
from tests.orchestrator.views.console import sample

pytestmark = pytest.mark.browser


def _tab_to(page: Page, wanted: str, most: int = 60) -> None:
    """Press Tab until that has the focus."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("wanted => document.activeElement.matches(wanted)", wanted):
            return
    raise AssertionError(f"{wanted} is not reached within {most} tabs")


def test_the_first_tab_skips_to_what_is_shown(desk: Desk) -> None:
    page = desk.open()
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to what is shown")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    assert "#/prod/overview" in page.url


def test_every_focus_is_seen(desk: Desk) -> None:
    page = desk.open()
    for _ in range(25):
        page.keyboard.press("Tab")
        style = page.evaluate(
            "getComputedStyle(document.activeElement).outlineStyle + document.activeElement.tagName"
        )
        assert not style.startswith("none"), page.evaluate("document.activeElement.outerHTML")


def test_a_broker_is_opened_and_left_and_the_focus_comes_back(desk: Desk) -> None:
    page = desk.open("brokers")
    _tab_to(page, "tr[data-broker='2'] a")
    page.keyboard.press("Enter")
    sheet = page.get_by_role("dialog", name="Broker 2")
    expect(sheet).to_be_visible()
    expect(sheet.get_by_role("heading", name="Broker 2")).to_be_focused()
    for _ in range(12):
        page.keyboard.press("Tab")
        outside = page.evaluate("!!document.activeElement.closest('.body, .top')")
        assert not outside, "the focus stays in the sheet"
    page.keyboard.press("Escape")
    expect(sheet).to_have_count(0)
    expect(page.locator("tr[data-broker='2'] a")).to_be_focused()


def test_the_cells_are_walked_by_arrows(desk: Desk) -> None:
    page = desk.open("directories")
    _tab_to(page, "[role=gridcell]")
    told = page.get_by_test_id("cell-text")
    expect(told).to_contain_text("broker 1, /data/d01")
    page.keyboard.press("ArrowRight")
    expect(told).to_contain_text("broker 1, /data/d02")
    page.keyboard.press("ArrowDown")
    expect(told).to_contain_text("broker 2, /data/d02")
    page.keyboard.press("Control+End")
    expect(told).to_contain_text("broker 4, /data/d02")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Broker 4")).to_be_visible()


def test_the_rows_of_a_large_heat_map_are_walked_too(desk: Desk, start: Start) -> None:
    desk.served = start(shape=sample.BIG, events=100)
    page = desk.open("directories")
    _tab_to(page, ".dense a")
    told = page.get_by_test_id("cell-text")
    page.keyboard.press("PageDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(told).to_contain_text("broker 12, /data/d02")
    page.keyboard.press("End")
    expect(told).to_contain_text("broker 12, /data/d12")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Broker 12")).to_be_visible()


def test_the_axis_is_moved_and_zoomed(desk: Desk) -> None:
    page = desk.open("timeline")
    chart = page.locator(".chart")
    expect(chart).to_be_visible()
    chart.focus()
    page.keyboard.press("+")
    page.wait_for_url("**from=*")
    zoomed = page.url
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("before => location.href !== before", arg=zoomed)
    page.keyboard.press("0")
    page.wait_for_function("() => !location.href.includes('from=')")


def test_single_keys_change_the_view_and_can_be_switched_off(desk: Desk) -> None:
    page = desk.open()
    searchbox = page.get_by_role("searchbox")
    for _ in range(300):  # keys are heard a moment after the page is drawn
        page.keyboard.press("2")
        if searchbox.is_visible():
            break
        page.wait_for_timeout(100)
    expect(searchbox).to_be_visible()
    assert page.url.endswith("/prod/brokers")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.press("3")
    expect(page.get_by_role("searchbox")).to_have_value("3")
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("Single keys").uncheck()
    page.keyboard.press("Escape")
    page.locator("main").focus()
    page.keyboard.press("4")
    assert page.url.endswith("/brokers")


def test_a_dialog_is_filled_and_left_by_keys(desk: Desk) -> None:
    page = desk.open()
    _tab_to(page, ".actions .button")
    page.keyboard.press("Enter")
    dialog = page.locator("dialog.action-dialog")
    expect(dialog.get_by_label("Your name")).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(page.locator(".actions .button").first).to_be_focused()
