"""`kraftgate run`: follow the clusters and show them, until told to end or a condition holds."""

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from migration.assessment.conditions import Condition
from migration.assessment.polled import NOT_POLLED, Polled
from orchestrator.audit.opening import open_verified
from orchestrator.config.load import Config, load_config
from orchestrator.config.models import ConsoleAddress
from orchestrator.config.state_dir import claiming, key
from orchestrator.execution.conductor import Conductor
from orchestrator.notify.notifier import notifying, print_active_alerts
from orchestrator.output.printing import echo
from orchestrator.output.rich_console import console
from orchestrator.process.logs import held_back
from orchestrator.run.alert_file import AlertFiles
from orchestrator.run.assessed import Tick
from orchestrator.run.assessor import Assessor
from orchestrator.run.board import Board
from orchestrator.run.identity import require_one_cluster
from orchestrator.run.job import Follow, check, followed
from orchestrator.run.probes.probes import asking_for
from orchestrator.run.reader import Reader
from orchestrator.run.recorder import Chronicle
from orchestrator.run.until import Gate
from orchestrator.views.metrics.serving import served
from orchestrator.views.terminal.live import LineView, Stop, TableView, View, drive, is_terminal

if TYPE_CHECKING:
    from orchestrator.views.console.web import serving

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
        gate = Gate(until, timeout)
        with suppress(KeyboardInterrupt), Stop() as stop:
            follow_and_show(
                config,
                gate,
                stop,
                followed,
                execute=execute,
                polled=lambda name: asking[name].latest(),
            )


def follow_and_show(
    config: Config,
    gate: Gate,
    stop: Stop,
    follow: Follow,
    *,
    execute: bool = False,
    polled: Callable[[str], Polled] = lambda _: NOT_POLLED,
) -> None:
    """Start the query and drive a view from its store until `stop`, or until the gate is met.

    `polled`: gives the latest answers of the sources that the gate needs, by cluster.
    """
    as_table = is_terminal()
    reader = Reader(config, newest=_EVENTS_SHOWN if as_table else None)
    if not as_table:
        reader.begin_behind_what_is_there()
    echo("kraftgate: starting; Ctrl-C ends it", err=True)
    begun_ms = _now_ms()
    board, alert_files = Board(), AlertFiles(config)
    assessor = Assessor(config, reader)
    assessor.follow_from_here()
    # A wrong runbook stops before Spark starts.
    with (
        open_verified(config) as log,
        notifying(config) as alerts,
        served(config, board, alerts.stats) as metrics,
        _console(config) as console,
        closing(Conductor(config, log, execute=execute)) as conductor,
        closing(Chronicle(config, log, assessor.reported_before_ms)) as chronicle,
        follow(config) as following,
    ):
        stop.take_signals()

        assessor.execution = conductor.execution
        assessor.polled = lambda name: polled(name).merged(conductor.polled(name))

        def tick() -> Tick:
            check(following)
            conductor.take_in()  # before the read, so that the read cannot be older
            now = assessor.tick(_now_ms())
            require_one_cluster(config, now, begun_ms)
            conductor.tick(now)
            board.last = now
            alerts.polled()
            alerts.submit(now)
            alert_files.keep(now)
            chronicle.tick(now)
            if console is not None:
                console.tick(now)
            return now

        with held_back() if as_table else nullcontext():
            drive(_view(as_table=as_table), tick, stop, gate.is_met)
        if board.last is not None:
            print_active_alerts(board.last)
        if metrics is not None and not stop.is_set():
            metrics.wait_until_told(stop.wait)


def _console(config: Config) -> "AbstractContextManager[serving.Console | None]":
    """The console, where one is wanted: what it is built on takes its time to import."""
    if config.console is None:
        return nullcontext()
    from orchestrator.views.console.web.serving import served as console_served

    return console_served(config, config.console)


def _view(*, as_table: bool) -> View:
    return TableView(console()) if as_table else LineView(sys.stdout)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
