"""The command line. Each command imports its work when it runs."""

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from orchestrator.cli.execution import COMMANDS
from orchestrator.cli.framework import ConditionType, DurationType, LazyGroup, Program
from orchestrator.cli.framework import config_option as _config
from orchestrator.cli.report_command import report

if TYPE_CHECKING:
    from migration.assessment.conditions import Condition

_CONFIG_EXAMPLE: Final = """\b
The configuration (kraftgate.yaml):
  cluster: {name: prod}
  zookeeper: {connect: "zk1:2181,zk2:2181/kafka"}
  controllers: {bootstrap: "c1:9093,c2:9093"}
  brokers: {bootstrap: "b1:9092,b2:9092"}
  jmx: {exporters: {"1": "http://b1:7071/metrics", "3000": "http://c1:7071/metrics"}}
  state_dir: ./kraftgate-state
  metrics: {listen: "127.0.0.1:9464"}
  console: {listen: "127.0.0.1:8464"}
  stall: {after: 5m}
  alerts: {runbook_url: "https://wiki.example.com/kraftgate", slack: [{url_file: slack-url}]}
  runbook: {file: zk-to-kraft-jbod, hooks: hooks.yaml}
"""
_CODES: Final = (
    "Exit codes: 0 done or condition met, 1 failed, 2 usage or configuration,"
    " 3 condition not met in time, 4 stale or no data, 5 a hazard blocks."
)


_verbose = click.option("-v", "--verbose", count=True, help="Log more to stderr; twice for all.")


def _log(verbosity: int) -> None:
    from orchestrator.process.logs import log_to_stderr

    log_to_stderr(verbosity)


@click.group(cls=Program, epilog=_CODES)
@click.version_option(package_name="kraftgate", prog_name="kraftgate")
def main() -> None:
    """Follow a Kafka cluster through its ZooKeeper-to-KRaft migration.

    \b
    Example:
      kraftgate run --config kraftgate.yaml
    """  # noqa: D301  # click wants the backspace


@main.command(epilog=_CONFIG_EXAMPLE)
@_config
@click.option(
    "--until",
    type=ConditionType(),
    metavar="CONDITION",
    help="Exit with 0 once this condition holds for every cluster: a phase such as finalized"
    " (reached or passed; also phase(finalized)), assignments_complete(BROKER), nothing_held,"
    " offset(N), or another condition of `kraftgate help conditions`.",
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
    is_flag=True,
    help="Serve the web console, at 127.0.0.1:8464 unless `console` in the configuration names"
    " another address. With that key the console is served without this option, too.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Print the whole plan for the real cluster, with every command and gate, and exit.",
)
@_verbose
def run(
    config_path: Path,
    until: "Condition | None",
    timeout: timedelta | None,
    *,
    execute: bool,
    console: bool,
    dry_run: bool,
    verbose: int,
) -> None:
    """Follow the clusters, show them, and execute their runbook, until Ctrl-C.

    Shows a live view on a terminal, else prints one line per change. Without --execute it writes
    nothing to Kafka or ZooKeeper; with it, it also holds a lock in ZooKeeper.

    \b
    Examples:
      kraftgate run --config kraftgate.yaml
      kraftgate run --until finalized --timeout 2h
      kraftgate run --until 'assignments_complete(3)' | tee migration.log
    """  # noqa: D301  # click wants the backspace
    if timeout is not None and until is None:
        raise click.UsageError(
            "--timeout needs --until: add the condition that must hold within that time"
        )
    if dry_run and (execute or console or until is not None):
        raise click.UsageError("--dry-run only prints: remove --execute, --console and --until")
    _log(verbose)
    if dry_run:
        from orchestrator.cli.plan import dry_run as print_plan

        print_plan(config_path)
        return
    from orchestrator.cli import run as command

    command.run(config_path, until, timeout, execute=execute, console=console)


@main.command()
@_config
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@_verbose
def status(config_path: Path, *, as_json: bool, verbose: int) -> None:
    """Print the last observed state, and what is pending.

    Reads the state directory, so it works while `run` runs and after it. Exits with 4 if there is
    no data or the data is stale (it still prints it). The JSON has the newest 1000 events.

    \b
    Example:
      kraftgate status --json | jq -r '.waiting_for[]'
    """  # noqa: D301  # click wants the backspace
    _log(verbose)
    from orchestrator.cli import status as command

    command.status(config_path, as_json=as_json)


