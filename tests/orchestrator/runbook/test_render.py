"""The page says everything that the file says, and a Markdown reader shows all of it."""

import re

import pytest
from markdown_it import MarkdownIt

from orchestrator.runbook.load import load, parse, shipped
from orchestrator.runbook.markdown import page
from orchestrator.runbook.places import everywhere
from orchestrator.runbook.templates import readable
from tests.orchestrator.runbook.texts import PATH, RIGHT, changed

EVERY = sorted(shipped())


def plain(text: str) -> str:
    """Give a text without its line breaks, for comparing."""
    return " ".join(text.split())


@pytest.mark.parametrize("name", EVERY)
def test_everything_of_the_file_is_on_the_page(name: str) -> None:
    book = load(name).runbook
    shown = plain(page(book))
    for place in everywhere(book):
        checkpoint = place.checkpoint
        assert plain(checkpoint.title) in shown
        assert plain(checkpoint.explain) in shown
        for text in (*checkpoint.already, *checkpoint.needs, *checkpoint.opens_when):
            assert f"`{text}`" in shown
        if checkpoint.step is not None:
            assert f"(step `{checkpoint.step.name}`)" in shown
            fields = readable({}, checkpoint.for_each)
            assert plain(checkpoint.step.manual.format(**fields)) in shown
    for way in book.rollbacks:
        assert plain(way.explain) in shown


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("zk-to-kraft-jbod", {"enter-migration", "leave-kraft"}),
        ("kraft-jbod", {"add-log-dirs"}),
    ],
)
def test_a_step_by_hand_leaves_no_broker_to_its_supervisor(name: str, steps: set[str]) -> None:
    """A broker that halts at a failed disk loses replicas if systemd starts it again."""
    book = load(name).runbook
    texts = {
        place.checkpoint.step.name: place.checkpoint.step.manual
        for place in everywhere(book)
        if place.checkpoint.step is not None
    }
    for step in steps:
        assert "Restart=no" in plain(texts[step])


@pytest.mark.parametrize("name", EVERY)
def test_nothing_is_swallowed_and_every_link_leads_somewhere(name: str) -> None:
    shown = page(load(name).runbook)
    anchors = set(re.findall(r'<a id="([^"]+)"></a>', shown))
    links = set(re.findall(r"\]\(#([^)]+)\)", shown))
    assert links <= anchors
    swallowed = [
        token.content
        for block in MarkdownIt().parse(shown)
        for token in (block, *(block.children or ()))
        if token.type in {"html_inline", "html_block"}
    ]
    assert {one.strip() for one in swallowed} <= {
        "</a>",
        *(f'<a id="{anchor}">' for anchor in anchors),
    }


def test_a_page_in_words() -> None:
    shown = page(parse(RIGHT, PATH).runbook)
    assert "2. Brokers, one at a time (`brokers`, for each broker)" in shown
    assert "one at a time: rack by rack, ZooKeeper's controller last, by id." in shown
    assert "On its host restart broker BROKER." in shown
    assert "**2 people approve it**, each with `kraftgate approve end --reason" in shown
    assert 'approve end --reason "..." --confirm CLUSTER' in shown
    assert "No rollback is needed: nothing was changed yet" in shown
    one = page(parse(changed("people: 2", "people: 1"), PATH).runbook)
    assert "**One person approves it** with `kraftgate approve end" in one
    assert "'back-log-dirs[ID]'" in page(load("kraft-jbod").runbook)
    assert "Once, for every broker." in page(load("kraft-jbod").runbook)
    assert "- `lag-is-low`: Kraftgate runs `/usr/local/bin/lag --max 100`, for 5s at most." in shown


def test_what_comes_first_stands_first() -> None:
    text = changed(
        "    opens_when: [finalized]\n", "    after: [ready]\n    opens_when: [finalized]\n"
    )
    shown = page(parse(text, PATH).runbook)
    assert "It follows `ready`." in shown


def test_what_destroys_data_is_said_in_the_page_with_who_approves_it() -> None:
    shown = page(load("zk-to-kraft-jbod").runbook)
    assert shown.count("**It destroys data, or the storage of data.**") == 3
    assert "The approval of `back-controllers` covers it." in shown
