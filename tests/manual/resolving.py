"""Finds the click command that words name, and parses its arguments."""

from collections.abc import Sequence

import click

from orchestrator.cli.framework import LazyCommand
from orchestrator.cli.program import main


def resolve(words: Sequence[str]) -> tuple[click.Command, list[str]]:
    """Return the command that words without `kraftgate` name, and its arguments.

    Raises:
        LookupError: there is no such command.
    """
    context = main.make_context("kraftgate", list(words), resilient_parsing=True)
    leaf: click.Command = main
    rest = list(words)
    while isinstance(leaf, click.Group) and rest and not rest[0].startswith("-"):
        inner = leaf.get_command(context, rest[0])
        if inner is None:
            raise LookupError(f"kraftgate has no command {rest[0]}")
        leaf = inner.load() if isinstance(inner, LazyCommand) else inner
        rest = rest[1:]
    return leaf, rest


def parse(words: Sequence[str]) -> None:
    """Parse a complete command, without `kraftgate`.

    Raises:
        LookupError: there is no such command.
        click.UsageError: it does not take these arguments.
    """
    leaf, rest = resolve(words)
    context = main.make_context("kraftgate", list(words), resilient_parsing=True)
    leaf.make_context(str(leaf.name), rest, parent=context)


def require_options(words: Sequence[str]) -> None:
    """Require that the command exists and has the options; a mention may leave out arguments.

    Raises:
        LookupError: it does not.
    """
    leaf, rest = resolve(words)
    known = {"--help"} | {
        name for each in leaf.params for name in (*each.opts, *each.secondary_opts)
    }
    unknown = [
        each for each in rest if each.startswith("--") and each.partition("=")[0] not in known
    ]
    if unknown:
        raise LookupError(f"kraftgate {leaf.name} has no option {', '.join(unknown)}")
