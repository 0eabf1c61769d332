"""A real migration that a newcomer takes from the page; one notification of a stall is sent."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from migration.image.summary import Mode
from migration.metadata.replica_state import ReplicaState
from tests.orchestrator.notify.frozen_broker import freezes_and_is_told_once, watching
from tests.orchestrator.views.browser.desk import LAPTOP, SEEN_MS
from tests.orchestrator.views.browser.newcomer import AtThePage
from tests.orchestrator.views.browser.night import Night, Scene, night
from tests.support.approving import BORIS
from tests.system.killing import CLUSTER

pytestmark = [
    pytest.mark.lab,
    pytest.mark.spark,
    pytest.mark.prometheus,
    pytest.mark.browser,
    pytest.mark.long(minutes=9),
]


def test_the_page_follows_and_a_frozen_broker_is_told_once(
    browser: Browser, tmp_path: Path
) -> None:
    with watching(tmp_path) as watchers, night(tmp_path, watchers.configuration) as now:
        page = _page(browser, now)
        at = AtThePage(page, now.lab, now.run)
        for scene in now.scenes(at):
            _is_present(page, "by ZooKeeper" if scene == "zookeeper" else "current")
            SHOWN[scene](page, now)
            page.screenshot(path=tmp_path / f"{scene}.png")
            if scene == "held":
                freezes_and_is_told_once(
                    now.lab, now.run, now.assignments, watchers, tmp_path, _held_one(now)
                )
        _what_was_pressed(at.pressed)
        _the_whole_night_is_on_the_timeline(page)
        page.close()


def _page(browser: Browser, now: Night) -> Page:
    width, height = LAPTOP
    page = browser.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(SEEN_MS)
    page.goto(f"{now.url}/#/{CLUSTER}/brokers")
    return page


def _is_present(page: Page, word: str) -> None:
    expect(page.get_by_test_id("currency")).to_contain_text(word)
    expect(page.locator(".old-band")).to_have_count(0)


def _in_phase(page: Page, phase: str) -> None:
    expect(page.locator(".phases [aria-current=step] .phase-name")).to_have_text(phase)


def _row(page: Page, broker: int) -> Locator:
    return page.locator(f"tr[data-broker='{broker}']")


def _bars_are_the_clusters(page: Page, now: Night) -> None:
    """Each broker's bar has the counts of the store, which replays and oracles vouch for."""
    summary = now.run.summary()
    assert summary is not None
    for each in summary.brokers:
        told = [f"{n} {state}" for state in ORDER if (n := each.replicas[state])]
        bar = _row(page, each.id).get_by_role("img", name=", ".join(told) or "no replicas")
        expect(bar).to_be_visible()


ORDER = (
    ReplicaState.ASSIGNED,
    ReplicaState.MIGRATING,
    ReplicaState.UNASSIGNED,
    ReplicaState.OFFLINE,
    ReplicaState.LOST,
    ReplicaState.RESERVED,
)


def _zookeeper(page: Page, now: Night) -> None:
    _in_phase(page, "zookeeper")
    for each in now.lab.spec.broker_ids:
        expect(_row(page, each)).to_contain_text("not registered")
    expect(page.get_by_test_id("checkpoint")).to_be_visible()


def _pre_migration(page: Page, _: Night) -> None:
    _in_phase(page, "pre-migration")


def _hybrid(page: Page, now: Night) -> None:
    _in_phase(page, "hybrid")
    _bars_are_the_clusters(page, now)
    expect(_row(page, 1)).to_contain_text("migrating")


def _held(page: Page, now: Night) -> None:
    first = _held_one(now)
    expect(_row(page, first)).to_contain_text("held")
    expect(_row(page, first)).to_have_attribute("data-urgent", "true")
    expect(page.get_by_test_id("checkpoint")).to_have_text(f"brokers-kraft[{first}]")
    _bars_are_the_clusters(page, now)
    _row(page, first).locator("th a").click()
    sheet = page.get_by_role("dialog", name=f"Broker {first}")
    expect(sheet.locator("table.pending tbody tr").first).to_contain_text("audit-")
    page.keyboard.press("Escape")


