"""The axis with tens of thousands of events: zoomed, moved and filtered."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.orchestrator.views.browser.conftest import looked, now_ms
from tests.orchestrator.views.browser.desk import LAPTOP, PHONE, Desk, Size
from tests.orchestrator.views.console.serve import Served, serving
from tests.orchestrator.views.console.world import World

pytestmark = [pytest.mark.browser, pytest.mark.long(minutes=1)]

EVENTS = 20_000


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("console") / "world"
    with serving(World(folder, now_ms(), events=EVENTS)) as served:
        yield looked(served)


def _total(page: Page) -> int:
    text = page.locator(".moves .num").inner_text()
    return int(re.sub(r"\D", "", text))


def _open(desk: Desk, place: str = "timeline", size: Size = LAPTOP) -> Page:
    page = desk.open(place, size=size)
    expect(page.locator(".moves .num")).to_contain_text("events")
    expect(page.locator(".chart svg")).to_be_visible()
    return page


def test_the_whole_window_stands_on_five_lanes(desk: Desk) -> None:
    page = _open(desk)
    assert _total(page) > EVENTS
    expect(page.locator(".lane-names li")).to_have_count(5)
    for lane in ("metadata", "zookeeper", "disks", "jmx", "decisions"):
        bars = page.locator(f".lane-bars[data-lane={lane}] path").first
        assert len(bars.get_attribute("d") or "") > 20, lane
    # Tests before it may have brought the cluster to dual write.
    expect(page.locator(".phase-mark").first).to_have_text("hybrid")
    drawn = page.locator(".chart svg *").count()
    assert drawn < 200, "however many events there are"


def test_zooming_in_comes_to_single_events(desk: Desk) -> None:
    page = _open(desk)
    before = _total(page)
    for _ in range(10):
        page.get_by_role("button", name="Zoom in").click()
    expect(page.locator(".signs path").first).to_be_visible()
    # Axis and list come each in a response of its own, and so do the steps of the zoom.
    page.wait_for_function(
        """() => {
          const text = document.querySelector(".moves .num").textContent;
          const total = Number(text.replace(/\\D/g, ""));
          return total > 0 && total <= 200 && total === document.querySelectorAll(".event").length;
        }"""
    )
    page.get_by_role("button", name="Whole window").click()
    expect(page.locator(".moves .num")).to_have_text(f"{before:,} events")


def test_filters_hold_for_axis_and_list(desk: Desk) -> None:
    page = _open(desk)
    page.get_by_role("button", name=re.compile("^Metadata log")).click()
    page.get_by_role("button", name=re.compile("^Disks")).click()
    expect(page.locator(".lane-names li")).to_have_count(3)
    page.get_by_label("Kind of event").select_option("zk_broker_gone")
    page.get_by_label("Broker").select_option("3")
    events = page.locator(".event")
    expect(events.filter(has_not_text="is not in /brokers/ids")).to_have_count(0)
    expect(events.filter(has_not_text="broker 3")).to_have_count(0)
    expect(events.first).to_be_visible()
    assert "kind=zk_broker_gone" in page.url
    assert "events_of=3" in page.url


def test_older_events_follow_the_newest(desk: Desk) -> None:
    page = _open(desk)
    expect(page.locator(".event")).to_have_count(200)
    page.get_by_role("button", name="Older ones").click()
    expect(page.locator(".event")).to_have_count(400)
    times = page.locator(".event time").evaluate_all("all => all.map(each => each.dateTime)")
    assert times == sorted(times, reverse=True)


def test_a_place_on_the_axis_can_be_sent_to_a_colleague(desk: Desk) -> None:
    page = _open(desk)
    page.get_by_role("button", name="Zoom in").click()
    page.wait_for_url("**from=*")
    seen = page.locator("#timeline + .soft").inner_text()
    other = desk.open(page.url.partition("#/prod/")[2])
    expect(other.locator("#timeline + .soft")).to_have_text(seen)


def test_dragging_moves_the_axis(desk: Desk) -> None:
    page = _open(desk)
    page.get_by_role("button", name="Zoom in").click()
    page.wait_for_url("**from=*")
    first = page.url
    box = page.locator(".chart").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 300, box["y"] + 80)
    page.mouse.down()
    page.mouse.move(box["x"] + 500, box["y"] + 80, steps=5)
    page.mouse.up()
    page.wait_for_url(lambda url: url != first)
    assert _from(page.url) < _from(first), "what was earlier came into sight"


def test_a_bar_tells_what_it_is_of(desk: Desk) -> None:
    page = _open(desk)
    box = page.locator(".chart").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 26 + 46 + 40)
    expect(page.locator(".timeline .heat-text")).to_contain_text("Metadata log:")


def test_new_events_come_by_themselves(desk: Desk) -> None:
    page = _open(desk)
    before = _total(page)
    for _ in range(4):
        desk.served.advance(now_ms(), share=0.5)
    expect(
        page.locator(".event").filter(has_text="every replica has a directory").first
    ).to_be_visible()
    expect(page.locator(".moves .num")).not_to_have_text(f"{before:,} events")


def test_older_events_that_were_loaded_stay_when_new_ones_come(desk: Desk) -> None:
    page = _open(desk)
    page.get_by_role("button", name="Older ones").click()
    rows = page.locator(".event")
    expect(rows).to_have_count(400)
    for _ in range(4):
        desk.served.advance(now_ms(), share=0.5)
    expect(rows.filter(has_text="every replica has a directory").first).to_be_visible()
    expect(rows.nth(400)).to_be_attached()


def test_it_is_used_on_a_phone(desk: Desk) -> None:
    page = _open(desk, size=PHONE)
    page.get_by_role("button", name="Zoom in").click()
    page.wait_for_url("**from=*")
    expect(page.locator(".event").first).to_be_visible()


def _from(url: str) -> int:
    return int(re.findall(r"from=(\d+)", url)[0])
