"""The tab key, in the real shells, by the lines that the manual gives."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.reference.commands import COMPLETION
from tests.support.polling import PATIENCE_S


def in_shell(shell: str, script: str) -> list[str]:
    """Run a script, in which `$line` is the manual's line; return the words that it prints."""
    _, example = COMPLETION
    (line,) = [each for each in example.lines if f"={shell}_source" in each]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [shell, "-c", script],
        env={**os.environ, "PATH": path, "TERM": "xterm", "line": line},
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.slow
def test_bash_completes_commands_options_and_topics() -> None:
    press = (
        'press() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=();'
        ' _kraftgate_completion kraftgate; echo "${COMPREPLY[@]}" .; }\n'
    )
    lines = ("kraftgate audit ve", "kraftgate run --dry", "kraftgate help mig")
    given = in_shell(
        "bash", 'eval "$line"\n' + press + "\n".join(f"press {each}" for each in lines)
    )
    assert given == ["verify", ".", "--dry-run", ".", "migration-night", "."]


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_completes() -> None:
    assert "verify" in in_shell("fish", "eval $line; complete --do-complete 'kraftgate audit ve'")


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_completes() -> None:
    """zsh completes in a terminal only, so it gets one (zshmodules, "The zsh/zpty Module")."""
    given = in_shell(
        "zsh",
        r"""
        zmodload zsh/zpty
        zpty terminal zsh -f -i
        zpty -w terminal "autoload -Uz compinit && compinit -u -D; $line; print loa''ded"
        zpty -r -m terminal shown '*loaded*'
        zpty -w -n terminal $'kraftgate audit ve\t'
        zpty -r -m terminal shown '*verify*'
        print -r -- ${(M)${(z)shown}:#verify}
        zpty -d terminal
        """,
    )
    assert given == ["verify"]
