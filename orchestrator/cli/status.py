"""`kraftgate status`: what was last observed, while `run` runs or after it."""

import time
from pathlib import Path
from typing import Final

from migration.assessment.currency import SourceState
from migration.assessment.data_source import DataSource
from orchestrator.api.status import several_json, status_json
from orchestrator.config.load import load_config
from orchestrator.errors import NoDataError
from orchestrator.output.printing import echo_json
from orchestrator.output.rich_console import console
from orchestrator.run.assessed import Assessed
from orchestrator.run.assessor import Assessor
from orchestrator.run.reader import Reader
from orchestrator.views.terminal.live import picture

_EVENTS_JSON: Final = 1000
_EVENTS_SHOWN: Final = 12


def status(config_path: Path, *, as_json: bool) -> None:
    """Print every configured cluster.

    Raises:
        ConfigError: the configuration cannot be used.
        NoDataError: of some cluster there is nothing, or only stale data; it was printed still.
    """
    config = load_config(config_path)
    reader = Reader(config, newest=_EVENTS_JSON if as_json else _EVENTS_SHOWN)
    tick = Assessor(config, reader, once=True).tick(time.time_ns() // 1_000_000)
    if as_json:
        found = [status_json(one, config.alerts.runbook_url) for one in tick.clusters]
        echo_json(several_json(found) if config.many else found[0])
    else:
        out = console()
        for one in tick.clusters:
            out.print(picture(one, out.width))
    missing = [_why(one) for one in tick.clusters if not _is_shown(one)]
    if missing:
        raise NoDataError("; ".join(missing))


def _is_shown(one: Assessed) -> bool:
    log = one.assessment.log
    if log.state is SourceState.OVER:
        return one.assessment.sources[DataSource.ZOOKEEPER].answers
    return one.summary.metadata_offset is not None and log.answers


def _why(one: Assessed) -> str:
    what = "no data" if one.summary.metadata_offset is None else "stale data"
    waiting = f", waiting for {one.waits[0].text}" if one.waits else ""
    return f"{one.name}: {what}{waiting}"
