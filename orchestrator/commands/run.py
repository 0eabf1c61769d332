"""`kraftgate run`: follow the clusters and show them, until told to end or a condition holds."""

import sys
import time
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from migration.assessment.conditions import Condition
from orchestrator.alerts.sending import say_what_stands, sending
from orchestrator.alerts.watch import Watch
from orchestrator.audit.opening import open_verified
from orchestrator.chronicle.chronicle import Chronicle
from orchestrator.commands.gate import Gate
from orchestrator.commands.identity import require_one_cluster
from orchestrator.commands.job import Follow, check, followed
from orchestrator.commands.reading import Reader
from orchestrator.conditions.askers import asking_for
from orchestrator.config import Config, load_config
from orchestrator.config_models import ConsoleAddress
from orchestrator.following import Snapshot
from orchestrator.logs import held_back
from orchestrator.metrics.board import Board
from orchestrator.metrics.serving import served
from orchestrator.state_dir import claiming, key
from orchestrator.terminal import echo
from orchestrator.view.live import LineView, Stop, TableView, View, drive, is_terminal
from orchestrator.view.visible_console import console
from orchestrator.walk.conductor import Conductor

if TYPE_CHECKING:
    from orchestrator.console import serving

_EVENTS_SHOWN: Final = 50


def run(
    config_path: Path,
    until: Condition | None,
    timeout: timedelta | None,
    *,
    execute: bool,
    console: bool = False,
) -> None:
    """Follow until interrupted, or until the condition holds, and walk what has a runbook.

    `execute`: steps that have a hook are done by it. `console`: it is served also when the
    configuration does not name it.

    Raises:
        ConfigError: the configuration cannot be used, or nothing can listen where it says.
        LockHeld: another process uses the state directory.
        RunbookError: a runbook, or its file of hooks.
        WalkError: there is nothing to execute.
        LockHeld: another orchestrator acts on a cluster.
        FollowingError: the query could not start, or died.
        GateNotMetError: the condition did not hold in time.
        AuditError: the audit trail cannot be written, or is not as it was written.
    """
    config = load_config(config_path)
    if console and config.console is None:
        config = replace(config, console=ConsoleAddress())
    with ExitStack() as stack:
        stack.enter_context(claiming(config.state_dir, key(config)))
        asking = {
            each.name: stack.enter_context(closing(asking_for(each, [until] if until else [], {})))
            for each in config.clusters
        }
        gate = Gate(until, timeout, config, lambda name: asking[name].latest())
        with suppress(KeyboardInterrupt), Stop() as stop:
            follow_and_show(config, gate, stop, followed, execute=execute)


def follow_and_show(
    config: Config, gate: Gate, stop: Stop, follow: Follow, *, execute: bool = False
) -> None:
    """Start the query and drive a view from its store until `stop`, or until the gate is met."""
    as_table = is_terminal()
    reader = Reader(config, newest=_EVENTS_SHOWN if as_table else None)
    if not as_table:
        reader.begin_behind_what_is_there()
    echo("kraftgate: starting; Ctrl-C ends it", err=True)
    begun_ms = _now_ms()
    board, watch = Board(config), Watch(config)
    # A wrong runbook stops before Spark starts.
    with (
        open_verified(config) as log,
        sending(config) as alerts,
        served(config, board, lambda: watch.last, alerts.figures) as metrics,
        _console(config) as console,
        closing(Conductor(config, log, execute=execute)) as conductor,
        closing(Chronicle(config, log)) as chronicle,
        follow(config) as following,
    ):
        stop.take_signals()

        def poll() -> list[Snapshot]:
            check(following)
            now_ms = _now_ms()
            conductor.take_in()
            found = reader.look(now_ms)
            require_one_cluster(config, found, begun_ms)
            conductor.look(found, now_ms)
            look = board.put(found, reader.tallies(), now_ms)
            alerts.looked()
            if watch.look(look):
                alerts.hand_over(watch.last, now_ms)
            chronicle.look(found, watch.last, now_ms)
            if console is not None:
                console.look(look)
            return [seen.snapshot for seen in look.clusters]

        with held_back() if as_table else nullcontext():
            drive(_view(config, as_table=as_table), poll, stop, gate.is_met, _now_ms)
        if board.last is not None:
            watch.look(board.last, last=True)
            alerts.hand_over(watch.last, board.last.at_ms)
            say_what_stands(watch.last)
        if metrics is not None and not stop.is_set():
            metrics.wait_until_told(stop.wait)


def _console(config: Config) -> "AbstractContextManager[serving.Console | None]":
    """The console, where one is wanted: what it is built on takes its time to import."""
    if config.console is None:
        return nullcontext()
    from orchestrator.console.serving import served as console_served

    return console_served(config, config.console)


def _view(config: Config, *, as_table: bool) -> View:
    if as_table:
        return TableView(console(), config.stall_after_ms)
    return LineView(sys.stdout, config.stall_after_ms)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
