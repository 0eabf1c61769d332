"""`kraftgate status`: what was last observed, while `run` runs or after it."""

from functools import partial
from pathlib import Path
from typing import Final

import click

from orchestrator.api.status import clusters_json, status_json
from orchestrator.cli.current_data import why_not_current
from orchestrator.cli.framework import config_option, json_option, log_options
from orchestrator.config.load import load_config
from orchestrator.config.state_dir import starting_since_ms
from orchestrator.errors import NoDataError
from orchestrator.output.printing import echo_json
from orchestrator.output.rich_console import console
from orchestrator.run.assessed import Assessor
from orchestrator.run.reader import Reader
from orchestrator.views.terminal.live import picture
from streams.process.clocks import wall_clock_ms

_EVENTS_JSON: Final = 1000
_EVENTS_SHOWN: Final = 12


@click.command()
@config_option
@click.option("--cluster", metavar="NAME", help="Only this cluster.")
@json_option
@log_options
def status(config_path: Path, cluster: str | None, *, as_json: bool) -> None:
    """Print the last observed state, and what is pending.

    Reads the state directory, so it works while `run` runs and after it. Exits with 4 if there is
    no data, or if the data of a source that is configured and in use is not current (it still
    prints what it has). Before the controllers exist, the metadata log is not in use. The JSON has
    the newest 1000 events.

    \b
    Example:
      kraftgate status --json | jq -r '.waiting_for[]'
    """
    config = load_config(config_path)
    reader = Reader(config, newest=_EVENTS_JSON if as_json else _EVENTS_SHOWN)
    assessor = Assessor(config, reader)
    assessor.starting_since_ms = partial(starting_since_ms, config.state_dir)
    tick = assessor.tick(wall_clock_ms())
    chosen = {each.name for each in config.clusters_named(cluster)}
    clusters = [one for one in tick.clusters if one.entry.name in chosen]
    if as_json:
        found = [status_json(one, config.alerts.runbook_url) for one in clusters]
        echo_json(clusters_json(found, many=config.many and cluster is None))
    else:
        out = console()
        for one in clusters:
            out.print(picture(one, out.width), crop=False)
    missing = [f"{one.name}: {why}" for one in clusters if (why := why_not_current(one))]
    if missing:
        raise NoDataError("; ".join(missing))
