"""Each view shows what the server says, in words that a person can check it by."""

import re

import pytest
from playwright.sync_api import expect

from tests.orchestrator.views.browser.desk import LAPTOP, PHONE, VIEWS, Desk, Size

pytestmark = [pytest.mark.browser, pytest.mark.long(minutes=0.75)]


def test_the_top_names_the_phase_and_the_one_wait(desk: Desk) -> None:
    page = desk.open()
    expect(page.locator(".phases [aria-current=step]")).to_contain_text("hybrid")
    expect(page.get_by_test_id("waiting")).to_contain_text("Waiting for broker 2: ")
    expect(page.get_by_test_id("checkpoint")).to_have_text("brokers-kraft[2]")
    desk.until_present(page)
    expect(page.get_by_test_id("currency")).to_contain_text("current")
    expect(page).to_have_title(re.compile("prod, hybrid"))


def test_the_brokers_stand_by_urgency_with_their_bars(desk: Desk) -> None:
    page = desk.open("brokers")
    expect(page.locator("tbody tr")).to_have_count(4)
    ids = page.locator("tbody tr").evaluate_all("rows => rows.map(row => row.dataset.broker)")
    assert ids == ["2", "3", "4", "1"], "held first, then those not in KRaft mode"
    held = page.locator("tr[data-broker='2']")
    expect(held).to_contain_text("held")
    expect(held).to_contain_text("unfenced early")
    expect(held.get_by_role("img", name="64 migrating")).to_be_visible()
    expect(held).to_contain_text("64 of 64")
    done = page.locator("tr[data-broker='1']")
    expect(done.get_by_role("img", name="64 assigned")).to_be_visible()


@pytest.mark.parametrize("place", ["overview", "brokers"])
def test_on_a_phone_a_broker_s_numbers_stand_in_one_line_each(desk: Desk, place: str) -> None:
    page = desk.open(place, size=PHONE)
    row = page.locator("tr[data-broker='2']")
    expect(row).to_contain_text("64 of 64")
    pending = row.locator("[data-column=pending]")
    tops = "[...cell.children].map(each => each.getBoundingClientRect().top >> 3)"
    assert pending.evaluate(f"cell => new Set({tops}).size") == 1
    eta = row.locator("[data-column=eta]")
    if eta.is_visible():
        ours, theirs = pending.bounding_box(), eta.bounding_box()
        assert ours is not None
        assert theirs is not None
        assert ours["x"] + ours["width"] <= theirs["x"]
        assert theirs["x"] + theirs["width"] <= PHONE[0]


def test_brokers_are_filtered_and_found(desk: Desk) -> None:
    page = desk.open("brokers")
    page.get_by_role("button", name=re.compile("^Held")).click()
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("button", name=re.compile("^All")).click()
    search = page.get_by_role("searchbox")
    search.fill("kafka-003")
    expect(page.locator("tbody tr")).to_have_count(1)
    search.fill("999")
    expect(page.get_by_text("No broker matches.")).to_be_visible()
    search.fill("")
    page.get_by_role("button", name="Broker", exact=True).click()
    expect(page.locator("th[aria-sort=ascending]")).to_contain_text("Broker")
    ids = page.locator("tbody tr").evaluate_all("rows => rows.map(row => row.dataset.broker)")
    assert ids == ["1", "2", "3", "4"]


def test_a_small_heat_map_tells_in_words(desk: Desk) -> None:
    page = desk.open("directories")
    cells = page.get_by_role("gridcell")
    expect(cells.filter(has_text="32 assigned")).to_have_count(2)
    pending = page.get_by_role("gridcell", name="broker 2, /data/d01: 0 assigned, 32 pending")
    expect(pending).to_have_attribute("data-kind", "pending")
    pending.hover()
    expect(page.get_by_test_id("cell-text")).to_contain_text("broker 2, /data/d01")
    page.get_by_role("button", name="Offline").click()
    expect(page.get_by_text("No broker matches.")).to_be_visible()


