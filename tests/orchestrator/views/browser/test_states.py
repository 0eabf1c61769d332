"""Each state that an operator meets: distinct at a glance, and readable on a phone."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.orchestrator.views.browser.desk import PHONE, Desk
from tests.orchestrator.views.browser.states import STATES, enter, views
from tests.support.polling import until

pytestmark = [pytest.mark.browser, pytest.mark.long(minutes=0.75)]

NEEDS = {
    "held": "Waiting, nobody has to act",
    "failed-directory": "Something is wrong",
    "failed-step": "Something is wrong",
    "by-hand": "Your turn",
    "approval": "Your turn",
    "rolled-back": "Nothing to do",
    "finalized": "Nothing to do",
}
PRIMARY = {
    "failed-step": "Repeat the step",
    "by-hand": "Done",
    "approval": "Approve",
}
"""The one button that the headline asks for; elsewhere none is."""

# What is wider than its place: the page, or an element that hides the rest of its content.
WIDE = """() => {
  const cut = (each) => {
    const { overflowX, textOverflow, clipPath } = getComputedStyle(each);
    if (!["hidden", "clip"].includes(overflowX) || textOverflow === "ellipsis") return false;
    return clipPath === "none" && each.scrollWidth > each.clientWidth + 1;
  };
  const root = document.documentElement;
  const found = [...document.querySelectorAll("#app *")].filter(cut).map((each) => each.className);
  return root.scrollWidth > root.clientWidth ? [`page: ${root.scrollWidth}`, ...found] : found;
}"""


def test_nothing_is_wider_than_a_phone_in_any_state(desk: Desk) -> None:
    page = desk.open(size=PHONE)
    for state, scene in STATES.items():
        enter(desk, scene, page)
        for view in views(desk, page):
            assert page.evaluate(WIDE) == [], f"{state}, {view}"


def test_the_tabs_show_that_there_are_more(desk: Desk) -> None:
    page = desk.open(size=PHONE)
    tabs = page.get_by_role("navigation", name="Views")
    expect(tabs).to_have_attribute("data-after", "true")
    expect(tabs).to_have_attribute("data-before", "false")

    def is_at_the_end() -> bool:
        page.keyboard.press("6")  # the page may listen a moment after it is drawn
        return tabs.get_attribute("data-before") == "true"

    until(is_at_the_end)
    expect(tabs).to_have_attribute("data-after", "false")
    here, screen = tabs.get_by_role("link", name="Hazards").bounding_box(), PHONE[0]
    assert here is not None
    assert 0 <= here["x"] < here["x"] + here["width"] <= screen
    page.set_viewport_size({"width": 1280, "height": 800})
    expect(tabs).to_have_attribute("data-before", "false")


def test_the_states_are_told_apart_by_words_and_by_one_button(desk: Desk) -> None:
    page = desk.open()
    for state, scene in STATES.items():
        enter(desk, scene, page)
        expect(page.get_by_test_id("need")).to_have_text(NEEDS[state])
        asked = page.locator(".actions .button.primary")
        expect(asked).to_have_count(int(state in PRIMARY))
        if state in PRIMARY:
            expect(asked).to_have_text(f"{PRIMARY[state]}…")


def test_a_failed_step_shows_why_and_what_can_be_decided(desk: Desk) -> None:
    page = desk.open()
    enter(desk, "failed-step", page)
    top = page.get_by_role("region", name="Now")
    expect(top.get_by_test_id("why")).to_have_text("the hook ended with exit code 1")
    expect(top.get_by_label("The last lines")).to_contain_text("is in state failed")
    for action in ("Repeat the step", "Done", "Skip", "Roll back", "Abort"):
        expect(top.get_by_role("button", name=f"{action}…")).to_be_enabled()
    for action, label in (
        ("Skip", "Skip brokers-kraft"),
        ("Roll back", "Roll back from brokers-kraft"),
    ):
        top.get_by_role("button", name=f"{action}…").click()
        dialog = page.locator("dialog.action-dialog")
        expect(dialog.get_by_label("Why")).to_have_attribute("required", "")
        expect(dialog.get_by_label(re.compile("^Type the cluster"))).to_be_visible()
        expect(dialog.get_by_role("button", name=label)).to_be_visible()
        page.keyboard.press("Escape")
    top.get_by_role("button", name="Repeat the step…").click()
    _sign(desk, page)
    dialog.get_by_role("button", name="Repeat the step brokers-kraft[2] in prod").click()
    expect(page.locator(".toast")).to_contain_text("brokers-kraft[2]")


def test_an_execution_that_ended_begins_again(desk: Desk) -> None:
    page = desk.open()
    enter(desk, "rolled-back", page)
    page.get_by_role("button", name="Begin").click()
    _sign(desk, page)
    page.get_by_role("button", name="Begin the execution in prod").click()
    expect(page.locator(".toast")).to_contain_text("a new execution of zk-to-kraft-jbod")


def test_each_alert_and_hazard_leads_to_its_page(desk: Desk) -> None:
    page = desk.open("hazards")
    enter(desk, "failed-directory", page)
    links = page.locator("main .way-out a")
    expect(links.filter(has_text="KraftgateLogDirOffline: what to do")).to_have_count(1)
    pages = [each.get_attribute("href") or "" for each in links.all()]
    assert len(pages) >= 3, pages
    for each in pages:
        path, _, part = each.partition("#")
        answer = page.request.get(f"{desk.served.url}/{path}")
        assert answer.ok, each
        assert not part or f'id="{part}"' in answer.text(), each


def test_directories_say_what_they_hold(desk: Desk) -> None:
    page = desk.open("directories")
    enter(desk, "failed-directory", page)
    cells = page.locator("[role=row]").nth(1).get_by_role("gridcell")
    kinds = [each.get_attribute("data-kind") for each in cells.all()]
    assert kinds == ["assigned", "assigned", "elsewhere"]
    expect(cells.last).to_contain_text("24 pending")
    expect(cells.last).to_contain_text("directory not known yet")
    legend = page.get_by_role("list", name="What the cells show")
    shown = page.locator(".heat .cell").evaluate_all("all => all.map(each => each.dataset.kind)")
    explained = legend.locator(".cell").evaluate_all("all => all.map(each => each.dataset.kind)")
    assert {"assigned", "pending", "elsewhere", "offline"} == set(shown)
    assert set(shown) < set(explained)


CELL = {"state": "online", "assigned": None, "pending": None, "offline": 0, "on_disk": None}
KINDS: list[tuple[dict[str, object], str]] = [
    ({"assigned": 200, "pending": None}, "assigned"),
    ({"assigned": 200, "pending": 0, "on_disk": 200}, "assigned"),
    ({"assigned": 0, "pending": 80, "on_disk": 80}, "pending"),
    ({"assigned": 0, "pending": 0, "on_disk": 0}, "empty"),
    ({"assigned": 0, "pending": 0}, "empty"),
    ({"assigned": 0, "pending": None}, "unknown"),
    ({"on_disk": 9}, "disk"),
    ({}, "unknown"),
    ({"state": "offline", "assigned": 9, "pending": 0, "offline": 9}, "offline"),
    ({"state": "unknown", "assigned": 9, "pending": 0}, "unknown"),
]


def test_no_replica_is_drawn_as_none(desk: Desk) -> None:
    page = desk.open("directories")
    kind = "async cell => (await import('/static/js/cells.js')).cellKind(cell)"
    assert [page.evaluate(kind, {**CELL, **facts}) for facts, _ in KINDS] == [k for _, k in KINDS]


def _sign(desk: Desk, page: Page) -> None:
    dialog = page.locator("dialog.action-dialog")
    dialog.get_by_label("Your name").fill("anna")
    dialog.get_by_label("Why").fill("the configuration is repaired")
    dialog.get_by_label("Token").fill(desk.served.token)
