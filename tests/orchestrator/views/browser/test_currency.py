"""Old data is never shown as current, whichever source became silent."""

import re
import socket
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from orchestrator.views.console.web import serving
from orchestrator.views.console.web.serving import served
from tests.orchestrator.views.browser.conftest import Start, looked, now_ms
from tests.orchestrator.views.browser.desk import Desk
from tests.orchestrator.views.browser.line import Line
from tests.orchestrator.views.console.serve import Served
from tests.orchestrator.views.console.world import World

pytestmark = [pytest.mark.browser, pytest.mark.long(minutes=0.75)]


def _is_old(page: Page, title: str, need: str = "the data is stale") -> None:
    """Said by a band, a chip, the top, the tab's title, and by colours that are gone.

    `need`: what the top says; it is not stale if only the data below is.
    """
    band = page.locator(".old-band")
    expect(band).to_contain_text(title)
    expect(page.locator(".body")).to_have_attribute("data-old", "")
    expect(page.get_by_test_id("need")).to_contain_text(need)
    expect(page).to_have_title(re.compile("^(stale|disconnected|ended|cannot follow)"))
    assert _colour(page, ".bar .fill") < 30, "a colour is left"


def _colour(page: Page, selector: str) -> int:
    fill = f"getComputedStyle(document.querySelector('{selector}')).backgroundColor"
    parts = [int(each) for each in re.findall(r"\d+", page.evaluate(fill))[:3]]
    return max(parts) - min(parts)


def _is_present(page: Page) -> None:
    expect(page.get_by_test_id("currency")).to_contain_text("current")
    expect(page.locator(".old-band")).to_have_count(0)
    expect(page.get_by_role("button", name="Pause")).to_be_enabled()


def _becomes_present(desk: Desk, page: Page) -> None:
    desk.until_present(page)
    _is_present(page)


def test_controllers_that_do_not_answer_make_it_old(desk: Desk) -> None:
    page = desk.open()
    _becomes_present(desk, page)
    world = desk.served.world
    world.at = replace(world.at, now_ms=now_ms())
    world.tell(stale_ms=60_000)
    desk.served.look()
    _is_old(page, "Not current", need="Something is wrong")
    assert _colour(page, ".need-name") > 30
    expect(page.get_by_role("button", name="Pause")).to_be_enabled()
    expect(page.locator(".old-age")).to_contain_text(re.compile(r"1 min \d+ s"))
    _becomes_present(desk, page)


def test_a_hidden_tab_says_in_its_title_that_it_is_old(desk: Desk) -> None:
    """A browser runs no frame callback of a hidden page; one may be requested before."""
    page = desk.open()
    _becomes_present(desk, page)
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
    _becomes_present(desk, page)
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
        line.thaw()
        _becomes_present(desk, page)


def test_a_line_that_dies_without_a_word_makes_it_old_and_comes_back(desk: Desk) -> None:
    """The page's own clock is moved on: nobody says anything for a quarter of a minute."""
    desk.expected = ["Failed to load resource"]
    with Line(desk.served.console.at.port) as line:
        page = _page_of_a_dead_line(desk, line)
        expect(page.locator(".old-band")).to_contain_text("The data below is from")
        shown = page.locator(".old-age time").inner_text()
        page.clock.run_for(60_000)
        assert page.locator(".old-age time").inner_text() != shown, "it grows old as one looks"
        line.thaw()
        page.clock.run_for(12_000)
        _becomes_present(desk, page)


def test_the_end_of_kraftgate_is_said(desk: Desk, start: Start) -> None:
    desk.served = start()
    desk.expected = ["ERR_CONNECTION_REFUSED", "Failed to load resource"]
    page = desk.open()
    _becomes_present(desk, page)
    desk.served.end()
    _is_old(page, "Kraftgate has ended")
    expect(page.locator(".old-band")).to_contain_text("Nothing monitors the cluster.")
    expect(page.get_by_role("button", name="Pause")).to_be_disabled()
    expect(page.locator(".actions")).to_contain_text("No action is possible now.")


def test_a_console_that_is_not_there_any_more_is_said(desk: Desk, start: Start) -> None:
    desk.served = start()
    desk.expected = ["ERR_CONNECTION", "ERR_EMPTY_RESPONSE", "Failed to load resource"]
    with Line(desk.served.console.at.port) as line:
        page = desk.open(url=line.url)
        _becomes_present(desk, page)
    _is_old(page, "This page receives nothing")
    expect(page.locator(".old-band")).to_contain_text("Kraftgate does not answer.")


def test_a_server_that_looks_no_more_is_not_believed(desk: Desk) -> None:
    """Beats arrive, but the data is that of the last tick."""
    page = desk.open()
    _becomes_present(desk, page)
    expect(page.locator(".old-band")).to_contain_text("Kraftgate does not poll", timeout=180_000)
    _is_old(page, "Kraftgate does not poll")
    _becomes_present(desk, page)


