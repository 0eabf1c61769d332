"""`kraftgate help`: prints the handbook."""

import click

from orchestrator.output.manual import text, title, topics
from orchestrator.output.printing import echo, echo_text


def _completed(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """Return the topics for the tab key."""
    return [each for each in topics() if each.startswith(begun)]


@click.command()
@click.argument("topic", required=False, shell_complete=_completed)
def help(topic: str | None) -> None:  # noqa: A001  # named for its command
    """Print a page of the handbook, or the list of topics.

    A link in a page names its topic.

    \b
    Examples:
      kraftgate help
      kraftgate help migration-night
      kraftgate help on-call
    """
    if topic is not None:
        echo_text(text(topic))
        return
    known = topics()
    width = max(map(len, known)) + 2
    for name, page in known.items():
        echo(f"{name:<{width}}{title(page)}")
