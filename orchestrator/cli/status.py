"""`kraftgate status`: what was last observed, while `run` runs or after it."""

from pathlib import Path
from typing import Final

import click

from migration.assessment.currency import SourceState
from migration.assessment.data_source import DataSource
from orchestrator.api.status import clusters_json, status_json
from orchestrator.cli.framework import config_option, json_option, log_options
from orchestrator.config.load import load_config
from orchestrator.errors import NoDataError
from orchestrator.output.printing import echo_json
from orchestrator.output.rich_console import console
from orchestrator.run.assessed import Assessed, Assessor
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
    prints what it has). The JSON has the newest 1000 events.

    \b
    Example:
      kraftgate status --json | jq -r '.waiting_for[]'
    """
    config = load_config(config_path)
    reader = Reader(config, newest=_EVENTS_JSON if as_json else _EVENTS_SHOWN)
    tick = Assessor(config, reader).tick(wall_clock_ms())
    chosen = {each.name for each in config.clusters_named(cluster)}
    clusters = [one for one in tick.clusters if one.entry.name in chosen]
    if as_json:
        found = [status_json(one, config.alerts.runbook_url) for one in clusters]
        echo_json(clusters_json(found, many=config.many and cluster is None))
    else:
        out = console()
        for one in clusters:
            out.print(picture(one, out.width), crop=False)
    missing = [why for one in clusters if (why := _not_current(one)) is not None]
    if missing:
        raise NoDataError("; ".join(missing))


def _not_current(one: Assessed) -> str | None:
    """Return why the printed state is not current; None: it is.

    A metadata log that no controller writes any more needs no answer.
    """
    assessment, has_data = one.assessment, one.summary.metadata_offset is not None
    is_over = assessment.log.state is SourceState.OVER
    if is_over:
        answers = assessment.sources[DataSource.ZOOKEEPER].answers
    else:
        answers = has_data and assessment.log.answers
    if not answers:
        waiting = f", waiting for {one.waits[0].text}" if one.waits else ""
        if not waiting and not has_data:
            waiting = " of the metadata log: no controller has answered yet"
        return f"{one.name}: {'stale' if has_data else 'no'} data{waiting}"
    stale = [each for each, is_current in assessment.current.items() if is_current is False]
    if is_over and DataSource.METADATA_LOG in stale:
        stale.remove(DataSource.METADATA_LOG)
    whys = [f"{each} is not current: {one.currency.not_current[each]}" for each in stale]
    return f"{one.name}: {'; '.join(whys)}" if whys else None
