"""The tab key, in the real shells, by the lines that the manual gives."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.reference.commands import COMPLETION


def in_shell(shell: str, script: str, before: str = "") -> list[str]:
    """Run the manual's line for a shell, then the script; return the words that it prints."""
    _, example = COMPLETION
    (line,) = [each for each in example.lines if f"={shell}_source" in each]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [shell, "-c", f"{before}\n{line}\n{script}"],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes_commands_options_and_topics() -> None:
    press = (
        'press() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=();'
        ' _kraftgate_completion kraftgate; echo "${COMPREPLY[@]}" .; }\n'
    )
    lines = ("kraftgate audit ve", "kraftgate run --dry", "kraftgate help mig")
    given = in_shell("bash", press + "\n".join(f"press {each}" for each in lines))
    assert given == ["verify", ".", "--dry-run", ".", "migration-night", "."]


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_completes() -> None:
    assert "verify" in in_shell("fish", "complete --do-complete 'kraftgate audit ve'")


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_knows_who_completes() -> None:
    compinit = "autoload -Uz compinit && compinit -D"
    given = in_shell("zsh", "echo ${_comps[kraftgate]}", before=compinit)
    assert given == ["_kraftgate_completion"]
