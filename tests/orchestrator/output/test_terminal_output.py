"""Text of others reaches a terminal in one way only, and nothing in it is obeyed there."""

import ast
import io
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

from orchestrator.cli.framework import Program, log_options
from orchestrator.errors import HazardError, KraftgateError, LockHeld
from orchestrator.execution.locks.zookeeper_lock import _who
from orchestrator.output.printing import (
    JsonFormatter,
    VisibleFormatter,
    echo,
    echo_exact,
    echo_json,
    echo_message,
    echo_text,
    write_line,
)
from orchestrator.output.rich_console import console
from orchestrator.process.logs import log_to_stderr
from streams.zookeeper.calls import Znode

ROOT = Path(__file__).parents[3]
PRINTERS = ("orchestrator/output/printing.py", "orchestrator/output/rich_console.py")
ALLOWED = {
    # A supervisor's one word to its parent, through a pipe.
    ("orchestrator/hooks/supervisor.py", "sys.stdout"),
    # A process's messages to its parent, through a pipe.
    ("streams/process/child.py", "sys.stdout"),
    # Before a JVM starts, what is buffered is written; nothing is printed.
    ("streams/spark/session.py", "sys.stdout"),
    ("streams/spark/session.py", "sys.stderr"),
    # A build step's one fixed sentence.
    ("streams/spark/warm.py", "sys.stderr"),
    # Its errors get a name; nothing is printed.
    ("orchestrator/process/crash.py", "sys.stdout"),
    # Whether it is a terminal, and where the live view's lines go.
    ("orchestrator/cli/run.py", "sys.stdout"),
    ("orchestrator/demo.py", "sys.stdout"),
    ("orchestrator/process/logs.py", "sys.stderr"),
    ("orchestrator/process/logs.py", "logging.StreamHandler"),
}
FORBIDDEN = {
    "print",
    "click.echo",
    "click.secho",
    "click.prompt",
    "click.confirm",
    "click.progressbar",
    "sys.stdout",
    "sys.stderr",
    "rich.print",
    "Text.from_markup",
    "Text.from_ansi",
    "logging.Formatter",
    "logging.StreamHandler",
}
HOSTILE = (
    "\x1b[2J\x1b]0;all is well\x07",
    "\x9b31m",
    "abc\u202egnp.exe",
    "a\u2066b\u2069",
    "nul\x00",
    "del\x7f",
    "back\x08\x08\rforged",
    "lone \ud800 surrogate",
    "[bold red]markup[/] [link=http://evil]x[/link] :boom:",
)
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

_LAST = {each.rpartition(".")[2] for each in FORBIDDEN}


def printed_by(path: Path) -> Iterator[str]:
    """Give each forbidden name that a module uses."""
    rich_console = False
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "rich.console":
            rich_console = any(each.name == "Console" for each in node.names)
        last = getattr(node, "attr", None) or getattr(node, "id", None)
        if last in _LAST and ast.unparse(node) in FORBIDDEN:
            yield ast.unparse(node)
        if isinstance(node, ast.Call) and rich_console and ast.unparse(node.func) == "Console":
            yield "rich.console.Console()"


@pytest.mark.slow
def test_nothing_else_prints() -> None:
    houses = (ROOT / name for name in ("migration", "streams", "orchestrator"))
    modules = [path for house in houses for path in sorted(house.rglob("*.py"))]
    assert len(modules) > 300
    found = {
        (name, what)
        for path in modules
        if (name := str(path.relative_to(ROOT))) not in PRINTERS
        for what in printed_by(path)
    }
    assert found - ALLOWED == set()
    assert ALLOWED - found == set(), "it prints no more: take it off the list"


def test_a_place_that_prints_is_found(tmp_path: Path) -> None:
    module = tmp_path / "one.py"
    module.write_text(
        "import click\nfrom rich.console import Console\n"
        "click.echo(1)\nConsole().print(2)\nprint(3)"
    )
    assert sorted(printed_by(module)) == ["click.echo", "print", "rich.console.Console()"]


