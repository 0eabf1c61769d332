"""Runs a command of kraftgate in this process, for tests that ask one command after the other.

A process of its own costs a second of the processor's time, most of it imports.
"""

import warnings
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from orchestrator.cli.program import main
from tests.support.own_logging import logging_kept


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def kraftgate(config: Path, *words: str) -> Done:
    """Run a command with this configuration."""
    with logging_kept(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as in a process of its own
        result = CliRunner().invoke(main, [*words, "--config", str(config)])
    return Done(result.exit_code, result.stdout, result.stderr)
