"""The command line: what a person types. Each command's work is imported when it is asked for."""

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from orchestrator.cli_types import ConditionType, DurationType, LazyGroup, Program

if TYPE_CHECKING:
    from orchestrator.until import Condition

_CONFIG_EXAMPLE: Final = """\b
The configuration (kraftgate.yaml):
  cluster: {name: prod}
  zookeeper: {connect: "zk1:2181,zk2:2181/kafka"}
  controllers: {bootstrap: "c1:9093,c2:9093"}
  brokers: {bootstrap: "b1:9092,b2:9092"}
  state_dir: ./kraftgate-state
  stall: {after: 5m}
"""
_CODES: Final = (
    "Exit codes: 0 done or condition met, 1 failed, 2 usage or configuration,"
    " 3 condition not met in time, 4 stale or no data, 5 a hazard blocks."
)


_config = click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=Path),
    default=Path("kraftgate.yaml"),
    show_default=True,
    metavar="FILE",
    help="The configuration.",
)
_verbose = click.option("-v", "--verbose", count=True, help="Log more to stderr; twice for all.")


def _log(verbosity: int) -> None:
    from orchestrator.logs import log_to_stderr

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
    help="End with 0 once this holds for every cluster: a phase such as finalized (reached or"
    " passed; also phase(finalized)), assignments_complete(BROKER), nothing_held, offset(N).",
)
@click.option(
    "--timeout",
    type=DurationType(),
    metavar="DURATION",
    help="End with 3 if --until does not hold within this time, such as 90s or 1h30m.",
)
@_verbose
def run(
    config_path: Path, until: "Condition | None", timeout: timedelta | None, verbose: int
) -> None:
    """Follow the clusters and show them until Ctrl-C.

    A live view on a terminal, else one line per change. Nothing is written to Kafka or ZooKeeper.

    \b
    Examples:
      kraftgate run --config kraftgate.yaml
      kraftgate run --until finalized --timeout 2h
      kraftgate run --until 'assignments_complete(3)' | tee migration.log
    """  # noqa: D301  # click wants the backspace
    if timeout is not None and until is None:
        raise click.UsageError("--timeout needs --until: what should hold within that time?")
    _log(verbose)
    from orchestrator.commands import run as command

    command.run(config_path, until, timeout)


@main.command()
@_config
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@_verbose
def status(config_path: Path, *, as_json: bool, verbose: int) -> None:
    """Print what was last observed, and what is being waited for.

    Reads the state directory, so it works while `run` runs and after it. Ends with 4 when there
    is nothing or the data is stale (it is printed still). JSON has the newest 1000 events.

    \b
    Example:
      kraftgate status --json | jq -r '.waiting_for[]'
    """  # noqa: D301  # click wants the backspace
    _log(verbose)
    from orchestrator.commands import status as command

    command.status(config_path, as_json=as_json)


@main.command()
@_config
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@_verbose
def preflight(config_path: Path, *, as_json: bool, verbose: int) -> None:
    """Check, before the window, whether the migration may begin.

    Asks ZooKeeper, every broker and, once they exist, the controllers; reads only. Ends with 5
    when something blocks or cannot be told, with 4 when nothing at all could be reached.

    \b
    Examples:
      kraftgate preflight --config kraftgate.yaml
      kraftgate preflight --json | jq -r '.checks[] | select(.blocking).id'
    """  # noqa: D301  # click wants the backspace
    _log(verbose)
    from orchestrator.commands import preflight as command

    command.preflight(config_path, as_json=as_json)


@main.command()
@_config
@click.option(
    "--before",
    "action",
    type=click.Choice(["restart", "migrate", "finalize"]),
    help="Only what blocks this step.",
)
@click.option("--broker", type=int, metavar="ID", help="Only what is about this broker.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@_verbose
def hazards(
    config_path: Path, action: str | None, broker: int | None, *, as_json: bool, verbose: int
) -> None:
    """Print what would lose data, with its evidence and the way out.

    Has the brokers' disks looked at now, by the `kraftgate run` that runs. Ends with 5 when a
    hazard blocks, with 4 when what would show one is not known.

    \b
    Example:
      kraftgate hazards --before restart --broker 3 && systemctl restart kafka
    """  # noqa: D301  # click wants the backspace
    _log(verbose)
    from migration.hazards import Action
    from orchestrator.commands import hazards as command

    command.show(config_path, None if action is None else Action(action), broker, as_json=as_json)


@main.command(name="what-if")
@_config
@click.option("--broker", type=int, metavar="ID", required=True, help="The broker that fails.")
@click.option(
    "--log-dir", metavar="PATH", help="Only this log directory of it fails, as its broker names it."
)
@click.option("--cluster", metavar="NAME", help="Of several configured clusters, this one.")
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
    """Print which partitions suffer if a broker, or a directory, failed now.

    Asks the brokers, reads only. Where the metadata log has the replicas is known while
    `kraftgate run` runs. Ends with 5 when a partition would be lost, away or leaderless, or that
    cannot be told; with 4 when the brokers cannot be asked.

    \b
    Examples:
      kraftgate what-if --broker 3
      kraftgate what-if --broker 3 --log-dir /data/d1 --json | jq .counts
    """  # noqa: D301  # click wants the backspace
    _log(verbose)
    from orchestrator.commands import what_if as command

    command.what_if(config_path, cluster, broker, log_dir, as_json=as_json)


@main.command()
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--state-dir",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Keep the store and the replicas' transitions there.",
)
@_verbose
def replay(path: Path, *, as_json: bool, state_dir: Path | None, verbose: int) -> None:
    """Run the same job over a metadata log to its end and print the state there.

    PATH is a __cluster_metadata-0 directory, one .log or one .checkpoint. A damaged file ends with
    1 and one line on stderr; the state up to the last good batch is printed still.

    \b
    Example:
      kraftgate replay /var/lib/kafka/__cluster_metadata-0 --json | jq .phase
    """  # noqa: D301  # click wants the backspace
    _log(verbose)
    from orchestrator.commands import replay as command

    command.replay(path, state_dir, as_json=as_json)


main.add_command(
    LazyGroup("lab", "orchestrator.lab.commands:lab", "A small real cluster to try a migration on.")
)
