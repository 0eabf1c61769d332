"""Beyond its own host the console shows nothing before the token is typed in."""

import pytest
from playwright.sync_api import expect

from tests.orchestrator.views.browser.conftest import Start
from tests.orchestrator.views.browser.desk import Desk

pytestmark = pytest.mark.browser


def test_the_token_opens_it_and_stays_out_of_the_address(desk: Desk, start: Start) -> None:
    desk.expected = ["401"]
    desk.served = start(console="{listen: '0.0.0.0:0', insecure: true}")
    url = f"http://127.0.0.1:{desk.served.console.at.port}"
    page = desk.open(url=url)
    expect(page.get_by_role("heading", name="The token is needed to read")).to_be_visible()
    expect(page.get_by_test_id("insecure")).to_contain_text("Plain HTTP")
    assert "brokers-kraft" not in page.content()
    page.get_by_label("Token").fill("wrong-wrong-wrong-wrong")
    page.get_by_role("button", name="Open the console").click()
    expect(page.get_by_role("alert")).to_contain_text("not the one of this console")
    page.get_by_label("Token").fill(desk.served.token)
    page.get_by_role("button", name="Open the console").click()
    expect(page.get_by_test_id("waiting")).to_contain_text("Waiting for broker 2: ")
    expect(page.get_by_test_id("insecure")).to_contain_text("Plain HTTP")
    assert desk.served.token not in page.url
    assert desk.served.token not in page.evaluate("document.cookie")
    page.reload()
    expect(page.get_by_test_id("waiting")).to_contain_text("Waiting for broker 2: ")
