"""The man pages: as generated, complete, in the wheel, and without a warning of groff."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Final

import click
import pytest

from orchestrator.cli.framework import LazyCommand
from orchestrator.cli.program import main
from orchestrator.reference import roff
from orchestrator.reference.man import MAN, man_pages
from tests.manual.pages import ROOT

REQUESTS: Final = {"TH", "SH", "SS", "PP", "TP", "RS", "RE", "EX", "EE", "ad", "br", '\\"'}
needs_groff = pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")


def groff(*words: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    command = ["groff", "-mandoc", "-Tutf8", "-P-c", "-P-b", "-P-u", *words]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True)


def paths(command: click.Command, path: str) -> Iterator[str]:
    """Every command that is no group, as it is called."""
    command = command.load() if isinstance(command, LazyCommand) else command
    if not isinstance(command, click.Group):
        yield path
        return
    for name, inner in command.commands.items():
        yield from paths(inner, f"{path} {name}")


def test_each_page_is_as_generated() -> None:
    written = {each.name: each.read_text("utf-8") for each in MAN.iterdir()}
    assert written == man_pages(), "run: make reference"


def test_each_command_has_its_page() -> None:
    called = list(paths(main, "kraftgate"))
    assert "kraftgate audit show" in called
    for path in called:
        page = MAN / f"{'-'.join(path.split()[:2])}.1"
        assert f"\n{roff.bold(path)} [" in page.read_text("utf-8")


def test_no_text_is_a_request_or_a_control_character() -> None:
    lines = [line for page in MAN.iterdir() for line in page.read_text("ascii").splitlines()]
    assert {found[1] for line in lines if (found := re.match(r"[.'](\S+)", line))} <= REQUESTS
    assert all(line.isprintable() for line in lines)


@needs_groff
def test_groff_warns_of_nothing() -> None:
    assert groff("-ww", "-z", *map(str, sorted(MAN.glob("*.1")))).stderr == ""


@needs_groff
def test_an_example_can_be_copied() -> None:
    example = "kraftgate status --json | jq -r '.waiting_for[]'"
    assert example in groff(str(MAN / "kraftgate-status.1")).stdout


@needs_groff
def test_text_is_never_a_request_or_an_escape() -> None:
    hostile = [".SH it's", "'br", r"\fBa\fR \\n `b` ^c ~d", r".\"", "--e-f -"]
    shown = groff(text="\n".join([".TH X 1", ".SH Y", *map(_alone, hostile)])).stdout
    assert [line[7:] for line in shown.splitlines() if line.startswith(" " * 7)][:-1] == hostile


def _alone(line: str) -> str:
    return f".br\n{roff.escaped(line)}"


@pytest.mark.slow
def test_a_wheel_installs_them() -> None:
    """By the build's own reading of pyproject.toml."""
    asked = (
        "from setuptools import Distribution;"
        "found = Distribution({'script_name': 'setup.py'}); found.parse_config_files();"
        "[print(folder, *names) for folder, names in found.data_files]"
    )
    command = [sys.executable, "-c", asked]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    folder, *names = done.stdout.split()
    assert folder == "share/man/man1"
    assert {ROOT / each for each in names} == set(MAN.iterdir())
