"""The commands as click parses them, in parts that the reference page and the man pages format."""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass

import click

from orchestrator.cli.framework import LazyCommand


@dataclass(frozen=True, slots=True)
class Example:
    """Lines to copy."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One command or group.

    Attributes:
        path: how it is called: `kraftgate audit show`.
        usage: what follows the path on a command line.
        text: paragraphs and examples of its help.
        epilog: those at the end of its help.
        options: each with its meaning.
    """

    path: str
    usage: str
    text: tuple[str | Example, ...]
    epilog: tuple[str | Example, ...]
    options: tuple[tuple[str, str], ...]


def sections(
    command: click.Command, path: str, parent: click.Context | None = None
) -> Iterator[Section]:
    """Yield the section of a command, then those of its subcommands."""
    if isinstance(command, LazyCommand):
        command = command.load()
    context = click.Context(
        command, info_name=path if parent is None else command.name, parent=parent
    )
    yield Section(
        path=path,
        usage=" ".join(command.collect_usage_pieces(context)),
        text=tuple(_paragraphs(command.help or "")),
        epilog=tuple(_paragraphs(command.epilog or "")),
        options=tuple(_options(command, context)),
    )
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is not None and not found.hidden:
                yield from sections(found, f"{path} {name}", context)


def _options(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and record[0] != "--help":
            yield record


def _paragraphs(help_: str) -> Iterator[str | Example]:
    for paragraph in inspect.cleandoc(help_).split("\n\n"):
        if not paragraph.startswith("\b"):
            if paragraph:
                yield " ".join(paragraph.split())
            continue
        lines = paragraph.splitlines()[1:]
        head = [line for line in lines if not line.startswith("  ")]
        if head:
            yield " ".join(head)
        yield Example(tuple(line[2:] for line in lines if line.startswith("  ")))
