"""The commands that send one request to a running lab: steps of the migration, topics, logs."""

from pathlib import Path

import click

from orchestrator.lab.cli_shared import HOME, example, failing, request
from orchestrator.lab.control import ask
from orchestrator.terminal import echo, echo_text

_BROKER = click.argument("broker", type=click.IntRange(1), metavar="ID")
_NAME = click.argument("name")


@click.command(epilog=example("kraftgate lab controllers"))
@HOME
@failing
def controllers(home: Path) -> None:
    """Provision the controllers and start them in migration mode."""
    result = request(home, "controllers")
    echo(f"controller {result['active_controller']} is active")


@click.command("migrate-broker", epilog=example("kraftgate lab migrate-broker 1"))
@HOME
@_BROKER
@failing
def migrate_broker(home: Path, broker: int) -> None:
    """Restart broker ID with the migration enabled."""
    request(home, "migrate-broker", {"broker": broker})
    echo(f"broker {broker} is registered with the controllers")


@click.command("wait-copied", epilog=example("kraftgate lab wait-copied --timeout 60"))
@HOME
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(0),
    default=120.0,
    show_default=True,
    help="Seconds.",
)
@failing
def wait_copied(home: Path, timeout_s: float) -> None:
    """Wait until the controllers have copied ZooKeeper's metadata."""
    result = request(home, "wait-copied", {"timeout_s": timeout_s})
    echo(f"copied: metadata offset {result['metadata_offset']}")


@click.command("kraft-broker", epilog=example("kraftgate lab kraft-broker 1"))
@HOME
@_BROKER
@failing
def kraft_broker(home: Path, broker: int) -> None:
    """Restart broker ID in KRaft mode."""
    request(home, "kraft-broker", {"broker": broker})
    echo(f"broker {broker} runs in KRaft mode")


@click.command(epilog=example("kraftgate lab finalize"))
@HOME
@click.option("--early", is_flag=True, help="Even while brokers still need ZooKeeper.")
@failing
def finalize(home: Path, early: bool) -> None:
    """Restart the controllers without the migration. There is no way back from here."""
    request(home, "finalize", {"early": early})
    echo("finalized")


@click.command("finalize-controller", epilog=example("kraftgate lab finalize-controller 3000"))
@HOME
@click.argument("controller", type=click.IntRange(1), metavar="ID")
@failing
def finalize_controller(home: Path, controller: int) -> None:
    """Restart controller ID without the migration. The first that leads so finalizes."""
    request(home, "finalize-controller", {"controller": controller})
    echo(f"controller {controller} runs without the migration")


@click.command(epilog=example("kraftgate lab migrate"))
@HOME
@failing
def migrate(home: Path) -> None:
    """Go the whole way from ZooKeeper to finalized."""
    request(home, "migrate")


@click.command(
    "create-topic",
    epilog=example("kraftgate lab create-topic orders --partitions 8 --replication-factor 2"),
)
@HOME
@_NAME
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


@click.command("delete-topic", epilog=example("kraftgate lab delete-topic orders"))
@HOME
@_NAME
@failing
def delete_topic(home: Path, name: str) -> None:
    """Delete topic NAME."""
    request(home, "delete-topic", {"name": name})
    echo(f"topic {name} is gone")


@click.command("dump-log", epilog=example("kraftgate lab dump-log controller-3000 > metadata.txt"))
@HOME
@_NAME
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
    controllers,
    migrate_broker,
    wait_copied,
    kraft_broker,
    finalize,
    finalize_controller,
    migrate,
    create_topic,
    delete_topic,
    dump_log,
)