def test_a_server_that_has_not_polled_since_its_start_has_no_time(desk: Desk) -> None:
    page = desk.open()
    page.evaluate(
        """async () => {
             const { currencyOf } = await import('/static/js/currency.js');
             const { model, link } = window.kraftgate.known();
             window.got = currencyOf(link, { ...model, looked_ms: 0 }, model.clusters[0]);
           }"""
    )
    assert page.evaluate("[got.kind, got.cut, got.as_of_ms]") == ["old", True, None]
    assert "since it started" in page.evaluate("got.text")


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


_FAKE = """
window.lines = [];
window.EventSource = class extends EventTarget {
  constructor() {
    super();
    this.isOpen = true;
    window.lines.push(this);
  }
  close() {
    this.isOpen = false;
  }
};
window.says = (kind, data) =>
  lines.at(-1).dispatchEvent(new MessageEvent(kind, { data: JSON.stringify(data) }));
"""


class _SlowLine:
    """A page whose messages a test delivers, by a clock that the test moves."""

    def __init__(self, desk: Desk) -> None:
        self.page = desk.open()
        self.page.add_init_script(_FAKE)
        self.page.clock.install(time=now_ms() / 1000)
        self.page.clock.pause_at(now_ms() / 1000 + 60)
        self.page.reload()
        self.at_ms = now_ms()

    def connect(self) -> None:
        """Deliver what a new connection begins with."""
        says = (
            "async beat => { const s = await (await fetch('/api/state')).json(); says('state', s)"
        )
        self.page.evaluate(f"{says}; says('beat', beat); }}", self.beat())
        self.page.clock.run_for(1_100)

    def deliver(self, after_ms: int, later_ms: int, kind: str = "beat") -> None:
        """Deliver the next message: `after_ms` was made since the last one, `later_ms` passed."""
        self.at_ms += after_ms
        self.page.clock.run_for(later_ms)
        data = self.beat() if kind == "beat" else {"at_ms": self.at_ms, "clusters": []}
        self.page.evaluate("([kind, data]) => says(kind, data)", [kind, data])
        self.page.clock.run_for(1_100)

    def connections(self) -> int:
        count: int = self.page.evaluate("lines.length")
        return count

    def label(self) -> str:
        return self.page.get_by_test_id("currency").inner_text()

    def beat(self) -> dict[str, int]:
        return {"at_ms": self.at_ms, "looked_ms": self.at_ms}


def test_data_that_arrives_late_is_not_taken_for_the_present(desk: Desk) -> None:
    """The delay grows, and no silence is as long as 15 s."""
    line = _SlowLine(desk)
    line.connect()
    _is_present(line.page)
    line.deliver(1_000, 4_000)
    _is_present(line.page)
    line.deliver(1_000, 12_000, "change")
    assert "current" not in line.label(), "what is shown is 15 s old"
    line.deliver(0, 0)
    _is_old(line.page, "Messages arrive late")
    line.page.clock.run_for(1_000)
    assert line.connections() == 2
    line.connect()
    _is_present(line.page)


def test_a_change_before_the_first_beat_is_shown(desk: Desk) -> None:
    """It comes while a large first state is sent over a slow line."""
    line = _SlowLine(desk)
    line.page.evaluate(
        """async ([beat, change]) => {
          const state = await (await fetch('/api/state')).json();
          const [one] = state.clusters;
          says('state', state);
          const head = { ...one.head, phase: 'kraft' };
          says('change', { ...change, clusters: [{ name: one.name, head }] });
          says('beat', beat);
        }""",
        [line.beat(), {"at_ms": line.at_ms, "clusters": []}],
    )
    line.page.clock.run_for(1_100)
    expect(line.page).to_have_title(re.compile("kraft"))


def test_a_line_that_is_late_again_is_not_said_to_be_current(desk: Desk) -> None:
    line = _SlowLine(desk)
    line.connect()
    for _ in range(3):
        line.deliver(1_000, 9_000)
        _is_old(line.page, "Messages arrive late")
        line.page.clock.run_for(11_000)
        line.connect()
    _is_old(line.page, "Messages arrive late")
    assert line.connections() == 4
    for _ in range(13):
        line.deliver(5_000, 3_900)
    _is_present(line.page)


