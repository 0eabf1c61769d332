"""Runs a command of kraftgate in this process, for tests that ask one command after the other.

A process of its own costs a second of the processor's time, most of it imports.
"""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from orchestrator.cli.program import main


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def kraftgate(config: Path, *words: str) -> Done:
    """Run a command with this configuration."""
    with _logging_kept(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as in a process of its own
        result = CliRunner().invoke(main, [*words, "--config", str(config)])
    return Done(result.exit_code, result.stdout, result.stderr)


@contextmanager
def _logging_kept() -> Iterator[None]:
    """A command sets up logging for its process."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        for house in ("orchestrator", "streams", "migration"):
            logging.getLogger(house).setLevel(logging.NOTSET)
