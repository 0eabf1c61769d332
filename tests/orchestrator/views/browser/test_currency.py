"""Old data is never shown as current, whichever source became silent."""

import re
from dataclasses import replace

import pytest
from playwright.sync_api import Page, expect

from tests.orchestrator.views.browser.conftest import Start, now_ms
from tests.orchestrator.views.browser.desk import Desk
from tests.orchestrator.views.browser.line import Line

pytestmark = [pytest.mark.browser, pytest.mark.long(minutes=0.75)]


def _is_old(page: Page, title: str) -> None:
    """Said by a band, a chip, the top, the tab's title, and by colours that are gone."""
    band = page.locator(".old-band")
    expect(band).to_contain_text(title)
    expect(page.locator(".body")).to_have_attribute("data-old", "")
    expect(page.get_by_test_id("need")).to_contain_text("the data is stale")
    expect(page.get_by_role("button", name="Pause")).to_be_disabled()
    assert re.match("stale|disconnected|ended|cannot follow", page.title())
    fill = "getComputedStyle(document.querySelector('.bar .fill')).backgroundColor"
    red, green, blue = map(int, re.findall(r"\d+", page.evaluate(fill))[:3])
    assert max(red, green, blue) - min(red, green, blue) < 30, "a colour is left"


def _is_present(page: Page) -> None:
    expect(page.get_by_test_id("currency")).to_contain_text("current")
    expect(page.locator(".old-band")).to_have_count(0)
    expect(page.get_by_role("button", name="Pause")).to_be_enabled()


def test_controllers_that_do_not_answer_make_it_old(desk: Desk) -> None:
    page = desk.open()
    _is_present(page)
    world = desk.served.world
    world.at = replace(world.at, now_ms=now_ms())
    world.tell(stale_ms=60_000)
    desk.served.look()
    _is_old(page, "Not current")
    expect(page.locator(".old-age")).to_contain_text(re.compile(r"1 min 0\d s"))
    desk.refresh()
    _is_present(page)


def test_a_hidden_tab_says_in_its_title_that_it_is_old(desk: Desk) -> None:
    """A browser runs no frame callback of a hidden page; one may be requested before."""
    page = desk.open()
    _is_present(page)
    page.evaluate("window.requestAnimationFrame = () => 0")
    world = desk.served.world
    world.at = replace(world.at, now_ms=now_ms())
    world.tell(stale_ms=60_000)
    desk.served.look()
    expect(page).to_have_title(re.compile("^stale"))
    expect(page.locator("link[rel=icon]")).to_have_attribute("href", "static/icon-old.svg")


def _page_of_a_dead_line(desk: Desk, line: Line) -> Page:
    """Open a page, freeze its connection, and move the page's clock on until it says so."""
    page = desk.open(url=line.url)
    _is_present(page)
    page.clock.install()
    page.reload()
    _is_present(page)
    line.freeze()
    page.clock.fast_forward(14_000)
    page.clock.run_for(2_000)
    _is_old(page, "This page receives nothing")
    return page


def test_a_slow_connection_has_the_time_for_its_first_message(desk: Desk) -> None:
    """Each new connection used to be closed after a second."""
    desk.expected = ["Failed to load resource"]
    with Line(desk.served.console.at.port) as line:
        page = _page_of_a_dead_line(desk, line)
        begun: list[str] = []
        page.on("request", lambda one: begun.append(one.url))
        page.clock.run_for(14_000)
        assert len([url for url in begun if url.endswith("api/stream")]) <= 2
        desk.refresh()
        line.thaw()
        _is_present(page)


def test_a_line_that_dies_without_a_word_makes_it_old_and_comes_back(desk: Desk) -> None:
    """The page's own clock is moved on: nobody says anything for a quarter of a minute."""
    desk.expected = ["Failed to load resource"]
    with Line(desk.served.console.at.port) as line:
        page = _page_of_a_dead_line(desk, line)
        expect(page.locator(".old-band")).to_contain_text("The data below is from")
        shown = page.locator(".old-age time").inner_text()
        page.clock.run_for(60_000)
        assert page.locator(".old-age time").inner_text() != shown, "it grows old as one looks"
        desk.refresh()
        line.thaw()
        page.clock.run_for(12_000)
        _is_present(page)


def test_the_end_of_kraftgate_is_said(desk: Desk, start: Start) -> None:
    desk.served = start()
    desk.expected = ["ERR_CONNECTION_REFUSED", "Failed to load resource"]
    page = desk.open()
    _is_present(page)
    desk.served.end()
    _is_old(page, "Kraftgate has ended")
    expect(page.locator(".old-band")).to_contain_text("Nothing monitors the cluster.")


def test_a_console_that_is_not_there_any_more_is_said(desk: Desk, start: Start) -> None:
    desk.served = start()
    desk.expected = ["ERR_CONNECTION", "ERR_EMPTY_RESPONSE", "Failed to load resource"]
    with Line(desk.served.console.at.port) as line:
        page = desk.open(url=line.url)
        _is_present(page)
    _is_old(page, "This page receives nothing")
    expect(page.locator(".old-band")).to_contain_text("Kraftgate does not answer.")


def test_a_server_that_looks_no_more_is_not_believed(desk: Desk) -> None:
    """Beats arrive, but the data is that of the last tick."""
    page = desk.open()
    _is_present(page)
    expect(page.locator(".old-band")).to_contain_text("Kraftgate does not poll", timeout=180_000)
    _is_old(page, "Kraftgate does not poll")
    desk.refresh()
    _is_present(page)


def test_a_log_that_is_still_being_read_is_not_the_present(desk: Desk) -> None:
    page = desk.open()
    page.evaluate(
        """async () => {
             const { currencyOf } = await import('/static/js/currency.js');
             const { known } = window.kraftgate;
             const { model, link } = known();
             const [cluster] = model.clusters;
             const head = { ...cluster.head, current: 'reading', current_text: '5 to go' };
             window.got = currencyOf(link, model, { ...cluster, head });
           }"""
    )
    assert page.evaluate("window.got.kind") == "reading"
