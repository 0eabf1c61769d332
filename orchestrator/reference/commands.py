"""The page of commands, from the commands that click parses."""

import inspect
from collections.abc import Iterator

import click

from orchestrator.cli.framework import LazyCommand
from orchestrator.cli.program import main
from orchestrator.reference.markdown import page, table

_INTRODUCTION = """
Each command prints its own part of this page with `--help`. Options may be given in any order.
The [exit codes](exit-codes.md) are the same for all commands.

To complete commands and options with the tab key, add one line to the shell's start file:
`~/.bashrc`, `~/.zshrc` or `~/.config/fish/config.fish`.

```
eval "$(_KRAFTGATE_COMPLETE=bash_source kraftgate)"
eval "$(_KRAFTGATE_COMPLETE=zsh_source kraftgate)"
_KRAFTGATE_COMPLETE=fish_source kraftgate | source
```
"""


def commands() -> str:
    """Return the page."""
    return page("Commands", _INTRODUCTION, *_of(main, "kraftgate", None))


def _of(command: click.Command, path: str, parent: click.Context | None) -> Iterator[str]:
    """Yield the section of a command, then those of its subcommands."""
    if isinstance(command, LazyCommand):
        command = command.load()
    context = click.Context(
        command, info_name=path if parent is None else command.name, parent=parent
    )
    yield "\n\n".join(_section(command, path, context))
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is not None and not found.hidden:
                yield from _of(found, f"{path} {name}", context)


def _section(command: click.Command, path: str, context: click.Context) -> Iterator[str]:
    yield f"## {path}"
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"    {path} {usage}".rstrip()
    yield from _paragraphs(command.help or "")
    rows = [
        (f"`{names}`", text)
        for parameter in command.get_params(context)
        if (record := parameter.get_help_record(context)) is not None
        for names, text in [record]
        if names != "--help"
    ]
    if rows:
        yield table(("option", "meaning"), rows)


def _paragraphs(help_: str) -> Iterator[str]:
    """Yield the paragraphs of a help text; an example becomes code."""
    for paragraph in inspect.cleandoc(help_).split("\n\n"):
        if not paragraph.startswith("\b"):
            yield " ".join(paragraph.split())
            continue
        lines = paragraph.splitlines()[1:]
        head = [line for line in lines if not line.startswith("  ")]
        if head:
            yield " ".join(head)
        yield "\n".join(["```", *(line.strip() for line in lines if line.startswith("  ")), "```"])
