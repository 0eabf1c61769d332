"""`kraftgate run`: the loop that follows the clusters, shows them and executes their runbook."""

import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from migration.assessment.conditions import Condition, DataSource
from migration.assessment.polled import NOT_POLLED, Polled
from orchestrator.api.status import clusters_json
from orchestrator.audit.opening import open_verified
from orchestrator.cli.framework import (
    ConditionType,
    DurationType,
    config_option,
    log_options,
    require_more_than_soak,
)
from orchestrator.config.load import Config, load_config
from orchestrator.config.models import ClusterEntry, ConsoleAddress, RunbookEntry
from orchestrator.config.state_dir import claiming, key
from orchestrator.errors import ExecutionError, NoDataError
from orchestrator.execution.conductor import Conductor
from orchestrator.notify.notifier import notifying, print_active_alerts
from orchestrator.notify.sender import SenderStats
from orchestrator.output.printing import ask, echo, echo_json, echo_text
from orchestrator.output.rich_console import console
from orchestrator.process.logs import held_back
from orchestrator.run.alert_file import AlertFiles
from orchestrator.run.assessed import Assessor, Tick
from orchestrator.run.conditions import Gate
from orchestrator.run.identity import OneCluster, followed_ids, followed_target
from orchestrator.run.job import Follow, check, followed
from orchestrator.run.probes.probes import disks_poller, poller_for
from orchestrator.run.publishing import publishing
from orchestrator.run.reader import Reader
from orchestrator.run.recorder import AuditRecorder
from orchestrator.runbook.cluster_facts import facts_of
from orchestrator.runbook.hooks_file import load_hooks
from orchestrator.runbook.load import load
from orchestrator.runbook.plan import Plan, plan
from orchestrator.runbook.plan_formats import plan_json, plan_text
from orchestrator.views.terminal.live import LineView, Stop, TableView, View, drive, is_terminal
from streams.probe.gather import gather
from streams.process.clocks import wall_clock_ms

if TYPE_CHECKING:
    from orchestrator.views.console.web.serving import Console
    from orchestrator.views.metrics.serving import Served

_EVENTS_SHOWN: Final = 50


CONFIG_EXAMPLE: Final = """\b
The configuration (kraftgate.yaml):
  cluster: {name: prod}
  zookeeper: {connect: "zk1:2181,zk2:2181/kafka"}
  controllers: {bootstrap: "c1:9093,c2:9093,c3:9093"}
  brokers: {bootstrap: "b1:9092,b2:9092"}
  jmx:
    exporters:
      "1": "http://b1:7071/metrics"
      "3000": "http://c1:7071/metrics"
  state_dir: ./kraftgate-state
  metrics: {listen: "127.0.0.1:9464"}
  console: {listen: "127.0.0.1:8464"}
  stall: {after: 5m}
  alerts:
    runbook_url: "https://wiki.example.com/kraftgate"
    slack: [{url_file: slack-url}]
  runbook: {file: zk-to-kraft-jbod, hooks: hooks.yaml}
"""


@click.command(epilog=CONFIG_EXAMPLE)
@config_option
@click.option(
    "--until",
    type=ConditionType(),
    metavar="CONDITION",
    help="Exit with 0 once this condition holds for every cluster (3 if the command ends before): a"
    " phase such as finalized (reached or passed; also phase(finalized)),"
    " assignments_complete(BROKER), nothing_held, offset(N), or another condition of"
    " `kraftgate help conditions`.",
)
@click.option(
    "--timeout",
    type=DurationType(),
    metavar="DURATION",
    help="Exit with 3 if --until does not hold within this time, such as 90s or 1h30m.",
)
@click.option(
    "--execute",
    is_flag=True,
    help="Let hooks perform the runbook's steps (`hooks` in the configuration). Without it, every"
    " step is shown for an operator to perform.",
)
@click.option(
    "--console",
    "with_console",
    is_flag=True,
    help="Serve the web console, at 127.0.0.1:8464 unless `console` in the configuration names"
    " another address. With that key the console is served without this option, too.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Print the whole plan for the real cluster, with every command and gate, and exit.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the plan as one JSON object.")
