"""The command `kraftgate report`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator.cli.framework import config_option
from orchestrator.output.printing import echo_text

if TYPE_CHECKING:
    from orchestrator.cli.report import Format


@click.command()
@config_option
@click.option("--cluster", metavar="NAME", help="The cluster, if several are configured.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["html", "json", "markdown"]),
    help="Default: by the suffix of --out (.json, .md), else html.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write to this file instead of to stdout.",
)
@click.option("--schema", is_flag=True, help="Print the JSON Schema (2020-12) of --format json.")
def report(
    config_path: Path,
    cluster: str | None,
    format_: "Format | None",
    out: Path | None,
    *,
    schema: bool,
) -> None:
    """Write a report of the window: one HTML page, JSON or Markdown.

    Reads only the state directory: no cluster, no network, no other process. During the window the
    report says that it has not ended. Exits with 4 if there is nothing to report, with 1 if the
    audit trail is damaged; it still writes the report, which says so.

    \b
    Examples:
      kraftgate report --out window.html
      kraftgate report --format json | jq -r '.clusters[].summary[]'
      kraftgate report --out post-mortem.md
    """  # noqa: D301  # click wants the backspace
    if schema:
        from orchestrator.api.report.schema import schema_text

        echo_text(schema_text())
        return
    from orchestrator.cli import report as command

    command.report(config_path, cluster, format_, out)
