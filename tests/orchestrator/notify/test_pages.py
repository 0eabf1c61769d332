"""The alerts' pages: one for each alert, all of one shape, naming only what exists."""

import re
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from migration.assessment.conditions import parse
from migration.assessment.hazards import Action, HazardKind
from orchestrator.cli.program import main
from orchestrator.lab.machine.jars import ensure_jars
from orchestrator.lab.machine.java import find_java
from orchestrator.views.metrics.collector import metrics
from tests.orchestrator.notify.pages import (
    EVERYTHING,
    FOLDER,
    PAGES,
    SHELL,
    TOOLS,
    ZOOKEEPER_SHELL,
    commands,
    every,
    firsts,
)
from tests.orchestrator.notify.rules import alerts
from tests.support.polling import PATIENCE_S


def test_every_rule_has_its_page_and_every_page_its_rule() -> None:
    assert {each.stem for each in PAGES} == {each.name for each in alerts()}


@pytest.mark.parametrize("page", PAGES, ids=lambda each: each.stem)
def test_a_page_has_what_one_looks_for_at_night(page: Path) -> None:
    text = page.read_text("utf-8")
    assert text.startswith(f"# {page.stem}\n")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == [
        "Meaning",
        "Impact",
        "Diagnosis",
        "Mitigation",
    ]
    severities = {each.severity for each in alerts() if each.name == page.stem}
    opening = text.partition("## Meaning")[0].lower()
    assert {each for each in ("critical", "warning") if each in opening} == severities
    mitigation = text.partition("## Mitigation")[2]
    assert "**Do not**" in mitigation
    assert "**Wake**" in mitigation
    diagnosis = text.partition("## Diagnosis")[2].partition("## Mitigation")[0]
    assert re.search(r"^ {7}\S", diagnosis, re.MULTILINE), "no command to begin with"
    assert any(each[0] == "kraftgate" for each in commands(page))


@pytest.mark.parametrize("page", EVERYTHING, ids=lambda each: each.stem)
def test_what_a_page_names_exists(page: Path) -> None:
    text = page.read_text("utf-8")
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        assert (FOLDER / target).is_file(), target
    for alert in re.findall(r"Kraftgate[A-Z]\w+", text):
        assert (FOLDER / f"{alert}.md").is_file(), alert
    declared = {each.name for each in metrics()}
    assert set(re.findall(r"kraftgate_\w+", text)) <= declared
    for hazard in re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE):
        if page.stem != "KraftgateStreamStale":
            assert hazard in set(HazardKind), hazard
    for words in commands(page):
        for at, word in enumerate(words):
            if word == "--condition":
                parse(words[at + 1])


def test_each_command_is_one_that_is_known() -> None:
    assert firsts() <= {"kraftgate", ZOOKEEPER_SHELL, *TOOLS, *SHELL}


@pytest.mark.parametrize("words", every("kraftgate"), ids=" ".join)
def test_each_command_of_kraftgate_takes_its_options(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(main, [*words[1:], "--help"])
    assert done.exit_code == 0, done.stderr


def test_hazards_that_forbid_a_restart_are_explained_on_their_page() -> None:
    text = (FOLDER / "KraftgateHazardBlocksRestart.md").read_text("utf-8")
    told = set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
    forbid = {str(kind) for kind in HazardKind if Action.RESTART in kind.blocks}
    assert told == forbid - {"unfenced_early", "stale_migration_znode"}, "these have their own"


@pytest.mark.lab
@pytest.mark.parametrize("script", sorted(TOOLS))
def test_each_of_kafkas_tools_has_the_options_that_pages_give_it(script: str) -> None:
    """Asked of the tool's own help, in the lab's Kafka."""
    used = every(script)
    assert used, "no page names it"
    printed = help_of(TOOLS[script])
    assert "Could not find or load main class" not in printed
    for words in used:
        if len(words) > 3 and words[3] == "describe":
            printed += help_of(TOOLS[script], *words[1:4])
        elif "unregister" in words:
            printed += help_of(TOOLS[script], "unregister")
    options = {word for words in used for word in words if word.startswith("--")}
    assert {each for each in options if each not in printed} == set()


def test_the_shell_of_zookeeper_is_given_words_that_it_knows() -> None:
    for _, _, word, *rest in every(ZOOKEEPER_SHELL):
        assert word in {"get", "ls", "delete", "create", "set"}
        assert next(each for each in rest if each != "-s").startswith("/")


def help_of(main_class: str, *arguments: str) -> str:
    """What the tool prints when it is asked for help; some end with 1 then."""
    done = subprocess.run(
        [find_java(), "-cp", ensure_jars().classpath, main_class, *arguments, "--help"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return done.stdout + done.stderr
