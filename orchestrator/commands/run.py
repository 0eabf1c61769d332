"""`kraftgate run`: follow the clusters and show them, until told to end or a condition holds."""

import sys
import time
from contextlib import nullcontext, suppress
from datetime import timedelta
from pathlib import Path
from typing import Final

import click
from rich.console import Console

from orchestrator.commands.gate import Gate
from orchestrator.commands.job import Follow, check, followed
from orchestrator.commands.reading import Reader
from orchestrator.config import Config, load_config
from orchestrator.following import Snapshot
from orchestrator.logs import held_back
from orchestrator.until import Condition
from orchestrator.view.live import LineView, Stop, TableView, View, drive, is_terminal

_EVENTS_SHOWN: Final = 50


def run(config_path: Path, until: Condition | None, timeout: timedelta | None) -> None:
    """Follow until interrupted, or until the condition holds.

    Raises:
        ConfigError: the configuration cannot be used.
        FollowingError: the query could not start, or died.
        GateNotMetError: the condition did not hold in time.
    """
    config = load_config(config_path)
    gate = Gate(until, timeout, config.stall_after_ms)
    with suppress(KeyboardInterrupt), Stop() as stop:
        follow_and_show(config, gate, stop, followed)


def follow_and_show(config: Config, gate: Gate, stop: Stop, follow: Follow) -> None:
    """Start the query and drive a view from its store until `stop`, or until the gate is met."""
    as_table = is_terminal()
    reader = Reader(config, newest=_EVENTS_SHOWN if as_table else None)
    if not as_table:
        reader.begin_behind_what_is_there()
    click.echo("kraftgate: starting; Ctrl-C ends it", err=True)
    with follow(config) as following:
        stop.take_signals()

        def poll() -> list[Snapshot]:
            check(following)
            return reader.look(_now_ms())

        with held_back() if as_table else nullcontext():
            drive(_view(config, as_table=as_table), poll, stop, gate.is_met, _now_ms)


def _view(config: Config, *, as_table: bool) -> View:
    if as_table:
        return TableView(Console(), config.stall_after_ms)
    return LineView(sys.stdout, config.stall_after_ms)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
