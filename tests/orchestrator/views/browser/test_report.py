"""The report's page: without script, for everybody, on paper, and of a large cluster."""

from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page

from tests.orchestrator.views.report.big import big
from tests.orchestrator.views.report.night import night
from tests.orchestrator.views.report.reporting import run

pytestmark = [pytest.mark.browser, pytest.mark.long(minutes=2)]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    out = folder / "report.html"
    assert run(night(folder), "--out", str(out)).exit_code == 0
    return out


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    out = folder / "report.html"
    assert run(big(folder, brokers=300, replicas=40), "--out", str(out)).exit_code == 0
    return out


def opened(
    browser: Browser,
    file: Path,
    *,
    width: int = 1200,
    scheme: Literal["light", "dark"] = "light",
    script: bool = False,
) -> Page:
    """Open the page as a file; what it would fetch, or run, or complain of, fails the test."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=script
    )
    page = context.new_page()
    page.on("request", lambda request: _only(request.url, file))
    page.on("console", lambda message: pytest.fail(f"the console says: {message.text}"))
    page.goto(file.as_uri())
    return page


def _only(url: str, file: Path) -> None:
    assert url.split("#")[0] == file.as_uri()


@pytest.mark.parametrize("width", [1200, 390])
def test_axe_finds_nothing(browser: Browser, small: Path, width: int) -> None:
    """All rules in the light scheme; the dark one differs in colors."""
    page = opened(browser, small, width=width, script=True)
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    page.emulate_media(color_scheme="dark")
    contrast = {"type": "rule", "values": ["color-contrast"]}
    found = Axe().run(page, options={"runOnly": contrast})
    assert found.violations_count == 0, found.generate_report()
    assert found.response["passes"], "it looked"
    page.context.close()


def test_axe_finds_nothing_where_plots_are_summed_up(browser: Browser, tmp_path: Path) -> None:
    """More brokers than a plot has rows and a chart has lines; the tables are those of `small`."""
    out = tmp_path / "report.html"
    assert run(big(tmp_path, brokers=30, replicas=4), "--out", str(out)).exit_code == 0
    page = opened(browser, out, script=True)
    rows = page.locator("svg[aria-labelledby^=c0-plot-way] text").filter(has_text="brokers-kraft")
    assert rows.all_text_contents() == ["brokers-kraft (30)"]
    found = Axe().run(page, context=".plot")
    assert found.violations_count == 0, found.generate_report()
    assert found.response["passes"], "it looked"
    page.context.close()


def test_it_is_whole_without_script(browser: Browser, small: Path) -> None:
    page = opened(browser, small)
    assert page.title() == "Kraftgate report: prod"
    assert page.locator("svg[role=img]").count() == 3
    for each in page.locator("svg[role=img]").all():
        box = each.bounding_box()
        assert box is not None
        assert box["width"] > 600
    assert "broker 2 early: it served for 41 ms" in page.locator(".summary").inner_text()
    page.context.close()


def test_a_link_to_a_checkpoint_shows_what_held_it(browser: Browser, small: Path) -> None:
    page = opened(browser, small)
    held = page.get_by_text("approval by 2 people", exact=True).last
    assert not held.is_visible()
    page.get_by_role("link", name="finalize").click()
    held.wait_for(state="visible")
    page.context.close()


@pytest.mark.parametrize("width", [320, 390, 1200])
def test_wide_tables_scroll_inside_themselves(browser: Browser, small: Path, width: int) -> None:
    page = opened(browser, small, width=width, script=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.context.close()


def test_colours_follow_the_reader_s_choice(browser: Browser, small: Path) -> None:
    grounds = set()
    for scheme in ("light", "dark"):
        page = opened(browser, small, scheme="dark" if scheme == "dark" else "light", script=True)
        text = page.locator("svg[role=img] text").first
        grounds.add(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))
        grounds.add(text.evaluate("each => getComputedStyle(each).fill"))
        page.context.close()
    assert len(grounds) == 4


def test_no_id_stands_twice(browser: Browser, small: Path) -> None:
    page = opened(browser, small, script=True)
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(each => each.id)")
    assert len(ids) == len(set(ids))
    broken = page.evaluate(
        "[...document.querySelectorAll('a[href^=\"#\"], use')]"
        ".map(each => each.getAttribute('href').slice(1))"
        ".filter(each => !document.getElementById(each))"
    )
    assert broken == []
    page.context.close()


def test_on_paper_everything_is_open(browser: Browser, small: Path) -> None:
    page = opened(browser, small, script=True)
    page.emulate_media(media="print")
    assert page.get_by_text("approval by 2 people", exact=True).last.is_visible()
    assert page.get_by_text("ssh: no route to b1").first.is_visible()
    assert not page.locator("nav").is_visible()
    clipped = page.evaluate(
        "[...document.querySelectorAll('.scroll')].filter(e => e.scrollHeight > e.clientHeight + 2)"
        ".length"
    )
    assert clipped == 0
    page.context.close()


def test_three_hundred_brokers_can_be_read(browser: Browser, large: Path) -> None:
    page = opened(browser, large, script=True)
    labels = page.locator("#c0-plot-brokers-title").locator("..").locator("text")
    assert labels.filter(has_text="broker 300").count() == 1
    rows = page.locator("svg[aria-labelledby^=c0-plot-way] text").filter(has_text="brokers-kraft")
    assert rows.all_text_contents() == ["brokers-kraft (300)"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 1200
    page.context.close()


def test_the_page_of_a_large_cluster_is_no_burden(large: Path) -> None:
    assert large.stat().st_size < 6_000_000
