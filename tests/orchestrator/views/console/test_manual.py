"""The handbook in the console: every page is drawn, every link leads somewhere."""

import re
from pathlib import Path

import pytest

from migration.assessment.hazards import HazardKind
from orchestrator.output.manual import HANDBOOK, topics
from orchestrator.views.console.web.manual import rendered
from tests.orchestrator.views.console.conftest import Start
from tests.orchestrator.views.console.reading import client

_PICTURES = HANDBOOK.parent / "pictures"


def ids(page: str) -> set[str]:
    return set(re.findall(r' id="([^"]+)"', page))


@pytest.mark.parametrize("topic", topics())
def test_every_link_of_a_page_leads_somewhere(topic: str) -> None:
    page = rendered(topic)
    for target in re.findall(r'<a href="([^"]+)"', page.partition("<main>")[2]):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        assert name in {"", *topics()}, target
        assert not anchor or anchor in ids(rendered(name or topic)), target
    for source in re.findall(r'<img src="([^"]+)"', page):
        assert (_PICTURES / Path(source).name).exists()


def test_each_hazard_has_its_anchor() -> None:
    assert {str(each) for each in HazardKind} <= ids(rendered("hazards"))


def test_text_that_looks_like_html_stays_text() -> None:
    pages = "".join(rendered(topic).partition("<main>")[2] for topic in topics())
    assert not re.search(r"<(script|iframe|style)", pages)


def test_the_console_serves_it(start: Start) -> None:
    served = start()
    with client(served) as http:
        page = http.get("/help/KraftgateLogDirOffline")
        assert page.status_code == 200
        assert "<h1" in page.text
        assert 'href="KraftgateLogDirOffline"' in http.get("/help/index").text
        assert http.get("/pictures/console-phone.png").headers["content-type"] == "image/png"
        missing = http.get("/help/nothing")
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "not_found")