@click.option(
    "--yes",
    "confirmed",
    is_flag=True,
    help="With --execute: do not ask for the cluster's name on a terminal.",
)
@log_options
def run(
    config_path: Path,
    until: Condition | None,
    timeout: timedelta | None,
    *,
    execute: bool,
    with_console: bool,
    dry_run: bool,
    as_json: bool,
    confirmed: bool,
) -> None:
    """Follow the clusters, show them, and execute their runbook, until Ctrl-C.

    Shows a live view on a terminal, else prints one line per change. Without --execute it writes
    nothing to Kafka or ZooKeeper; with it, it also holds a lock in ZooKeeper until the migration is
    finalized.

    \b
    Examples:
      kraftgate run --config kraftgate.yaml
      kraftgate run --until finalized --timeout 2h
      kraftgate run --until 'assignments_complete(3)' | tee migration.log
    """
    if until is not None:
        require_more_than_soak([until], "use kraftgate wait with several --condition")
    if timeout is not None and until is None:
        raise click.UsageError(
            "--timeout needs --until: add the condition that must hold within that time"
        )
    if as_json and not dry_run:
        raise click.UsageError(
            "--json prints a plan: add --dry-run, or use kraftgate status --json"
        )
    if dry_run and (execute or with_console or until is not None):
        raise click.UsageError("--dry-run only prints: remove --execute, --console and --until")
    config = load_config(config_path)
    if dry_run:
        _print_plans(config, as_json=as_json)
        return
    if execute and not confirmed:
        _confirm_execution(config)
    if with_console and config.console is None:
        config = replace(config, console=ConsoleAddress())
    with Stop(overdue=_kill_jvm) as stop, ExitStack() as stack:
        check_claim = stack.enter_context(claiming(config.state_dir, key(config)))
        pollers = {
            each.name: stack.enter_context(
                closing(poller_for(config, each, [until] if until else [], {}))
            )
            for each in config.clusters
        }
        disks = {
            each.name: stack.enter_context(
                closing(disks_poller(config.state_dir, each.name, "kraftgate run --until"))
            )
            for each in config.clusters
            if until and DataSource.LOG_DIRS in until.needs and each.brokers is not None
        }
        gate = Gate(until, timeout, disks)

        def check_start() -> None:
            stop.check()
            gate.check_start()

        with suppress(KeyboardInterrupt):
            follow_and_show(
                config,
                gate,
                stop,
                lambda config: followed(config, check_start),
                execute=execute,
                polled=lambda name: pollers[name].latest(),
                check_claim=check_claim,
            )
        gate.require_met()


def _kill_jvm() -> None:
    from streams.spark.session import kill_jvm

    kill_jvm()


