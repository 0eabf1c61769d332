"""Prints to standard output and standard error; see also `orchestrator.output.rich_console`.

No other module prints (`tests/orchestrator/output/test_terminal_output.py`).

Topic names, hosts, znodes, receivers' answers and errors come from outside. Characters in them
beyond plain text (escape sequences, characters that change the direction of writing, lone
surrogates) are printed as their code, and nothing in them is read as markup.
"""

import copy
import json
import logging
import os
import sys
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import IO, Final

import click

from migration.values.timestamps import iso
from orchestrator.output.visible import visible, visible_line

_DELETE: Final = "\x7f"
"""The one control character that `json.dumps` does not escape."""


def _kept_going(*, err: bool) -> AbstractContextManager[None]:
    """Let no message to a standard error without a reader change how the command ends."""
    return suppress(OSError) if err else nullcontext()


def echo(line: str = "", *, err: bool = False) -> None:
    """Print one line; a line end in the text is escaped, so that it cannot begin another line."""
    with _kept_going(err=err):
        click.echo(visible_line(line), err=err)


def echo_if_open(line: str) -> None:
    """Print one line, unless the output is closed: a pipe without a reader, a closed terminal."""
    try:
        echo(line)
    except OSError:
        forget_output()


def echo_message(text: str, *, err: bool = False) -> None:
    """Print a message; its other lines are indented, so that none resembles another message."""
    with _kept_going(err=err):
        click.echo(_indented(text), err=err)


def echo_text(text: str, *, err: bool = False) -> None:
    """Print a text of several lines, which ends with its own line end."""
    with _kept_going(err=err):
        click.echo(visible(text), err=err, nl=False)


def echo_json(value: object, *, indent: int | None = 2) -> None:
    """Print a value as JSON in ASCII."""
    click.echo(json.dumps(value, indent=indent).replace(_DELETE, "\\u007f"))


def echo_exact(text: str) -> None:
    """Print a line whose exact bytes matter, such as a hashed entry; escaped on a terminal only."""
    write_document(f"{text}\n")


def flush() -> None:
    """Flush the output while an error can still be reported."""
    sys.stdout.flush()


def forget_output() -> None:
    """Discard output that could not be written, so that Python does not write it again at exit."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115


def ask(question: str) -> str:
    """Ask on standard error and return what the user types."""
    typed: str = click.prompt(visible_line(question), default="", show_default=False, err=True)
    return typed


def write_document(text: str) -> None:
    """Write a whole document to standard output as UTF-8, independent of the locale."""
    shown = visible(text) if sys.stdout.isatty() else text
    sys.stdout.buffer.write(shown.encode())
    sys.stdout.buffer.flush()


def write_line(out: IO[str], text: str) -> None:
    """Write one line of a stream of lines; a line end in the text is escaped."""
    out.write(visible_line(text) + "\n")


class VisibleFormatter(logging.Formatter):
    """Formats a log record as text that is safe on a terminal.

    Args:
        tracebacks: whether to print tracebacks; else an error is its type and its message.
    """

    def __init__(self, style: str, *, tracebacks: bool = True) -> None:
        super().__init__(style)
        self._tracebacks = tracebacks

    def format(self, record: logging.LogRecord) -> str:
        """Format the record; lines after the first are indented."""
        if self._tracebacks or not record.exc_info:
            return _indented(super().format(record))
        bare = copy.copy(record)
        bare.exc_info = bare.exc_text = None
        error = record.exc_info[1]
        why = " ".join(str(error).split())
        return _indented(f"{super().format(bare)}: {type(error).__name__}: {why}")


class JsonFormatter(logging.Formatter):
    """Formats a log record as one line of JSON in ASCII; the time is ISO 8601 in UTC.

    Args:
        tracebacks: whether to add the traceback of an error.
    """

    def __init__(self, *, tracebacks: bool) -> None:
        super().__init__()
        self._tracebacks = tracebacks

    def format(self, record: logging.LogRecord) -> str:
        """Return time, level, logger and message; for an error also `error` and `traceback`."""
        found: dict[str, object] = {
            "time": iso(int(record.created * 1000)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            found["error"] = f"{type(error).__name__}: {error}"
            if self._tracebacks:
                found["traceback"] = self.formatException(record.exc_info)
        return json.dumps(found).replace(_DELETE, "\\u007f")


def _indented(text: str) -> str:
    return visible(text).rstrip("\n").replace("\n", "\n  ")
