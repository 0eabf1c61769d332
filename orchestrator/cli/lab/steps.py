"""The commands that send one request to a running lab: steps of the migration, topics, logs."""

from pathlib import Path

import click

from orchestrator.cli.lab.control_request import (
    BROKER,
    HOME,
    NAME,
    example,
    failing,
    request,
    requesting,
)
from orchestrator.lab.control.channel import ask
from orchestrator.output.printing import echo, echo_text

_TIMEOUT = click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(0),
    default=120.0,
    show_default=True,
    help="Seconds.",
)
_EARLY = click.option("--early", is_flag=True, help="Even while brokers still need ZooKeeper.")
_CONTROLLER = click.argument("controller", type=click.IntRange(1), metavar="ID")


@click.command(
    "create-topic",
    epilog=example("kraftgate lab create-topic orders --partitions 8 --replication-factor 2"),
)
@HOME
@NAME
@click.option("--partitions", type=click.IntRange(1), default=1, show_default=True)
@click.option("--replication-factor", type=click.IntRange(1), default=1, show_default=True)
@click.option("--config", "configs", multiple=True, metavar="KEY=VALUE")
@click.option("--assign", metavar="1:2,2:3", help="The brokers of each partition.")
@failing
def create_topic(
    home: Path,
    name: str,
    partitions: int,
    replication_factor: int,
    configs: tuple[str, ...],
    assign: str | None,
) -> None:
    """Create topic NAME and wait until it has its leaders."""
    arguments = {
        "name": name,
        "partitions": partitions,
        "replication_factor": replication_factor,
        "config": _pairs(configs),
        "assignments": _assignments(assign) if assign else None,
    }
    request(home, "create-topic", arguments)
    echo(f"topic {name} is there")


@click.command("dump-log", epilog=example("kraftgate lab dump-log controller-3000 > metadata.txt"))
@HOME
@NAME
@failing
def dump_log(home: Path, name: str) -> None:
    """Print the metadata log of process NAME as kafka-dump-log shows it."""
    for file in ask(home, "dump-log", {"name": name}, _to_stderr)["files"]:
        echo_text(Path(file).read_text("utf-8"))


def _to_stderr(line: str) -> None:
    echo(line, err=True)


def _pairs(configs: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for config in configs:
        key, equals, value = config.partition("=")
        if not key or not equals:
            raise click.BadParameter(f"{config!r} is not KEY=VALUE", param_hint="--config")
        pairs[key] = value
    return pairs


def _assignments(text: str) -> list[list[int]]:
    try:
        return [[int(broker) for broker in part.split(":")] for part in text.split(",")]
    except ValueError as error:
        raise click.BadParameter(
            f"{text!r} is not a list of broker ids such as 1:2,2:3", param_hint="--assign"
        ) from error


STEPS = (
    requesting(
        "controllers",
        "Provision the controllers and start them in migration mode.",
        "controller {active_controller} is active",
    ),
    requesting(
        "migrate-broker 1",
        "Restart broker ID with the migration enabled.",
        "broker {broker} is registered with the controllers",
        BROKER,
    ),
    requesting(
        "wait-copied --timeout 60",
        "Wait until the controllers have copied ZooKeeper's metadata.",
        "copied: metadata offset {metadata_offset}",
        _TIMEOUT,
    ),
    requesting(
        "kraft-broker 1",
        "Restart broker ID in KRaft mode.",
        "broker {broker} runs in KRaft mode",
        BROKER,
    ),
    requesting(
        "finalize",
        "Restart the controllers without the migration. There is no way back from here.",
        "finalized",
        _EARLY,
    ),
    requesting(
        "finalize-controller 3000",
        "Restart controller ID without the migration. The first that leads so finalizes.",
        "controller {controller} runs without the migration",
        _CONTROLLER,
    ),
    requesting("migrate", "Go the whole way from ZooKeeper to finalized.", None),
    create_topic,
    requesting("delete-topic orders", "Delete topic NAME.", "topic {name} is gone", NAME),
    dump_log,
)