@main.command()
@_config
@click.option(
    "--condition",
    "conditions",
    type=ConditionType(),
    multiple=True,
    metavar="CONDITION",
    help="A condition, such as isr_full or assignments_complete(3); may be given several times.",
)
@click.option("--checkpoint", metavar="ID", help="A checkpoint of the runbook that must be passed.")
@click.option(
    "--timeout",
    type=DurationType(),
    default="30m",
    show_default=True,
    metavar="DURATION",
    help="Exit with 3, 4 or 5 if it does not hold within this time.",
)
@click.option("--cluster", metavar="NAME", help="The cluster, if several are configured.")
@click.option(
    "--fail-fast", is_flag=True, help="Exit with 5 as soon as a condition needs an operator."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end.")
@_verbose
def wait(
    config_path: Path,
    conditions: "tuple[Condition, ...]",
    checkpoint: str | None,
    timeout: timedelta,
    cluster: str | None,
    *,
    fail_fast: bool,
    as_json: bool,
    verbose: int,
) -> None:
    """Wait until conditions hold, for a script that performs the steps itself.

    Reads the observations of the running `kraftgate run`, and lets it poll the disks before it
    reports that a condition holds. Prints pending conditions to stderr. Exits with 0 if all hold;
    after --timeout with 3 if one does not hold, 4 if that is unknown, 5 if an operator has to act.

    \b
    Examples:
      kraftgate wait --condition 'assignments_complete(3)' --timeout 30m
      kraftgate wait --condition 'no_hazard(restart, 3)' --timeout 1m && systemctl restart kafka
      kraftgate wait --condition isr_full --condition 'soak(10m)'
    """  # noqa: D301  # click wants the backspace
    if not conditions and checkpoint is None:
        raise click.UsageError("nothing to wait for: add --condition or --checkpoint")
    _log(verbose)
    from orchestrator.cli import wait as command

    command.wait(
        config_path,
        conditions,
        timeout,
        cluster,
        checkpoint=checkpoint,
        fail_fast=fail_fast,
        as_json=as_json,
    )


@main.command()
@_config
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@_verbose
def preflight(config_path: Path, *, as_json: bool, verbose: int) -> None:
    """Check, before the window, whether the migration may begin.

    Asks ZooKeeper, every broker and, once they exist, the controllers; only reads. Exits with 5
    if a check blocks or cannot be decided, with 4 if nothing could be reached. On a finalized
    cluster nothing blocks and nothing is advised.

    \b
    Examples:
      kraftgate preflight --config kraftgate.yaml
      kraftgate preflight --json | jq -r '.checks[] | select(.blocking).id'
    """  # noqa: D301  # click wants the backspace
    _log(verbose)
    from orchestrator.cli import preflight as command

    command.preflight(config_path, as_json=as_json)


@main.command()
@_config
@click.option(
    "--before",
    "action",
    type=click.Choice(["restart", "migrate", "finalize"]),
    help="Only hazards that block this step.",
)
@click.option("--broker", type=int, metavar="ID", help="Only hazards of this broker.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@_verbose
def hazards(
    config_path: Path, action: str | None, broker: int | None, *, as_json: bool, verbose: int
) -> None:
    """Print what would lose data, with its evidence and the way out.

    Lets the running `kraftgate run` poll the brokers' disks now. Exits with 5 if a hazard blocks,
    with 4 if a source that would show one is not current, with 2 for a broker that does not exist.
    `finalize_too_early` is shown once finalizing is near, and with --before finalize.

    \b
    Example:
      kraftgate hazards --before restart --broker 3 && systemctl restart kafka
    """  # noqa: D301  # click wants the backspace
    _log(verbose)
    from migration.assessment.hazards import Action
    from orchestrator.cli import hazards as command

    command.show(config_path, None if action is None else Action(action), broker, as_json=as_json)


@main.command(name="what-if")
@_config
@click.option("--broker", type=int, metavar="ID", required=True, help="The broker that fails.")
@click.option("--log-dir", metavar="PATH", help="Only this log directory of the broker fails.")
@click.option("--cluster", metavar="NAME", help="The cluster, if several are configured.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@_verbose
def what_if(
    config_path: Path,
    broker: int,
    log_dir: str | None,
    cluster: str | None,
    *,
    as_json: bool,
    verbose: int,
) -> None:
    """Print which partitions are affected if a broker, or a log directory, fails now.

    Asks the brokers; only reads. While `kraftgate run` runs, the prediction also uses the replicas'
    directories in the metadata log. Exits with 5 if a partition would be lost, unavailable or
    leaderless, or if that is unknown; with 4 if the brokers cannot be reached.

    \b
    Examples:
      kraftgate what-if --broker 3
      kraftgate what-if --broker 3 --log-dir /data/d1 --json | jq .counts
    """  # noqa: D301  # click wants the backspace
    _log(verbose)
    from orchestrator.cli import what_if as command

    command.what_if(config_path, cluster, broker, log_dir, as_json=as_json)


@main.command()
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--state-dir",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Keep the store and the replicas' transitions in this directory.",
)
@_verbose
def replay(path: Path, *, as_json: bool, state_dir: Path | None, verbose: int) -> None:
    """Run the job over a metadata log to its end, and print the state there.

    PATH is a __cluster_metadata-0 directory, one .log or one .checkpoint. For a damaged file the
    command exits with 1 and prints one line to stderr, and still prints the state up to the last
    good batch.

    \b
    Example:
      kraftgate replay /var/lib/kafka/__cluster_metadata-0 --json | jq .phase
    """  # noqa: D301  # click wants the backspace
    _log(verbose)
    from orchestrator.cli import replay as command

    command.replay(path, state_dir, as_json=as_json)


@main.command(name="help")
@click.argument("topic", required=False)
def help_(topic: str | None) -> None:
    """Print a page of the handbook, or the list of topics.

    \b
    Examples:
      kraftgate help
      kraftgate help migration-night
      kraftgate help conditions
    """  # noqa: D301  # click wants the backspace
    from orchestrator.output.manual import text, title, topics
    from orchestrator.output.printing import echo, echo_text

    if topic is not None:
        echo_text(text(topic))
        return
    for name, page in topics().items():
        echo(f"{name:<18}{title(page)}")


main.add_command(
    LazyGroup("alerts", "orchestrator.cli.alerts:alerts", "Active alerts, deliveries, and a test.")
)
main.add_command(
    LazyGroup("audit", "orchestrator.cli.audit:audit", "The audit trail: show, verify, export.")
)
main.add_command(
    LazyGroup("lab", "orchestrator.cli.lab.lab:lab", "A real cluster on loopback, for rehearsals.")
)
main.add_command(
    LazyGroup("runbook", "orchestrator.cli.runbook:runbook", "Runbooks: list, show, check, schema.")
)
main.add_command(report)
for each in COMMANDS:
    main.add_command(each)
