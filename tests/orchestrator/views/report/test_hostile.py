"""Names and words of strangers: shown as they are, and never obeyed."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from orchestrator.audit.execution import entries
from orchestrator.output.visible import visible
from orchestrator.views.report.formats.text import fenced, heads, plain, row
from tests.orchestrator.views.report.making import Made
from tests.orchestrator.views.report.night import (
    ALERT,
    began,
    follow,
    hazard,
    keep_runbook,
    orchestrator,
)
from tests.orchestrator.views.report.reporting import run
from tests.orchestrator.views.report.said import ended, entered, started

SCRIPT = "<script>alert(1)</script>"
IMAGE = "\"><img src=x onerror=alert(1)>'"
LINK = "[click](javascript:alert(1)) `x` | **b** <b>"
TURNED = "user\u202egnp.exe\x1b[2J\x00\u2028end"
WORDS = (SCRIPT, IMAGE, LINK, TURNED)
ALLOWED = frozenset(
    {
        "html", "head", "meta", "title", "style", "body", "header", "nav", "main", "section",
        "footer", "h1", "h2", "h3", "h4", "p", "div", "ul", "li", "a", "dl", "dt", "dd", "table",
        "caption", "thead", "tbody", "tr", "th", "td", "details", "summary", "pre", "code", "span",
        "time", "abbr", "br", "svg", "desc", "g", "path", "defs", "clippath", "rect", "use", "text",
    }
)  # fmt: skip


class Tags(HTMLParser):
    """Every tag, and every attribute that could do something."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.acts: set[str] = set()
        self.links: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name.startswith("on"):
                self.acts.add(name)
            if name in ("href", "src", "action", "xlink:href"):
                self.links.add(value or "")


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Whatever comes from outside says what it should not."""
    made = Made(tmp_path)
    keep_runbook(made)
    made.say(0, follow(1), began(SCRIPT), orchestrator(1), entered("brokers-kraft[1]"))
    made.say(1_000, started("brokers-kraft[1]", 1, "sh", SCRIPT, IMAGE))
    output = (
        "".join(f"{each}\n" for each in WORDS) + "```\n# not a heading\npassword=hunter2hunter2\n"
    )
    made.say(2_000, ended("brokers-kraft[1]", exit_code=1, output=output))
    made.say(3_000, entries.Paused(
        by=entries.Person(who=IMAGE, login=SCRIPT, host=LINK), reason=TURNED))  # fmt: skip
    made.say(4_000, hazard(text=SCRIPT, evidence=WORDS, way_out=LINK))
    made.say(4_500, ALERT.model_copy(update={"description": IMAGE, "labels": {SCRIPT: LINK}}))
    made.say(5_000, entries.UnexpectedChange(text=TURNED))
    for number, word in enumerate(WORDS):
        made.tell("topic_created", 6_000, offset=4, topic=word, topic_id="x")
        made.tell("disks_unreachable", 7_000, number, reason=word)
        made.tell("zookeeper_blind", 7_000, reason=word)
    made.tell("records_lost", 9_000, 2, topic=SCRIPT, partition=3, first_lost_offset=80,
              last_lost_offset=99, start_offset_now=0, end_offset_seen_ms=1)  # fmt: skip
    made.tell("a_kind_of_tomorrow", 9_000, word=SCRIPT)
    made.store()
    made.status("source.json", 10_000, limits=WORDS)
    return made


def test_the_page_has_no_markup_but_its_own(made: Made) -> None:
    page = run(made).stdout
    seen = Tags()
    seen.feed(page)
    assert seen.tags <= ALLOWED, seen.tags - ALLOWED
    assert seen.acts == set()
    assert all(each.startswith("#") for each in seen.links)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page


def test_the_page_fetches_nothing(made: Made) -> None:
    page = run(made).stdout
    assert not re.search(r"url\((?!#)", page)
    assert not re.search(r"@import|src\s*=\s*[\"']", page.replace("src=x onerror", ""))


def test_what_hides_is_shown(made: Made) -> None:
    for format_ in ("html", "markdown"):
        text = run(made, "--format", format_).stdout
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2028\u2029]", text)
        assert "202e" in text
    told = run(made, "--format", "json").stdout
    assert told.isascii()


def test_json_has_the_words_as_they_are(made: Made) -> None:
    (cluster,) = json.loads(run(made, "--format", "json").stdout)["clusters"]
    reasons = {each["why"] for each in cluster["unseen"] if each["source"] == "log_dirs"}
    assert IMAGE in reasons


def test_markdown_has_no_markup_but_its_own(made: Made) -> None:
    page = run(made, "--format", "markdown").stdout
    outside = re.sub(r"^(`{3,})text\n.*?^\1$", "", page, flags=re.MULTILINE | re.DOTALL)
    assert not re.search(r"(?<!\\)<", outside)
    assert not re.search(r"(?<!\\)\]\(", outside)
    assert "# not a heading" in page
    assert "# not a heading" not in outside
    tables = re.findall(r"(?:^\| .*\n)+", outside, flags=re.MULTILINE)
    assert len(tables) > 5
    for each in tables:
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in each.splitlines()}) == 1


def test_secrets_stand_in_no_format(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", "correct-horse-battery")
    made.tell("disks_unreachable", 8_000, 2, reason="SASL: correct-horse-battery is wrong")
    made.tell("jmx_unreachable", 8_000, node=1, reason="http://bob:s3cr3t-s3cr3t@b1:7071/")
    made.cluster = "prod"
    (made.state / "store.db").unlink()
    made.store()
    for format_ in ("html", "json", "markdown"):
        text = run(made, "--format", format_).stdout
        for secret in ("correct-horse-battery", "s3cr3t-s3cr3t", "hunter2hunter2"):
            assert secret not in text
        assert "redacted" in text


def test_a_secret_may_be_a_word_of_the_report_itself(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`kraftgate` is the name of a lane, and `broker` that of a field."""
    for secret in ("kraftgate", "broker", "metadata_log"):
        monkeypatch.setenv("KAFKA_PASSWORD", secret)
        (cluster,) = json.loads(run(made, "--format", "json").stdout)["clusters"]
        assert {"metadata", "kraftgate"} <= {each["lane"] for each in cluster["happened"]}
        assert run(made, "--format", "markdown").exit_code == run(made).exit_code


def test_text_that_is_only_text_stays_as_it_is() -> None:
    assert visible("grüße 東京 → ok\n\tand on") == "grüße 東京 → ok\n\tand on"
    assert visible("a\x00b\u2066c") == "a\\x00b\\u2066c"


def test_a_table_s_cell_is_one_line() -> None:
    assert heads("a", "n#") == "| a | n |\n| --- | --: |"
    assert row("x\ny|z", 1) == "| x y\\|z | 1 |"
    assert row(None, "") == "| - | - |"


def test_the_beginning_of_a_line_is_no_list_and_no_heading() -> None:
    assert [plain(each) for each in ("- a", "+ a", "# a", "1. a", "a - b", "snake_case _b_")] == [
        "\\- a",
        "\\+ a",
        "\\# a",
        "1\\. a",
        "a - b",
        "snake_case \\_b\\_",
    ]


def test_no_text_ends_its_fence() -> None:
    lines = fenced("```\n`````\n").splitlines()
    assert lines[0] == "``````text"
    assert lines[-1] == "``````"
