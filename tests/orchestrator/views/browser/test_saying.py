"""Approve, pause, resume and abort from the page: named, signed, refused in words."""

import re

import pytest
from playwright.sync_api import Locator, Page, Request, expect

from orchestrator.audit.kinds import EntryKind
from tests.orchestrator.views.browser.conftest import Start, now_ms
from tests.orchestrator.views.browser.desk import Desk
from tests.support.polling import until

pytestmark = [pytest.mark.browser, pytest.mark.long(minutes=0.75)]


def _dialog(page: Page, button: str) -> Locator:
    page.locator(".actions").get_by_role("button", name=button).click()
    dialog = page.locator("dialog.action-dialog")
    expect(dialog).to_be_visible()
    return dialog


def _sign(dialog: Locator, token: str | None, reason: str = "disk of broker 2") -> None:
    dialog.get_by_label("Your name").fill("anna")
    dialog.get_by_label("Why").fill(reason)
    if token is not None:
        dialog.get_by_label("Token").fill(token)


def test_pause_and_resume_with_the_token(desk: Desk) -> None:
    page = desk.open()
    sent: list[Request] = []
    page.on("request", lambda request: sent.append(request))
    dialog = _dialog(page, "Pause")
    expect(dialog).to_contain_text("No further step is begun until an operator resumes.")
    _sign(dialog, desk.served.token)
    dialog.get_by_role("button", name="Pause the execution in prod").dblclick()
    expect(page.locator(".toast")).to_contain_text("paused: no further step is begun")
    assert len([each for each in sent if each.url.endswith("/pause")]) == 1
    desk.refresh()
    expect(page.locator(".execution")).to_contain_text("paused by anna: disk of broker 2")

    dialog = _dialog(page, "Resume")
    expect(dialog).to_contain_text("It was paused by anna: disk of broker 2.")
    expect(dialog.get_by_label("Your name")).to_have_value("anna")
    expect(dialog.get_by_label("Token")).to_have_count(0)
    _sign(dialog, None, "it is back")
    dialog.get_by_role("button", name="Resume the execution in prod").click()
    expect(page.locator(".toast")).to_contain_text("resumed")
    desk.refresh()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    assert not [each for each in sent if desk.served.token in each.url]
    assert desk.served.token not in str(page.context.cookies())


def test_the_token_stays_in_this_tab_and_out_of_the_address(desk: Desk) -> None:
    page = desk.open()
    page.evaluate("sessionStorage.setItem('kraftgate.token', 'x')")
    kept = page.evaluate("[JSON.stringify(localStorage), location.href, document.cookie].join()")
    assert "token" not in kept
    other = page.context.new_page()
    other.goto(desk.served.url)
    assert other.evaluate("sessionStorage.length") == 0


def test_a_wrong_token_is_refused_in_words_and_asked_for_again(desk: Desk) -> None:
    desk.expected = ["401"]
    page = desk.open()
    dialog = _dialog(page, "Pause")
    _sign(dialog, "wrong-wrong-wrong-wrong")
    dialog.get_by_role("button", name="Pause the execution").click()
    expect(dialog.get_by_role("alert")).to_contain_text("the token is not the one of this console")
    expect(dialog.get_by_role("alert")).to_contain_text("which file holds the token")
    expect(dialog.get_by_label("Why")).to_have_value("disk of broker 2")
    assert page.evaluate("sessionStorage.length") == 0
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)


def test_who_and_why_must_be_given(desk: Desk) -> None:
    page = desk.open()
    dialog = _dialog(page, "Pause")
    dialog.get_by_label("Why").fill("because")
    dialog.get_by_label("Token").fill(desk.served.token)
    dialog.get_by_role("button", name="Pause the execution").click()
    assert dialog.get_by_label("Your name").evaluate("field => field.validity.valueMissing")
    expect(dialog).to_be_visible()


def test_what_another_person_did_meanwhile_is_refused_in_words(desk: Desk) -> None:
    desk.expected = ["409"]
    first, second = desk.open(), desk.open()
    one, two = _dialog(first, "Pause"), _dialog(second, "Pause")
    _sign(one, desk.served.token)
    _sign(two, desk.served.token)
    one.get_by_role("button", name="Pause the execution").click()
    expect(first.locator(".toast")).to_contain_text("paused")
    two.get_by_role("button", name="Pause the execution").click()
    expect(two.get_by_role("alert").last).to_contain_text("it is paused already, by anna")
    desk.refresh()
    expect(two.get_by_role("button", name="Pause the execution")).to_be_disabled()
    two.get_by_role("button", name="Cancel").click()
    dialog = _dialog(second, "Resume")
    expect(dialog.get_by_label("Token")).to_have_count(0)  # it was right, though the action was not
    _sign(dialog, None)
    dialog.get_by_role("button", name="Resume the execution").click()
    expect(second.locator(".toast")).to_contain_text("resumed")
    desk.refresh()