def test_a_broker_opens_with_its_pending_replicas(desk: Desk) -> None:
    page = desk.open("brokers")
    page.locator("tr[data-broker='2'] th a").click()
    sheet = page.get_by_role("dialog", name="Broker 2")
    expect(sheet.get_by_role("heading", name="Pending replicas")).to_be_visible()
    expect(sheet.locator("table.pending tbody tr").first).to_contain_text("orders-")
    expect(sheet.locator("table.pending tbody tr").first).to_contain_text("/data/d0")
    expect(sheet).to_contain_text("unfenced early")
    assert "broker=2" in page.url
    page.go_back()
    expect(sheet).to_have_count(0)


def test_a_gate_opens_with_its_evidence(desk: Desk) -> None:
    page = desk.open("runbook")
    page.get_by_test_id("checkpoint").click()
    sheet = page.get_by_role("dialog", name="Checkpoint brokers-kraft[2]")
    expect(sheet).to_contain_text("waiting")
    expect(sheet).to_contain_text("assignments_complete(2)")
    expect(sheet.get_by_text("64 migrating")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("link", name="broker 1").last.click()
    passed = page.get_by_role("dialog", name="Checkpoint brokers-kraft[1]")
    expect(passed.get_by_text("Gate: does it open?")).to_be_visible()
    expect(passed).to_contain_text("the execution passed brokers-kraft[1]")
    expect(passed).not_to_contain_text("sha256:")
    expect(passed).to_contain_text("metadata offset")


def test_the_runbook_shows_the_way_and_where_it_stands(desk: Desk) -> None:
    page = desk.open("runbook")
    here = page.locator(".checkpoint[aria-current=step]")
    expect(here).to_contain_text("brokers-kraft")
    expect(here).to_contain_text("to be done by hand")
    finalize = page.locator(".checkpoint").filter(has_text="2 approvals")
    expect(finalize).to_contain_text("The controllers leave the migration")
    expect(finalize).to_contain_text("irreversible")


def test_hazards_tell_evidence_and_way_out(desk: Desk) -> None:
    page = desk.open("hazards")
    early = page.locator(".hazard").filter(has_text="unfenced early")
    expect(early).to_contain_text("forbids: restart")
    expect(early).to_contain_text("Way out:")


@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_nothing_is_wider_than_the_screen(desk: Desk, size: Size) -> None:
    page = desk.open(size=size)
    for view in (*VIEWS, "brokers?broker=2", "runbook?checkpoint=brokers-kraft%5B2%5D"):
        page.goto(f"{desk.served.url}/#/prod/{view}")
        page.wait_for_selector("main .panel")
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, view


def test_an_address_that_is_not_understood_shows_the_overview(desk: Desk) -> None:
    page = desk.open("nonsense?broker=none&checkpoint=")
    expect(page.get_by_role("dialog")).to_contain_text("has no such broker")
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="Overview")).to_have_attribute("aria-current", "page")


def test_a_cluster_s_name_that_is_not_decoded_is_shown(desk: Desk) -> None:
    page = desk.open("nonsense", cluster="nobody%")
    expect(page.locator("main")).to_contain_text("This console has no cluster nobody%.")


def test_theme_and_zone_are_kept(desk: Desk) -> None:
    page = desk.open(theme="dark", timezone_id="Asia/Tokyo")
    dark = page.evaluate("getComputedStyle(document.body.parentElement).backgroundColor")
    page.get_by_role("button", name="Settings").click()
    page.get_by_text("Light", exact=True).click()
    light = page.evaluate("getComputedStyle(document.body.parentElement).backgroundColor")
    assert dark != light
    page.get_by_text("UTC", exact=True).click()
    page.reload()
    page.wait_for_selector(".now")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    page.goto(f"{desk.served.url}/#/prod/timeline")
    expect(page.get_by_text(re.compile(r"to .* UTC,"))).to_be_visible()


def test_times_are_local_with_their_zone_and_utc(desk: Desk) -> None:
    page = desk.open("timeline", timezone_id="Asia/Tokyo")
    expect(page.get_by_text(re.compile(r"to .* GMT\+9,"))).to_be_visible()
    told = page.evaluate(
        "import('./static/js/format.js').then((it) => it.localTimes('by 2026-11-22 20:30:00 UTC'))"
    )
    assert told == "by 2026-11-23 05:30:00 GMT+9 (2026-11-22 20:30:00 UTC)"
