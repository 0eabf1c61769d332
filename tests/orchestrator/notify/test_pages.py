"""The alerts' pages: one for each alert, all of one shape, naming only what exists."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

from migration.assessment.conditions import parse
from migration.assessment.hazards import Action, HazardKind
from orchestrator.cli.program import main
from orchestrator.lab.machine.archive import sharing
from orchestrator.lab.machine.jars import ensure_jars
from orchestrator.lab.machine.java import find_java
from orchestrator.views.metrics.collector import metrics
from tests.orchestrator.notify.pages import (
    EVERYTHING,
    FOLDER,
    LOGGED_BY,
    OWN_FILES,
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


def first_page() -> str:
    return " ".join((FOLDER / "README.md").read_text("utf-8").split())


@pytest.mark.parametrize(
    ("words", "all_clusters"),
    [
        (["status"], True),
        (["hazards"], True),
        (["wait", "--condition", "isr_full", "--timeout", "1s"], True),
        (["what-if", "--broker", "3"], False),
        (["log-dirs", "--broker", "3"], False),
        (["pause", "--reason", "an alert"], False),
    ],
    ids=lambda each: each[0] if isinstance(each, list) else "",
)
def test_the_first_page_says_which_commands_are_about_all_clusters(
    tmp_path: Path, words: list[str], all_clusters: bool
) -> None:
    assert "`--cluster NAME` (the alert's label `cluster`)" in first_page()
    [named] = re.findall(r"Without it, ([^.]*) are about all clusters", first_page())
    assert (f"`{words[0]}`" in named) is all_clusters
    config = tmp_path / "kraftgate.yaml"
    config.write_text("state_dir: state\nclusters: [{name: prod}, {name: test}]\n", "utf-8")
    done = CliRunner().invoke(main, [*words, "--config", str(config)])
    refused = "pass --cluster with one of: prod, test" in done.stderr
    assert refused is not all_clusters, done.output
    assert (done.exit_code == 2) is refused, done.output


def test_the_first_page_gives_the_shell_of_zookeeper_the_login_that_may_write() -> None:
    page = first_page()
    [line] = re.findall(r"Where `zookeeper.set.acl=true`.*?(?= - )", page)
    for each in ("java.security.auth.login.config", "-zk-tls-config-file", "getAcl /"):
        assert each in line
    rollback = (FOLDER.parent / "handbook" / "rollback.md").read_text("utf-8")
    assert "zookeeper.set.acl=true" in rollback


@pytest.mark.parametrize("name", ["KraftgateLogDirOffline", "KraftgateHazardBlocksRestart"])
def test_a_halt_in_migration_mode_is_found_in_the_brokers_log(name: str) -> None:
    """ReplicaManager.handleLogDirFailure logs the directory, and then halts."""
    text = (FOLDER / f"{name}.md").read_text("utf-8")
    assert 'grep "Shutdown broker because" server.log' in text
    assert "without a message" not in text


def test_no_page_takes_a_stray_for_deleted() -> None:
    """Kafka moves it aside: LogManager.asyncDelete(isStray = true)."""
    text = (FOLDER / "KraftgateHazardBlocksRestart.md").read_text("utf-8")
    impact = text.partition("## Impact")[2].partition("## ")[0]
    assert "-stray" in impact
    assert "delete" not in impact


def test_hazards_that_forbid_a_restart_are_explained_on_their_page() -> None:
    text = (FOLDER / "KraftgateHazardBlocksRestart.md").read_text("utf-8")
    explained = set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
    forbid = {str(kind) for kind in HazardKind if Action.RESTART in kind.blocks}
    own_pages = {"unfenced_early", "stale_migration_znode", "replica_misplaced"}
    assert explained == forbid - own_pages, "these have pages of their own"


@pytest.mark.parametrize("words", every("grep"), ids=" ".join)
def test_each_search_is_in_the_file_that_the_logger_writes(words: tuple[str, ...]) -> None:
    """By Kafka's config/log4j.properties: a few loggers have a file of their own."""
    if not words[-1].endswith(".log"):
        return
    patterns = [each for each in words[1:-1] if each not in {"-e", "-i"}]
    for logger in (LOGGED_BY[each] for each in patterns):
        own = [file for prefix, file in OWN_FILES.items() if f"{logger}.".startswith(f"{prefix}.")]
        assert words[-1] == (own[0] if own else "server.log"), logger


@pytest.mark.lab
@pytest.mark.parametrize("script", sorted(TOOLS))
def test_each_of_kafkas_tools_has_the_options_that_pages_give_it(script: str) -> None:
    """Asked of the tool's own help, in the lab's Kafka."""
    used = every(script)
    assert used, "no page names it"
    commands = {()} | {subcommand(words) for words in used}
    printed = "".join(help_of(TOOLS[script], *each) for each in sorted(commands))
    assert "Could not find or load main class" not in printed
    options = {word for words in used for word in words if word.startswith("--")}
    assert {each for each in options if each not in printed} == set()


def test_the_shell_of_zookeeper_is_given_words_that_it_knows() -> None:
    for _, _, word, *rest in every(ZOOKEEPER_SHELL):
        assert word in {"get", "getAcl", "ls", "delete", "create", "set"}
        assert next(each for each in rest if each != "-s").startswith("/")


def subcommand(words: tuple[str, ...]) -> tuple[str, ...]:
    """The beginning of a tool's command whose help has further options; usually nothing."""
    if len(words) > 3 and words[3] == "describe":
        return words[1:4]
    return ("unregister",) if "unregister" in words else ()


@cache
def tool() -> tuple[str, ...]:
    """What runs a class of Kafka; Java is asked and the jars are verified once."""
    java = find_java()
    quick = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *sharing(java))
    return (java, *quick, "-cp", ensure_jars().classpath)


def help_of(main_class: str, *arguments: str) -> str:
    """What the tool prints when it is asked for help; some end with 1 then."""
    done = subprocess.run(
        [*tool(), main_class, *arguments, "--help"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return done.stdout + done.stderr
