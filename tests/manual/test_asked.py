"""Every message that asks for something names the command or the button that does it."""

import ast
import json
import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, get_args

import pytest

from migration.assessment.next_action import Need
from orchestrator.execution.allowed import Action
from tests.golden.test_golden import EXPECTED
from tests.manual.pages import OWN, ROOT
from tests.manual.resolving import parse, require_options

SCENES: Final = sorted(EXPECTED.glob("*/console.json"))
ALERTS: Final = sorted(each for each in (ROOT / "runbooks" / "alerts").glob("Kraftgate*.md"))
PAGE: Final = ROOT / "orchestrator" / "views" / "console" / "static" / "js"
_MENTION: Final = re.compile(r"`kraftgate\s+([a-z-][^`]*)`")
_BARE: Final = re.compile(r"(?:\(|(?<!`): |only |with |[Ss]tart )kraftgate ([a-z][a-z-]*)")
"""The first word of a command without backticks."""
_BLOCK: Final = re.compile(r"^ {4,}kraftgate (.+)$", re.MULTILINE)
_DECISIONS: Final = {"--done": "done", "--repeat": "repeat", "--execute": "execute"}


def mentions() -> Iterator[tuple[str, str]]:
    """The commands in the messages of the code, in runbooks, alert pages and the manual."""
    for top in OWN:
        for file in sorted((ROOT / top).rglob("*")):
            if "node_modules" in file.parts or not file.is_file():
                continue
            for text in _texts(file):
                for match in (*_MENTION.finditer(text), *_BARE.finditer(text)):
                    yield str(file.relative_to(ROOT)), " ".join(match[1].split())


def _texts(file: Path) -> Iterator[str]:
    if file.suffix == ".py":
        source = file.read_text("utf-8")
        for node in ast.walk(ast.parse(source)) if "kraftgate" in source else ():
            if isinstance(node, ast.JoinedStr):
                parts = (getattr(each, "value", 1) for each in node.values)
                yield "".join(each if isinstance(each, str) else "1" for each in parts)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
    elif file.suffix in {".md", ".yaml", ".js"}:
        yield file.read_text("utf-8")


def clusters() -> Iterator[tuple[str, Any]]:
    """The state of each cluster of each recorded scene, as the console gets it."""
    for file in SCENES:
        for each in json.loads(file.read_text("utf-8"))["clusters"]:
            yield file.parent.name, each


ASKING: Final = [
    pytest.param(each, id=f"{scene}-{each['name']}")
    for scene, each in clusters()
    if each["head"]["next"]["need"] in {Need.YOUR_TURN, Need.WRONG}
]


@pytest.mark.parametrize("cluster", ASKING)
def test_a_headline_that_asks_has_a_command_or_the_task(cluster: Any) -> None:
    now, walk = cluster["head"]["next"], cluster["walk"]
    by_hand = walk is not None and walk["shown"] and "done" in walk["can"]
    assert now["commands"] or by_hand, now
    for each in now["commands"]:
        program, *words = shlex.split(each)
        assert program == "kraftgate"
        parse(words)


@pytest.mark.parametrize("cluster", ASKING)
def test_a_command_about_the_execution_has_its_button(cluster: Any) -> None:
    walk = cluster["walk"]
    for each in cluster["head"]["next"]["commands"]:
        verb, *words = shlex.split(each)[1:]
        action = next((_DECISIONS[word] for word in words if word in _DECISIONS), verb)
        if action in get_args(Action):
            assert action in walk["can"], each


def test_the_page_has_a_button_for_each_action() -> None:
    script = (PAGE / "now.js").read_text("utf-8")
    block = script.partition("export const ACTIONS = {")[2].partition("\n};")[0]
    labels = dict(re.findall(r'^  (\w+): \{ label: "([^"]+)"', block, re.MULTILINE))
    assert set(labels) == set(get_args(Action))
    assert len(set(labels.values())) == len(labels)


@pytest.mark.slow
def test_a_command_in_a_message_exists() -> None:
    found, wrong = sorted(set(mentions())), []
    for where, command in found:
        try:
            require_options(shlex.split(command.replace("...", "").partition(" | ")[0]))
        except LookupError as error:
            wrong.append(f"{where}: `kraftgate {command}`: {error}")
    assert not wrong, "\n".join(wrong)
    assert {Path(where).suffix for where, _ in found} == {".js", ".md", ".py", ".yaml"}


ORDERS: Final = re.compile(
    r"(?:^|[:;.,(] | or | and )"
    r"(?:start|restart|run|begin|abort|approve|decide|resume|pause|skip|roll back|cancel)\b",
    re.IGNORECASE,
)
"""An instruction to do what a command does."""
_ANOTHER_PROGRAM: Final = re.compile(
    r"spark-submit|apt-get install|make console|chown -R|as the user who owns it"
)
"""What an error asks to run and is no command of Kraftgate."""


def raised() -> Iterator[tuple[str, str]]:
    """The texts of the errors that the code raises, with 1 for each value."""
    for top in ("orchestrator", "streams", "migration"):
        for file in sorted((ROOT / top).rglob("*.py")):
            source = file.read_text("utf-8")
            for node in ast.walk(ast.parse(source)) if "raise " in source else ():
                if isinstance(node, ast.Raise) and node.exc is not None:
                    yield f"{file.relative_to(ROOT)}:{node.lineno}", "".join(_strings(node.exc))


def _strings(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            yield node.value
    elif isinstance(node, ast.FormattedValue):
        yield "1"
    else:
        for each in ast.iter_child_nodes(node):
            yield from _strings(each)


def _names_a_command(text: str) -> bool:
    for words in re.findall(r"kraftgate ([a-z-]+(?: --[a-z-]+)*)", text):
        with suppress(LookupError):
            require_options(words.split())
            return True
    return _ANOTHER_PROGRAM.search(text) is not None


@pytest.mark.slow
def test_an_error_that_asks_for_a_command_names_it() -> None:
    asking = [(where, text) for where, text in raised() if ORDERS.search(text)]
    silent = [f"{where}: {text}" for where, text in asking if not _names_a_command(text)]
    assert not silent, "\n".join(silent)
    assert len(asking) > 10
    assert _names_a_command("start kraftgate run --execute first")
    assert not _names_a_command("start kraftgate rum first")
    assert not _names_a_command("abort it, and start kraftgate with --executed")


@pytest.mark.parametrize("page", ALERTS, ids=lambda page: page.stem)
def test_an_alert_page_s_commands_are_parsed_and_its_mitigation_names_one(
    page: Path, tmp_path: Path
) -> None:
    text = page.read_text("utf-8")
    for match in _BLOCK.finditer(text):
        words = shlex.split(match[1].partition(" | ")[0].partition(" > ")[0])
        if words[0] == "meta-properties":  # its directories must exist
            words = [str(tmp_path) if each.startswith("/data/") else each for each in words]
        parse(words)
    mitigation = text.partition("\n## Mitigation\n")[2]
    assert re.search(r"`[a-z][\w.-]+ [^`]+`|^ {4,}\S", mitigation, re.MULTILINE), page.name
