"""The click group `lab`: `start` holds a lab in the foreground, every other command talks to it."""

from pathlib import Path

import click

from orchestrator.cli.lab.control_request import HOME, example, failing, request
from orchestrator.cli.lab.faults import FAULTS
from orchestrator.cli.lab.rollback import REVERTING
from orchestrator.cli.lab.steps import STEPS
from orchestrator.lab.cluster.spec import LabSpec
from orchestrator.lab.control.foreground import Start, hold
from orchestrator.output.printing import echo, echo_json


@click.group(epilog=example("kraftgate lab start --brokers 3 --topics 4", "kraftgate lab migrate"))
def lab() -> None:
    """Run a real Kafka cluster on loopback and take it through the migration."""


@lab.command(epilog=example("kraftgate lab start --brokers 3 --directories 2 --home ./my-lab"))
@HOME
@click.option("--brokers", type=click.IntRange(0, 50), default=3, show_default=True)
@click.option(
    "--directories", type=click.IntRange(1, 20), default=2, show_default=True, help="Per broker."
)
@click.option("--controllers", type=click.IntRange(1, 7), default=1, show_default=True)
@click.option(
    "--zookeepers",
    type=click.IntRange(1, 7),
    default=1,
    show_default=True,
    help="Servers of ZooKeeper.",
)
@click.option("--topics", type=click.IntRange(0, 1000), default=4, show_default=True)
@click.option("--partitions", type=click.IntRange(1, 10000), default=8, show_default=True)
@click.option(
    "--replication-factor", type=click.IntRange(1, 50), help="[default: 3, or all brokers]"
)
@click.option("--kraft", is_flag=True, help="A cluster that never knew ZooKeeper.")
@click.option("--jmx", is_flag=True, help="With jmx_exporter's agent in brokers and controllers.")
@click.option("--fresh", is_flag=True, help="Remove an ended lab from the home first.")
@failing
def start(
    home: Path,
    brokers: int,
    directories: int,
    controllers: int,
    zookeepers: int,
    topics: int,
    partitions: int,
    replication_factor: int | None,
    kraft: bool,
    jmx: bool,
    fresh: bool,
) -> None:
    """Start a lab and hold it until Ctrl-C, which stops every process.

    Kafka's jars are fetched once with mvn; java 17 or newer runs them. The home gets a
    kraftgate.yaml with which the other commands follow this cluster.
    """
    if not brokers and not kraft:
        raise click.BadParameter(
            "a cluster in ZooKeeper has at least one broker", param_hint="--brokers"
        )
    if replication_factor is not None and replication_factor > brokers:
        raise click.BadParameter(
            f"{replication_factor} replicas need as many brokers, and there are {brokers}",
            param_hint="--replication-factor",
        )
    hold(
        Start(
            spec=LabSpec(
                brokers=brokers,
                directories=directories,
                controllers=controllers,
                zookeepers=zookeepers,
                jmx=jmx,
            ),
            home=home,
            fresh=fresh,
            kraft=kraft,
            topics=topics if brokers else 0,
            partitions=partitions,
            replication_factor=replication_factor or min(3, brokers),
        ),
        echo,
    )


@lab.command(epilog=example("kraftgate lab status --json"))
@HOME
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@failing
def status(home: Path, as_json: bool) -> None:
    """Show every process, its mode and its state."""
    found = request(home, "status")
    if as_json:
        echo_json(found, indent=None)
        return
    for process in found["processes"]:
        failed = "".join(f"  directory {n} failed" for n in process["failed_directories"])
        mode, pid = process["mode"] or "-", process["pid"] or "-"
        shown = f"{process['name']:<16} {process['state']:<12} {mode:<10} {pid:<8}"
        echo(f"{shown} {process['address']}{failed}")
    echo(f"active controller: {found['active_controller'] or 'none'}")
    echo(f"copied at metadata offset: {found['copied_offset'] or 'not copied'}")


for command in (*STEPS, *REVERTING, *FAULTS):
    lab.add_command(command)
