"""An update touches what changed and nothing else; and the model takes changes in as it must."""

import pytest
from playwright.sync_api import expect

from tests.orchestrator.views.browser.conftest import Start, now_ms
from tests.orchestrator.views.browser.desk import Desk
from tests.orchestrator.views.console import sample

pytestmark = pytest.mark.browser

WATCH = """selector => {
  window.touched = new Set();
  const note = node => {
    const row = (node.nodeType === 1 ? node : node.parentElement)?.closest('[data-broker]');
    if (row) window.touched.add(Number(row.dataset.broker));
  };
  new MutationObserver(all => all.forEach(each => {
    if (each.target.closest?.('time') || each.target.parentElement?.closest('time')) return;
    note(each.target);
  })).observe(document.querySelector(selector), {
    subtree: true, childList: true, characterData: true, attributes: true,
  });
}"""


@pytest.mark.parametrize(("view", "selector"), [("brokers", ".brokers"), ("directories", ".dense")])
def test_only_the_rows_that_changed_are_touched(
    desk: Desk, start: Start, view: str, selector: str
) -> None:
    """Of 300 brokers one gets directories."""
    desk.served = start(shape=sample.BIG, events=100)
    page = desk.open(view)
    page.wait_for_selector(f"{selector} [data-broker='150']")
    page.evaluate(WATCH, selector)
    desk.served.advance(now_ms(), share=0.2)
    page.wait_for_function("() => window.touched.size > 0")
    desk.served.advance(now_ms(), share=0.2)
    expect(page.get_by_test_id("currency")).to_contain_text("current")
    assert set(page.evaluate("[...window.touched]")) == {150}


def test_a_bar_follows_the_cluster(desk: Desk, start: Start) -> None:
    desk.served = start()
    page = desk.open("brokers")
    row = page.locator("tr[data-broker='2']")
    expect(row).to_contain_text("64 of 64")
    desk.served.advance(now_ms(), share=0.25)
    expect(row.get_by_role("img", name="16 assigned, 48 migrating")).to_be_visible()
    expect(row).to_contain_text("48 of 64")
    for _ in range(3):
        desk.served.advance(now_ms(), share=0.25)
    expect(row.get_by_role("img", name="64 assigned")).to_be_visible()
    expect(row).not_to_contain_text("held")
    expect(page.locator("tr[data-broker='3']")).to_contain_text("held")


def test_what_did_not_change_stays_the_same_object(desk: Desk) -> None:
    page = desk.open()
    assert (
        page.evaluate(
            """async () => {
             const { whole, changed } = await import('/static/js/store.js');
             const row = (id, pending) => ({ id, pending });
             const cluster = { name: 'a', head: {}, walk: {}, checkpoints: [], waits: [],
               hazards: [], sources: [], brokers: [row(1, 5), row(2, 7)], disks: [], events: [] };
             const clusters = [cluster, { ...cluster, name: 'b' }];
             const before = whole({ at_ms: 1, clusters }, null);
             const after = changed(before, { at_ms: 2, clusters: [{ name: 'a', walk: null,
               brokers: [row(3, 1), row(2, 6)], brokers_gone: [1] }] });
             const [a, b] = after.clusters;
             return [
               b === before.clusters[1],
               a.head === before.clusters[0].head,
               a.disks === before.clusters[0].disks,
               a.walk === null,
               a.brokers.map(each => `${each.id}:${each.pending}`).join() === '2:6,3:1',
               a.turn === before.clusters[0].turn,
             ];
           }"""
        )
        == [True] * 6
    )


def test_missed_events_are_not_joined_to_older_ones(desk: Desk) -> None:
    page = desk.open()
    got = page.evaluate(
        """async () => {
             const { whole, changed } = await import('/static/js/store.js');
             const cluster = { name: 'a', brokers: [], disks: [], events: [{ id: 1 }] };
             let model = whole({ at_ms: 1, clusters: [cluster] }, null);
             const put = (events, events_missed) => {
               const clusters = [{ name: 'a', events, events_missed }];
               model = changed(model, { at_ms: 2, clusters });
             };
             put([{ id: 2 }], false);
             const joined = model.clusters[0].events.map(each => each.id);
             put([{ id: 9 }], true);
             return [joined, model.clusters[0].events.map(each => each.id)];
           }"""
    )
    assert got == [[1, 2], [9]]