def test_an_irreversible_step_is_approved_by_two_who_type_its_cluster(
    desk: Desk, start: Start
) -> None:
    desk.served = start(scene="approve")
    page = desk.open()
    dialog = _dialog(page, "Approve")
    expect(dialog).to_contain_text("finalize[3001]")
    expect(dialog).to_contain_text("It cannot be undone")
    expect(dialog).to_contain_text("2 people must approve; nobody did yet.")
    _sign(dialog, desk.served.token, "soaked for a week")
    dialog.get_by_role("button", name="Approve finalize[3001] in prod").click()
    expect(dialog).to_be_visible()
    dialog.get_by_label(re.compile("^Type the cluster")).fill("prod")
    dialog.get_by_role("button", name="Approve finalize[3001] in prod").click()
    expect(page.locator(".toast")).to_contain_text(
        "finalize[3001] approved by anna (login console)"
    )
    expect(page.locator(".toast")).to_contain_text("2 people must approve, 1 did")
    desk.refresh()
    dialog = _dialog(page, "Approve")
    expect(dialog).to_contain_text("2 people must approve; anna (login console) did.")


def test_abort_is_typed_out_and_ends_the_walk(desk: Desk, start: Start) -> None:
    desk.served = start()
    page = desk.open()
    dialog = _dialog(page, "Abort")
    expect(dialog).to_contain_text("nothing is undone. A hook that still runs goes on")
    _sign(dialog, desk.served.token)
    dialog.get_by_label(re.compile("^Type the cluster")).fill("prod")
    dialog.get_by_role("button", name="Abort the execution in prod").click()
    expect(page.locator(".toast")).to_contain_text("aborted; nothing was undone")
    desk.refresh()
    expect(page.locator(".execution")).to_contain_text("ended: aborted")
    expect(page.get_by_role("button", name="Abort")).to_have_count(0)


def _moves_on(desk: Desk) -> None:
    """The execution goes on to the next broker."""
    while desk.served.world.at.moving < 3:
        desk.served.advance(now_ms(), share=1.0)
    desk.refresh()


def test_a_rollback_begins_only_where_its_dialog_was_opened(desk: Desk, start: Start) -> None:
    desk.served = start()
    page = desk.open()
    dialog = _dialog(page, "Roll back")
    expect(dialog).to_contain_text("Roll back from brokers-kraft[2]")
    _moves_on(desk)
    expect(dialog.get_by_role("alert").first).to_contain_text("Nothing was sent.")
    expect(dialog.get_by_role("button", name="Roll back from")).to_be_disabled()


def _has_moved_on(desk: Desk, dialog: Locator, button: str) -> None:
    desk.refresh()
    expect(dialog.get_by_role("alert").first).to_contain_text("moved on since you opened this.")
    expect(dialog.get_by_role("button", name=button)).to_be_disabled()


def test_a_dialog_is_about_the_failure_for_which_it_was_opened(desk: Desk, start: Start) -> None:
    desk.served = start(scene="failed-step")
    page = desk.open()
    dialog = _dialog(page, "Done")
    desk.served.world.fail_again()
    _has_moved_on(desk, dialog, "Done brokers-kraft")


def test_a_dialog_is_about_the_execution_for_which_it_was_opened(desk: Desk, start: Start) -> None:
    desk.served = start()
    page = desk.open()
    dialog = _dialog(page, "Abort")
    desk.served.world.begin_another()
    _has_moved_on(desk, dialog, "Abort the execution")


def test_an_approval_is_for_the_state_for_which_its_dialog_was_opened(
    desk: Desk, start: Start
) -> None:
    desk.served = start(scene="approve")
    page = desk.open()
    dialog = _dialog(page, "Approve")
    desk.served.world.fail_disk()
    desk.refresh()
    expect(dialog.get_by_role("alert")).to_contain_text("The state has changed since you opened")
    expect(dialog.get_by_role("button", name="Approve finalize")).to_be_disabled()


def test_what_was_sent_is_not_said_to_be_not_sent(desk: Desk, start: Start) -> None:
    """The answer is lost, and the state shows the next checkpoint."""
    desk.served = start()
    page = desk.open()
    page.route("**/api/clusters/prod/skip", lambda route: route.fetch())
    dialog = _dialog(page, "Skip")
    _sign(dialog, desk.served.token)
    dialog.get_by_label(re.compile("^Type the cluster")).fill("prod")
    dialog.get_by_role("button", name="Skip brokers-kraft[2] in prod").click()
    said = desk.served.world.log

    def is_recorded() -> bool:
        page.title()  # playwright calls the route's handler while it waits for the page
        return any(e.kind == EntryKind.CHECKPOINT_SKIPPED for e in said.entries("prod"))

    until(is_recorded)
    _moves_on(desk)
    expect(dialog.get_by_role("alert").first).to_contain_text("This was sent")


def test_a_walk_that_moved_on_is_not_approved_by_an_old_dialog(desk: Desk, start: Start) -> None:
    desk.served = start(scene="approve")
    page = desk.open()
    dialog = _dialog(page, "Approve")
    _sign(dialog, desk.served.token)
    world = desk.served.world
    world._pass("finalize[3001]", world.at.now_ms)
    desk.refresh()
    expect(dialog.get_by_role("alert").first).to_contain_text("The execution has moved on")
    expect(dialog.get_by_role("button", name="Approve finalize")).to_be_disabled()