def follow_and_show(
    config: Config,
    gate: Gate,
    stop: Stop,
    follow: Follow,
    *,
    execute: bool = False,
    polled: Callable[[str], Polled] = lambda _: NOT_POLLED,
    check_claim: Callable[[], None] = lambda: None,
) -> None:
    """Start the query and drive a view from its store until `stop`, or until the gate is met.

    `polled` returns the latest answers of the sources that the gate needs, by cluster.
    `check_claim` raises an error if another process may use the state directory.
    """
    as_table = is_terminal()
    reader = Reader(config, newest=_EVENTS_SHOWN if as_table else None)
    reader.follow_from_here()
    echo("kraftgate: starting; Ctrl-C ends it", err=True)
    alert_files = AlertFiles(config)
    last: Tick | None = None
    # A wrong runbook stops before Spark starts.
    with (
        open_verified(config) as log,
        notifying(config) as alerts,
        served_metrics(config, lambda: last, alerts.stats) as metrics,
        _console(config) as console,
        Conductor(config, log, execute=execute) as conductor,
        AuditRecorder(config, log) as recorder,
        follow(config) as job,
        publishing(config, lambda: followed_ids(config, last)) as publisher,
    ):
        assessor = Assessor(config, reader, log)
        assessor.not_followed = lambda: None  # this process holds the state directory
        one_cluster = OneCluster(config)
        reader.execution = conductor.execution
        assessor.polled = lambda name: polled(name).merged(conductor.polled(name))

        def tick() -> Tick:
            nonlocal last
            check_claim()
            check(job)
            if publisher is not None:
                publisher.check()
            conductor.store_answers()  # before the read, so that the read cannot be older
            now = assessor.tick(wall_clock_ms())
            one_cluster.require(now)
            conductor.tick(now)
            last = now
            alerts.polled()
            alert_files.keep(now.alerts)  # before anything else has them: a power cut may follow
            alerts.submit(now)
            recorder.tick(now)
            if console is not None:
                console.tick(now)
            return now

        with held_back() if as_table else nullcontext(lambda: None) as warning:
            drive(_view(warning, as_table=as_table), tick, stop, gate.is_met)
        if last is not None:
            print_active_alerts(last)
        if metrics is not None and not stop.is_set():
            metrics.wait_until_scraped(stop.wait)


def _confirm_execution(config: Config) -> None:
    """Ask on a terminal for the name of each cluster whose steps hooks will perform.

    Raises:
        ExecutionError: another name was typed.
    """
    if not sys.stdin.isatty():
        return
    for each in config.clusters:
        if each.runbook is None or each.runbook.hooks is None:
            continue
        typed = ask(
            f"{each.runbook.hooks} will change cluster {each.name}, step by step, as"
            f" `kraftgate run --dry-run` prints. Type {each.name} to begin"
        )
        if typed != each.name:
            raise ExecutionError(f"nothing was begun: {typed!r} is not {each.name}")


def _print_plans(config: Config, *, as_json: bool) -> None:
    """Print, for every cluster with a runbook, each checkpoint, command, gate and approval.

    Raises:
        RunbookError: a runbook or its hooks cannot be used.
        ExecutionError: no cluster has a runbook.
        NoDataError: a cluster cannot be reached; its plan was printed without hosts.
    """
    named = [(each, each.runbook) for each in config.clusters if each.runbook is not None]
    if not named:
        raise ExecutionError(f"{config.path} has no `runbook` to plan")
    plans = [_plan(config, each, runbook) for each, runbook in named]
    if as_json:
        echo_json(clusters_json(list(map(plan_json, plans)), many=config.many))
    else:
        for each in plans:
            echo_text(plan_text(each))
    unreachable = [each.facts.cluster for each in plans if not each.facts.reached]
    if unreachable:
        raise NoDataError(f"{', '.join(unreachable)} cannot be reached: the plan has no hosts")


def _plan(config: Config, entry: ClusterEntry, runbook: RunbookEntry) -> Plan:
    loaded = load(runbook.file)
    hooks = None if runbook.hooks is None else load_hooks(runbook.hooks, loaded.runbook)
    return plan(loaded, facts_of(entry, gather(followed_target(config, entry))), hooks)


def served_metrics(
    config: Config,
    last: Callable[[], Tick | None],
    receivers: Callable[[], Mapping[str, SenderStats]] = dict,
) -> "AbstractContextManager[Served | None]":
    """Return the listener of the metrics if it is configured; its libraries take time to import."""
    if config.metrics is None:
        return nullcontext()
    from orchestrator.views.metrics.serving import served

    return served(config, config.metrics, last, receivers)


def _console(config: Config) -> "AbstractContextManager[Console | None]":
    """Return the console if it is configured, likewise."""
    if config.console is None:
        return nullcontext()
    from orchestrator.views.console.web.serving import served

    return served(config, config.console)


def _view(warning: Callable[[], str | None], *, as_table: bool) -> View:
    return TableView(console(), warning) if as_table else LineView(sys.stdout)