@pytest.mark.parametrize("step_ms", [12_000, 3_600_000])
def test_a_clock_that_is_moved_costs_one_new_connection(desk: Desk, step_ms: int) -> None:
    """A small step used to make the page alternate: current with each beat, stale before it."""
    line = _SlowLine(desk)
    line.connect()
    for moved_ms in (step_ms, -step_ms):
        line.page.evaluate("ms => { const was = Date.now; Date.now = () => was() + ms; }", moved_ms)
        line.deliver(5_000, 3_900)
        if moved_ms > 0:
            line.page.clock.run_for(1_000)
            line.connect()
        for _ in range(2):
            _is_present(line.page)
            line.page.clock.run_for(3_900)
            assert "current" in line.label(), "the next beat is due"
            line.deliver(5_000, 0)
    assert line.connections() == 2


def test_a_state_that_the_page_cannot_show_is_said(desk: Desk) -> None:
    desk.expected = ["Cannot read properties of undefined"]
    line = _SlowLine(desk)
    line.connect()
    line.page.evaluate(
        """async () => {
             const s = await (await fetch('/api/state')).json();
             s.clusters[0].walk.can = ['dance'];
             says('state', s);
           }"""
    )
    line.page.clock.run_for(1_100)
    band = line.page.locator(".old-band")
    expect(band).to_contain_text("This page cannot show what it receives.")
    assert "current" not in line.label()
    expect(line.page).to_have_title(re.compile("^stale"))
    with line.page.expect_navigation():
        band.get_by_role("link", name="Reload it").click()


def test_a_change_that_the_page_cannot_take_is_said(desk: Desk) -> None:
    """Beats go on, and would say that what is shown is current."""
    desk.expected = ["is not iterable", "Cannot read properties of", "is not a function"]
    line = _SlowLine(desk)
    line.connect()
    line.page.evaluate("at_ms => says('change', { at_ms })", line.at_ms)
    line.deliver(1_000, 900)
    expect(line.page.locator(".old-band")).to_contain_text("This page cannot show")


def test_a_dialog_outlives_a_restart_of_kraftgate(desk: Desk) -> None:
    """The first state of the new process has no cluster yet."""
    line = _SlowLine(desk)
    line.connect()
    line.page.get_by_role("button", name="Pause").click()
    line.page.clock.run_for(100)
    why = line.page.locator("dialog.action-dialog").get_by_label("Why")
    why.fill("disk of broker 2")
    line.page.evaluate("says('state', { ...kraftgate.known().model, clusters: [] })")
    line.page.evaluate("at_ms => says('beat', { at_ms, looked_ms: null })", line.at_ms)
    line.page.clock.run_for(1_100)
    _is_old(line.page, "Kraftgate does not poll")
    expect(why).to_have_value("disk of broker 2")
    line.connect()
    expect(line.page.locator(".old-band")).to_have_count(0)
    expect(why).to_have_value("disk of broker 2")


def test_an_open_page_is_loaded_again_after_an_upgrade(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.expected = ["ERR_CONNECTION", "ERR_INCOMPLETE", "Failed to load resource"]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    world = World(tmp_path / "world", now_ms(), console=f"{{listen: '127.0.0.1:{port}'}}")
    with closing(world):
        assert world.config.console is not None
        with served(world.config, world.config.console) as console:
            desk.served = looked(Served(world, console, lambda: None))
            page = desk.open()
            page.evaluate("window.isOld = true")
        monkeypatch.setattr(serving, "version", lambda _: "9.9.9")
        with served(world.config, world.config.console) as console:
            desk.served = looked(Served(world, console, lambda: None))
            page.wait_for_function("() => window.isOld === undefined")
            page.wait_for_function("() => window.kraftgate?.known().model?.version === '9.9.9'")
            desk.close()


def test_without_the_disks_nothing_is_said_to_be_in_order(desk: Desk, start: Start) -> None:
    """The metadata log is current; the hazards that only the disks show are not known."""
    desk.served = start(scene="finalized")
    page = desk.open()
    tab = page.get_by_role("navigation", name="Views").get_by_role("link", name="Hazards")
    brokers = page.get_by_role("region", name="Brokers")
    expect(tab).to_contain_text("none")
    expect(brokers).to_contain_text("4, all in order")
    desk.served.world.lose_disks()
    desk.served.look()
    expect(tab).to_contain_text("not known")
    expect(brokers).to_contain_text("disks not known")
    expect(brokers).not_to_contain_text("all in order")
    expect(page.get_by_role("region", name="Hazards")).to_contain_text(
        "Not known: the brokers' log directories: "
    )
    tab.click()
    expect(page.locator("main")).to_contain_text("Not known: the brokers' log directories: ")
    page.get_by_role("link", name="Directories").click()
    cells = page.locator(".heat-row[data-broker='1'] [role=gridcell]")
    expect(cells).to_have_count(2)
    for each in cells.all():
        expect(each).to_have_attribute("data-kind", "unknown")
    expect(page.locator(".heat-row[data-silent=true]")).to_have_count(4)
