"""`kraftgate help`: prints the handbook."""

import click

from orchestrator.output.manual import text, title, topics
from orchestrator.output.printing import echo, echo_text


@click.command()
@click.argument("topic", required=False)
def help(topic: str | None) -> None:  # noqa: A001  # named for its command
    """Print a page of the handbook, or the list of topics.

    \b
    Examples:
      kraftgate help
      kraftgate help migration-night
      kraftgate help conditions
    """
    if topic is not None:
        echo_text(text(topic))
        return
    known = topics()
    width = max(map(len, known)) + 2
    for name, page in known.items():
        echo(f"{name:<{width}}{title(page)}")