@pytest.mark.parametrize("text", HOSTILE)
def test_text_is_shown_and_not_obeyed(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    echo(text)
    echo_message(f"kraftgate: {text}", err=True)
    echo_text(text, err=True)
    told = capsys.readouterr()
    assert not UNSAFE.search(told.out + told.err)
    assert len(told.out.splitlines()) == 1


@pytest.mark.parametrize("text", HOSTILE)
def test_json_keeps_the_value_and_hides_nothing(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    echo_json({"host": text})
    told = capsys.readouterr().out
    assert not UNSAFE.search(told)
    assert json.loads(told) == {"host": text}


@given(st.text(st.characters(codec=None), max_size=40))
def test_a_line_stays_one_line(text: str) -> None:
    out = io.StringIO()
    write_line(out, text)
    assert not UNSAFE.search(out.getvalue())
    assert out.getvalue().count("\n") == 1
    assert out.getvalue().splitlines(keepends=True) == [out.getvalue()]


def test_a_line_cannot_forge_another_one(capsys: pytest.CaptureFixture[str]) -> None:
    echo("slack: not taken: 500 a\npagerduty: taken: 200")
    assert capsys.readouterr().out == "slack: not taken: 500 a\\npagerduty: taken: 200\n"


def test_an_error_cannot_forge_another_line(capsys: pytest.CaptureFixture[str]) -> None:
    echo_message("kraftgate: host a\nkraftgate: all is well", err=True)
    assert capsys.readouterr().err == "kraftgate: host a\n  kraftgate: all is well\n"


@pytest.mark.parametrize("text", HOSTILE)
def test_a_picture_shows_every_text_as_it_is(text: str) -> None:
    out = io.StringIO()
    table = Table(text, title=text)
    table.add_row(text)
    table.add_row(Text(f"{text} styled", style="bold"))
    made = console(file=out, width=200)
    made.print(table)
    made.print(text)
    made.print(Text.assemble(("cluster ", "bold"), (text, "red")))
    told = out.getvalue()
    assert not UNSAFE.search(told)
    if text.startswith("[bold"):
        assert told.count(text) == 6


def test_styles_stay_at_their_characters() -> None:
    out = io.StringIO()
    made = console(file=out, width=80, force_terminal=True, color_system="standard")
    made.print(Text.assemble("a\x1b", ("red", "red"), "b"))
    assert out.getvalue() == "a\\x1b\x1b[31mred\x1b[0mb\n"


@pytest.mark.parametrize("text", HOSTILE)
def test_a_log_line_is_one_visible_line(text: str) -> None:
    record = logging.LogRecord("a", logging.ERROR, "f", 1, "said %s\nforged", (text,), None)
    told = VisibleFormatter("%(message)s").format(record)
    assert not UNSAFE.search(told)
    assert told.endswith("\n  forged")


def test_the_logs_are_formatted_so() -> None:
    log_to_stderr(0)
    handlers = logging.getLogger().handlers
    assert all(isinstance(each.formatter, VisibleFormatter) for each in handlers)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_log_line_of_json_is_one_line_that_can_be_read_back(text: str) -> None:
    record = logging.LogRecord("a", logging.ERROR, "f", 1, "said %s", (text,), None)
    record.exc_info = (ValueError, ValueError(text), None)
    line = JsonFormatter(tracebacks=False).format(record)
    assert not UNSAFE.search(line)
    assert "\n" not in line
    told = json.loads(line)
    assert (told["level"], told["logger"], told["message"]) == ("error", "a", f"said {text}")
    assert told["error"] == f"ValueError: {text}"
    assert told["time"].endswith("Z")


@pytest.mark.parametrize(
    ("options", "logged"),
    [
        ((), {"a warning", "an error"}),
        (("-v",), {"progress", "a warning", "an error"}),
        (("-q",), {"an error"}),
        (("-q", "-v"), {"an error"}),
    ],
)
def test_the_options_of_the_log(options: tuple[str, ...], logged: set[str]) -> None:
    @click.command()
    @log_options
    def command() -> None:
        log = logging.getLogger("orchestrator.test")
        log.info("progress")
        log.warning("a warning")
        log.error("an error")

    result = CliRunner().invoke(command, [*options, "--log-format", "json"])
    assert {json.loads(line)["message"] for line in result.stderr.splitlines()} == logged


def test_exact_lines_are_exact_where_no_terminal_is(capsys: pytest.CaptureFixture[str]) -> None:
    echo_exact("\u202e\x1b")
    assert capsys.readouterr().out == "\u202e\x1b\n"


@pytest.mark.parametrize("error", [KraftgateError, HazardError, click.UsageError])
@pytest.mark.parametrize("text", HOSTILE)
def test_an_error_of_a_command_is_shown_and_not_obeyed(error: type[Exception], text: str) -> None:
    @click.group(cls=Program)
    def program() -> None:
        pass

    @program.command()
    def fail() -> None:
        raise error(f"process 1 of {text}")

    told = CliRunner().invoke(program, ["fail"]).output
    assert "process 1 of" in told
    assert not UNSAFE.search(told)


def test_the_owner_of_a_lock_is_shown_and_not_obeyed() -> None:
    """What `kraftgate run` prints when another client wrote the lock's znode."""
    owner = json.dumps({"host": HOSTILE[0], "pid": 7, "user": "a\nb", "since_ms": 1})
    for text in (owner, f"no owner {HOSTILE[0]}"):

        @click.group(cls=Program)
        def program() -> None:
            pass

        @program.command()
        def run(text: str = text) -> None:
            raise LockHeld(_who(Znode(data=text.encode())))

        told = CliRunner().invoke(program, ["run"]).output
        assert "all is well" in told
        assert not UNSAFE.search(told)
        assert not any(line.startswith("b ") for line in told.splitlines())
