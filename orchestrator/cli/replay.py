"""`kraftgate replay`: runs the job over the files of a metadata log."""

from pathlib import Path
from typing import Final

import click

from migration.assessment.waits import nothing_seen
from orchestrator.api.status import cluster_json
from orchestrator.cli.framework import json_option, log_options
from orchestrator.errors import KraftgateError, NoDataError
from orchestrator.output.printing import echo, echo_json
from orchestrator.output.rich_console import console
from orchestrator.run.job import replayed
from orchestrator.views.terminal.closing import closing, event_lines

CLUSTER: Final = "replay"


@click.command()
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@json_option
@click.option(
    "--state-dir",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Keep the store and the replicas' transitions in this directory.",
)
@log_options
def replay(path: Path, *, as_json: bool, state_dir: Path | None) -> None:
    """Run the job over a metadata log to its end, and print the state there.

    PATH is a __cluster_metadata-0 directory, one .log or one .checkpoint. For a damaged file the
    command exits with 1 and prints one line to stderr, and still prints the state up to the last
    good batch. It exits with 4 if the files have no record; then the phase is unknown.

    \b
    Example:
      kraftgate replay /var/lib/kafka/__cluster_metadata-0 --json | jq .phase
    """
    outcome = replayed(path, state_dir, CLUSTER)
    summary = nothing_seen(CLUSTER) if outcome.summary is None else outcome.summary
    if as_json:
        state = cluster_json(summary, outcome.events, complete=outcome.damage is None)
        echo_json(state)
    else:
        for line in event_lines(outcome.events):
            echo(line)
        echo()
        console().print(closing(summary))
    if outcome.damage is not None:
        raise KraftgateError(outcome.damage)
    if summary.metadata_offset is None:
        raise NoDataError(
            f"{path}: no record was read: its files have none. Call `kraftgate replay` with the log"
            " of another controller or broker"
        )
