"""`kraftgate status`: what was last observed, while `run` runs or after it."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from migration.assessment.waits.cluster import is_log_over
from migration.observed.source_status import is_current
from orchestrator.alerts.now import standings_now
from orchestrator.commands.reading import Reader
from orchestrator.config import Config, load_config
from orchestrator.contract import several_json, status_json
from orchestrator.errors import NoDataError
from orchestrator.following import Snapshot, Tally
from orchestrator.reasons import reasons_of
from orchestrator.terminal import echo_json
from orchestrator.view.live import picture
from orchestrator.view.visible_console import console

_EVENTS_JSON: Final = 1000
_EVENTS_SHOWN: Final = 12


def status(config_path: Path, *, as_json: bool) -> None:
    """Print every configured cluster.

    Raises:
        ConfigError: the configuration cannot be used.
        NoDataError: of some cluster there is nothing, or only stale data; it was printed still.
    """
    config = load_config(config_path)
    now_ms = time.time_ns() // 1_000_000
    reader = Reader(config, newest=_EVENTS_JSON if as_json else _EVENTS_SHOWN)
    snapshots = reader.look(now_ms)
    if as_json:
        found = _as_json(config, snapshots, reader.tallies(), now_ms)
        echo_json(found)
    else:
        out = console()
        for one in snapshots:
            out.print(picture(one, now_ms, config.stall_after_ms, out.width))
    missing = [_why(one, config, now_ms) for one in snapshots if not _is_shown(one, now_ms)]
    if missing:
        raise NoDataError("; ".join(missing))


def _as_json(
    config: Config, snapshots: list[Snapshot], tallies: Mapping[str, Tally], now_ms: int
) -> dict[str, object]:
    found = []
    entries = {each.name: each for each in config.clusters}
    for one in snapshots:
        reasons = reasons_of(one, now_ms, config.stall_after_ms)
        name = one.summary.cluster
        tally = tallies.get(name, Tally())
        events = [event for _, event in one.events]
        told = status_json(
            one.summary,
            events,
            reasons,
            one.status,
            now_ms,
            stall_after_ms=config.stall_after_ms,
            dangers=one.dangers(now_ms),
            limits=one.limits,
            jmx=one.jmx,
            walk=one.walk,
            runbook_url=config.alerts.runbook_url,
            alerts=standings_now(config, entries[name], one, tally, now_ms),
        )
        found.append(told)
    return several_json(found) if config.many else found[0]


def _is_shown(one: Snapshot, now_ms: int) -> bool:
    if is_log_over(one.summary):
        return is_current(one.zookeeper, now_ms)
    return one.summary.metadata_offset is not None and is_current(one.status, now_ms)


def _why(one: Snapshot, config: Config, now_ms: int) -> str:
    what = "no data" if one.summary.metadata_offset is None else "stale data"
    reasons = reasons_of(one, now_ms, config.stall_after_ms)
    waiting = f", waiting for {reasons[0].text}" if reasons else ""
    return f"{one.summary.cluster}: {what}{waiting}"
