"""The commands of the group `runbook`: list, show, check, schema."""

from pathlib import Path
from typing import Final

import click

from orchestrator.output.printing import echo, echo_text
from orchestrator.runbook.load import load, shipped
from orchestrator.runbook.markdown import page
from orchestrator.runbook.schema import schema_text

DEFAULT: Final = "zk-to-kraft-jbod"


@click.group()
def runbook() -> None:
    """Read and check runbooks. A runbook is a YAML file of checkpoints and rollbacks.

    \b
    Example:
      kraftgate runbook show zk-to-kraft-jbod > migration-night.md
    """


@runbook.command(name="list")
def list_() -> None:
    """List the bundled runbooks.

    \b
    Example:
      kraftgate runbook list
    """
    for name in shipped():
        echo(f"{name}\t{load(name).runbook.title}")


@runbook.command()
@click.argument("which", metavar="[NAME|FILE]", default=DEFAULT)
def show(which: str) -> None:
    """Print a runbook as a Markdown page.

    \b
    Example:
      kraftgate runbook show disk-replacement | less
    """
    echo_text(page(load(which).runbook))


@runbook.command()
@click.argument("file", type=click.Path(path_type=Path))
def check(file: Path) -> None:
    """Check a runbook: exit with 2 and print every problem with its line if it is invalid.

    \b
    Example:
      kraftgate runbook check our-night.yaml
    """
    book = load(file).runbook
    count = f"{len(book.checkpoints)} checkpoints, {len(book.rollbacks)} rollbacks"
    echo(f"{file}: {book.name} is valid ({count})")


@runbook.command()
def schema() -> None:
    """Print the JSON Schema (2020-12) of runbooks, for editors.

    \b
    Example:
      kraftgate runbook schema > runbook.schema.json
    """
    echo_text(schema_text())
