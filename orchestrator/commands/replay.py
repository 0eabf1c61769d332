"""`kraftgate replay`: run the job over a metadata log's files and print what it came to."""

import json
from pathlib import Path
from typing import Final

import click
from rich.console import Console

from migration.waits import nothing_seen
from orchestrator.commands.job import replayed
from orchestrator.contract import cluster_json
from orchestrator.errors import DamagedFileError
from orchestrator.view.closing import closing, event_lines

CLUSTER: Final = "replay"


def replay(path: Path, state_dir: Path | None, *, as_json: bool) -> None:
    """Print the state at the end of the files.

    Raises:
        DamagedFileError: they are damaged; what was read before is printed still.
        KraftgateError: there is no metadata log, or the job failed.
    """
    outcome = replayed(path, state_dir, CLUSTER)
    summary = nothing_seen(CLUSTER) if outcome.summary is None else outcome.summary
    if as_json:
        state = cluster_json(summary, outcome.events, complete=outcome.damage is None)
        click.echo(json.dumps(state, indent=2))
    else:
        for line in event_lines(outcome.events):
            click.echo(line)
        click.echo()
        Console().print(closing(summary))
    if outcome.damage is not None:
        raise DamagedFileError(outcome.damage)
