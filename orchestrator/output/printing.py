"""Prints to standard output and standard error; see also `orchestrator.output.rich_console`.

No other module prints (`tests/orchestrator/test_terminal_output.py`).

Topic names, hosts, znodes, receivers' answers and errors come from outside. What they hold beyond
plain text (escape sequences, characters that change the direction of writing, lone surrogates) is
printed as its number, and nothing in them is read as markup.
"""

import copy
import json
import logging
import os
import sys
from typing import IO, Final

import click

from orchestrator.output.visible import visible, visible_line

_DELETE: Final = "\x7f"
"""The one control character that `json.dumps` leaves as it is."""


def echo(line: str = "", *, err: bool = False) -> None:
    """Print one line; a line end in it is shown too, so that it cannot begin another one."""
    click.echo(visible_line(line), err=err)


def echo_message(text: str, *, err: bool = False) -> None:
    """Print a message; its further lines are indented, so that none looks like another message."""
    click.echo(_indented(text), err=err)


def echo_text(text: str, *, err: bool = False) -> None:
    """Print a text of several lines, which ends its last line itself."""
    click.echo(visible(text), err=err, nl=False)


def echo_json(value: object, *, indent: int | None = 2) -> None:
    """Print a value as JSON in ASCII."""
    click.echo(json.dumps(value, indent=indent).replace(_DELETE, "\\u007f"))


def echo_exact(text: str) -> None:
    """Print a line whose bytes count, as of a hashed entry; made visible on a terminal only."""
    click.echo(visible(text) if sys.stdout.isatty() else text)


def flush() -> None:
    """Write out what is printed, while an error can still be reported."""
    sys.stdout.flush()


def forget_output() -> None:
    """Let Python not write at its end what could not be written before."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115


def ask(question: str) -> str:
    """Ask on standard error and return what is typed."""
    typed: str = click.prompt(visible_line(question), default="", show_default=False, err=True)
    return typed


def write_document(text: str) -> None:
    """Write a whole document to standard output as UTF-8, whatever the locale says."""
    shown = visible(text) if sys.stdout.isatty() else text
    sys.stdout.buffer.write(shown.encode())
    sys.stdout.buffer.flush()


def write_line(out: IO[str], text: str) -> None:
    """Write one line of a stream of lines; a line end in it does not begin another one."""
    out.write(visible_line(text) + "\n")


class VisibleFormatter(logging.Formatter):
    """Formats a log record as text that is safe on a terminal.

    `tracebacks`: whether they are printed; else an error is its type and its message.
    """

    def __init__(self, style: str, *, tracebacks: bool = True) -> None:
        super().__init__(style)
        self._tracebacks = tracebacks

    def format(self, record: logging.LogRecord) -> str:
        """Format it; further lines are indented."""
        if self._tracebacks or not record.exc_info:
            return _indented(super().format(record))
        bare = copy.copy(record)
        bare.exc_info = bare.exc_text = None
        error = record.exc_info[1]
        why = " ".join(str(error).split())
        return _indented(f"{super().format(bare)}: {type(error).__name__}: {why}")


def _indented(text: str) -> str:
    return visible(text).rstrip("\n").replace("\n", "\n  ")
