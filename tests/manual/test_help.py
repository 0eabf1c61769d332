"""`kraftgate help` prints the handbook."""

import re

import pytest
from click.testing import CliRunner, Result

from orchestrator.cli.program import main
from orchestrator.output.manual import HANDBOOK, topics
from orchestrator.views.console.web.manual import rendered


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["help", *arguments])


def test_it_lists_every_topic() -> None:
    listed = [line.split()[0] for line in run().stdout.splitlines()]
    assert listed == list(topics())
    folders = (HANDBOOK, HANDBOOK / "reference", HANDBOOK.parent / "alerts")
    pages = [page for folder in folders for page in folder.glob("*.md")]
    assert set(topics().values()) == {*pages} - {HANDBOOK / "README.md"}
    assert topics()["on-call"] == HANDBOOK.parent / "alerts" / "README.md"


def test_it_prints_a_page() -> None:
    done = run("rollback")
    assert done.exit_code == 0
    links = re.compile(r"\]\([^)]*\)")
    written = (HANDBOOK / "rollback.md").read_text("utf-8")
    assert links.sub("", done.stdout) == links.sub("", written)


@pytest.mark.parametrize("topic", topics())
def test_a_link_names_its_topic(topic: str) -> None:
    for target in re.findall(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)", run(topic).stdout):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        assert name in {"", *topics()}, target
        assert not anchor or f' id="{anchor}"' in rendered(name or topic), target


def test_it_names_the_nearest_of_an_unknown_topic() -> None:
    done = run("conditons")
    assert done.exit_code == 2
    assert "did you mean `conditions`?" in done.stderr
