"""Several clusters: a switch, and each with its own present."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Request, expect

from orchestrator.config.load import load_config
from tests.orchestrator.views.browser.conftest import looked, now_ms
from tests.orchestrator.views.browser.desk import LAPTOP, PHONE, Desk
from tests.orchestrator.views.browser.twins import TWIN, Twins
from tests.orchestrator.views.console.serve import Served, serving
from tests.orchestrator.views.console.world import World

pytestmark = pytest.mark.browser

CONFIG = """clusters:
  - name: prod
    zookeeper: {connect: 'zk1:2181/kafka'}
    controllers: {bootstrap: 'controller-3000:9093'}
    brokers: {bootstrap: 'kafka-001:9092'}
    runbook: {file: zk-to-kraft-jbod}
  - name: edge-7
    controllers: {bootstrap: 'edge-7:9093'}
state_dir: state
console: {listen: '127.0.0.1:0'}
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Of the second one nothing was ever seen."""
    folder: Path = tmp_path_factory.mktemp("console") / "world"
    world = World(folder, now_ms())
    file = folder / "several.yaml"
    file.write_text(CONFIG, "utf-8")
    world.config = load_config(file)
    with serving(world) as served:
        yield looked(served)


def test_a_switch_names_each_with_its_state(desk: Desk) -> None:
    page = desk.open()
    clusters = page.get_by_role("navigation", name="Clusters")
    expect(clusters.get_by_role("link")).to_have_count(2)
    expect(clusters.get_by_role("link", name="prod")).to_have_attribute("aria-current", "true")
    expect(clusters.get_by_role("link", name="edge-7")).to_contain_text("no data")


def test_another_cluster_shows_nothing_of_the_first(desk: Desk) -> None:
    page = desk.open("brokers")
    page.get_by_role("navigation", name="Clusters").get_by_role("link", name="edge-7").click()
    expect(page.locator(".old-band")).to_contain_text("Nothing is known yet")
    expect(page.get_by_text("No broker is known yet.")).to_be_visible()
    assert "#/edge-7/brokers" in page.url
    page.get_by_role("link", name="Runbook").click()
    expect(page.get_by_text("No runbook is configured for edge-7.")).to_be_visible()
    page.get_by_role("navigation", name="Clusters").get_by_role("link", name="prod").click()
    desk.until_present(page)
    expect(page.locator(".checkpoint").first).to_contain_text("preflight")


def test_the_first_one_is_shown_unless_it_is_said(desk: Desk) -> None:
    page = desk.open(url=f"{desk.served.url}/?", cluster="")
    expect(page.get_by_test_id("waiting")).to_contain_text("Waiting for broker 2: ")
    page.get_by_test_id("checkpoint").click()
    expect(page.get_by_role("dialog", name="Checkpoint brokers-kraft[2]")).to_be_visible()


def test_the_switch_is_reached_on_a_phone(desk: Desk) -> None:
    page = desk.open(size=PHONE)
    page.get_by_role("navigation", name="Clusters").get_by_role("link", name="edge-7").click()
    expect(page.locator(".old-band")).to_contain_text("Nothing is known yet")


@pytest.fixture
def twins(desk: Desk, tmp_path: Path) -> Iterator[Desk]:
    with serving(Twins(tmp_path / "twins", now_ms())) as served:
        desk.served = looked(served)
        yield desk
        desk.close()


def test_a_dialog_does_not_move_to_another_cluster(twins: Desk) -> None:
    """Both clusters are at the same checkpoint, so that nothing else distinguishes the actions."""
    page = twins.open()
    page.get_by_role("navigation", name="Clusters").get_by_role("link", name=TWIN).click()
    expect(page.locator(".clusters [aria-current]")).to_contain_text(TWIN)
    page.locator(".actions").get_by_role("button", name="Done").click()
    dialog = page.locator("dialog.action-dialog")
    expect(dialog.locator("h2")).to_contain_text(TWIN)
    sent: list[Request] = []
    page.on("request", lambda one: sent.append(one) if one.method == "POST" else None)
    page.go_back()
    expect(page.locator(".clusters [aria-current]")).to_contain_text("prod")
    expect(dialog).to_have_count(0)
    page.go_forward()
    expect(page.locator(".clusters [aria-current]")).to_contain_text(TWIN)
    expect(dialog).to_have_count(0)
    assert not sent


def test_a_cluster_that_is_not_configured_is_not_replaced_by_another(twins: Desk) -> None:
    page = twins.open("runbook", cluster="stgae")
    main = page.locator("main")
    expect(main).to_contain_text("This console has no cluster stgae.")
    expect(page.locator(".actions")).to_have_count(0)
    expect(page.locator("[aria-current]")).to_have_count(0)
    expect(page).to_have_title(re.compile("no cluster stgae"))
    main.get_by_role("link", name=TWIN).click()
    expect(page.locator(".clusters [aria-current]")).to_contain_text(TWIN)
    assert f"#/{TWIN}/runbook" in page.url


def test_the_shown_cluster_is_in_sight_in_the_switch(desk: Desk, tmp_path: Path) -> None:
    names = [f"payments-eu-central-{number}" for number in range(12)]
    entries = "".join(
        f"  - {{name: {each}, controllers: {{bootstrap: '{each}:9093'}}}}\n" for each in names
    )
    world = World(tmp_path / "many", now_ms())
    file = tmp_path / "many" / "many.yaml"
    file.write_text(CONFIG.replace("state_dir", f"{entries}state_dir"), "utf-8")
    world.config = load_config(file)
    with serving(world) as served:
        desk.served = looked(served)
        for size in (PHONE, LAPTOP):
            page = desk.open(cluster=names[-1], size=size)
            here = page.locator(".clusters [aria-current]")
            expect(here).to_contain_text(names[-1])
            expect(here).to_be_in_viewport(ratio=0.9)
        desk.close()


def test_the_title_names_another_cluster_that_needs_a_person(twins: Desk) -> None:
    page = twins.open(cluster=TWIN)
    expect(page).to_have_title(re.compile(f"^{TWIN}, hybrid"))
    world = twins.served.world
    assert isinstance(world, Twins)
    world.part()
    world.become("by-hand", now_ms())
    twins.served.look()
    expect(page).to_have_title(re.compile(f"^prod needs a person: {TWIN}, hybrid"))
    expect(page.locator("link[rel=icon]")).to_have_attribute("href", "static/icon-person.svg")
    world.become("night", now_ms())
    twins.served.look()
    expect(page).to_have_title(re.compile(f"^{TWIN}, hybrid"))
    world.tell(stale_ms=60_000)
    twins.served.look()
    expect(page).to_have_title(re.compile(f"^prod needs a person: {TWIN}, hybrid"))