def _tab(page: Page, view: str) -> Locator:
    return page.get_by_role("navigation", name="Views").get_by_role("link", name=view)


def _held_one(now: Night) -> int:
    summary = now.run.summary()
    assert summary is not None
    (held,) = [each.id for each in summary.brokers if each.held]
    return held


def _first(now: Night) -> int:
    """Which broker was the first in KRaft mode."""
    summary = now.run.summary()
    assert summary is not None
    (first,) = [each.id for each in summary.brokers if each.mode is Mode.KRAFT]
    return first


def _assigned(page: Page, now: Night) -> None:
    expect(_row(page, _first(now))).not_to_contain_text("held")
    _bars_are_the_clusters(page, now)
    _tab(page, "Directories").click()
    cells = page.locator(f"[role=row][data-broker='{_first(now)}'] [role=gridcell]")
    for at in range(now.lab.spec.directories):
        expect(cells.nth(at)).to_have_attribute("data-kind", "assigned")


def _offline(page: Page, now: Night) -> None:
    """Still at the heat map. The guards of the next restart hold it."""
    row = page.locator(f"[role=row][data-broker='{_first(now)}']")
    expect(row.locator("[data-kind=offline]")).to_have_count(1)
    expect(page.locator(".now")).to_have_attribute("data-tone", "wrong")
    _tab(page, "Brokers").click()
    expect(_row(page, _first(now))).to_contain_text("offline")


def _dual_write(page: Page, now: Night) -> None:
    _in_phase(page, "dual-write")
    expect(page.locator("tbody tr[data-urgent=true]")).to_have_count(0)
    _bars_are_the_clusters(page, now)


def _finalized(page: Page, now: Night) -> None:
    _in_phase(page, "finalized")
    _bars_are_the_clusters(page, now)


def _nothing(page: Page, _: Night) -> None:
    expect(page.locator(".where-title")).to_have_text("ended: completed")


def _what_was_pressed(pressed: list[tuple[str, str]]) -> None:
    """Repeat for each broker, both approvals, Done: each one when the headline asked for it.

    One of the two people approves in the page; the other one in a terminal, by the command of the
    headline. On a busy machine a headline that is a tick old asks once more.
    """
    firsts: dict[str, tuple[str, str]] = {}
    for each in pressed:
        firsts.setdefault(each[0].partition("\n")[0], each)
    *repeated, (finalize, answer), (_, alone), (done, switched_off) = firsts.values()
    assert len(repeated) == 2
    for dialog, said in repeated:
        assert "the hook runs once more" in dialog
        assert "repeat" in said
    assert "It cannot be undone" in finalize
    assert f"finalize[3000] approved by {BORIS} (login console)" in answer
    assert "2 people must approve, 1 did" in answer
    assert f"zookeeper-off approved by {BORIS}" in alone
    assert "takes the step as done" in done
    assert "the step of zookeeper-off: done" in switched_off


SHOWN: dict[Scene, Callable[[Page, Night], None]] = {
    "zookeeper": _zookeeper,
    "pre-migration": _pre_migration,
    "hybrid": _hybrid,
    "held": _held,
    "assigned": _assigned,
    "offline": _offline,
    "dual-write": _dual_write,
    "finalized": _finalized,
    "nothing": _nothing,
}


def _the_whole_night_is_on_the_timeline(page: Page) -> None:
    _tab(page, "Timeline").click()
    for lane in ("decisions", "metadata", "zookeeper", "disks"):
        chip = page.locator(f".chip:has([data-lane={lane}]) .num")
        expect(chip).not_to_have_text("0")
    page.get_by_label("Kind of event").select_option("phase_changed")
    told = page.locator(".event")
    for phase in ("pre-migration", "hybrid", "dual-write", "finalized"):
        expect(told.filter(has_text=f"the phase is {phase}")).to_have_count(1)
