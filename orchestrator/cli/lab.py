"""The click group `lab`: `start` runs a lab in the foreground; every other command asks it."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from orchestrator.cli.framework import Group, json_option
from orchestrator.lab.cluster.spec import LabSpec
from orchestrator.lab.control.channel import Message, ask
from orchestrator.lab.control.foreground import hold
from orchestrator.lab.errors import LabError
from orchestrator.output.printing import echo, echo_json, echo_text
from orchestrator.output.visible import visible

_HOME: Final = click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("kraftgate-lab"),
    envvar="KRAFTGATE_LAB_HOME",
    show_default=True,
    show_envvar=True,
    help="The lab's directory.",
)
_BROKER: Final = click.argument("broker", type=click.IntRange(1), metavar="ID")
_CONTROLLER: Final = click.argument("controller", type=click.IntRange(1), metavar="ID")
_NAME: Final = click.argument("name")
_INDEX: Final = click.argument("index", type=click.IntRange(0))
_PARTITIONS: Final = click.IntRange(1, 10000)
_FACTOR: Final = click.IntRange(1, 50)
_TIMEOUT: Final = click.option(
    "--timeout",
    "timeout_s",
    type=click.IntRange(0, 86_400),
    default=120,
    show_default=True,
    help="Seconds.",
)
_EARLY: Final = click.option("--early", is_flag=True, help="Even while brokers need ZooKeeper.")
_KEEP: Final = click.option(
    "--keep-migration", is_flag=True, help="Leave /migration, as an operator who forgets it does."
)


class LabFailure(click.ClickException):
    """A LabError as click prints it: what, where, fix."""

    def __init__(self, error: LabError) -> None:
        text = f"{error.what.rstrip()}\n  where: {error.where}\n  fix:   {error.fix}"
        super().__init__(visible(text))
        self.exit_code: int = error.exit_code  # type: ignore[misc]  # click reads it so


class LabGroup(Group):
    """Turns a LabError of a command into its message and exit code."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except LabError as error:
            raise LabFailure(error) from error


def _example(*commands: str) -> str:
    """Return the end of a help text that shows these commands, unwrapped."""
    return "\n".join(("\b", "Example:", *(f"  {command}" for command in commands)))


def _request(home: Path, command: str, arguments: Mapping[str, Any] | None = None) -> Message:
    """Send a command to the lab in this home, print its progress, and return its result."""
    return ask(home, command, arguments or {}, echo)


@click.group(
    cls=LabGroup,
    epilog=_example("kraftgate lab start --brokers 3 --topics 4", "kraftgate lab migrate"),
)
def lab() -> None:
    """Run a real Kafka cluster on loopback and take it through the migration."""


@lab.command(epilog=_example("kraftgate lab start --brokers 3 --directories 2 --home ./my-lab"))
@_HOME
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
    help="ZooKeeper servers.",
)
@click.option("--topics", type=click.IntRange(0, 1000), default=4, show_default=True)
@click.option("--partitions", type=_PARTITIONS, default=8, show_default=True)
@click.option("--replication-factor", type=_FACTOR, help="[default: 3, or all brokers]")
@click.option("--kraft", is_flag=True, help="A cluster that never had a ZooKeeper.")
@click.option("--jmx", is_flag=True, help="With jmx_exporter's agent in brokers and controllers.")
@click.option("--fresh", is_flag=True, help="Remove an ended lab from the home first.")
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
    """Start a lab and run it until Ctrl-C, which stops every process.

    Kafka's jars are fetched once with mvn; java 17 or newer runs them. Writes a kraftgate.yaml
    into the home, for the commands that follow this cluster.
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
    spec = LabSpec(
        brokers=brokers,
        directories=directories,
        controllers=controllers,
        zookeepers=zookeepers,
        jmx=jmx,
    )
    hold(
        spec,
        home,
        echo,
        fresh=fresh,
        kraft=kraft,
        topics=topics if brokers else 0,
        partitions=partitions,
        replication_factor=replication_factor or min(3, brokers),
    )


@lab.command(epilog=_example("kraftgate lab status --json"))
@_HOME
@json_option
def status(home: Path, as_json: bool) -> None:
    """Show every process, its mode and its state."""
    found = _request(home, "status")
    if as_json:
        echo_json(found, indent=None)
        return
    for process in found["processes"]:
        failed = "".join(f"  directory {n} failed" for n in process["failed_directories"])
        mode, pid = process["mode"] or "-", process["pid"] or "-"
        shown = f"{process['name']:<16} {process['state']:<12} {mode:<10} {pid:<8}"
        echo(f"{shown} {process['address']}{failed}")
    echo(f"active controller: {found['active_controller'] or 'none'}")
    silent = found["zookeeper"] and not found["zookeeper_answers"]
    without = "unknown: ZooKeeper does not answer" if silent else "not copied"
    echo(f"copied at metadata offset: {found['copied_offset'] or without}")


@lab.command(
    "create-topic",
    epilog=_example("kraftgate lab create-topic orders --partitions 8 --replication-factor 2"),
)
@_HOME
@_NAME
@click.option("--partitions", type=_PARTITIONS, default=1, show_default=True)
@click.option("--replication-factor", type=_FACTOR, default=1, show_default=True)
@click.option("--config", "configs", multiple=True, metavar="KEY=VALUE")
@click.option("--assign", metavar="1:2,2:3", help="The brokers of each partition.")
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
    _request(home, "create-topic", arguments)
    echo(f"topic {name} is created")


@lab.command("dump-log", epilog=_example("kraftgate lab dump-log controller-3000 > metadata.txt"))
@_HOME
@_NAME
def dump_log(home: Path, name: str) -> None:
    """Print the metadata log of process NAME as kafka-dump-log shows it."""
    for file in ask(home, "dump-log", {"name": name}, partial(echo, err=True))["files"]:
        echo_text(Path(file).read_text("utf-8"))


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


@lab.command(epilog=_example("kraftgate lab deprovision"))
@_HOME
def deprovision(home: Path) -> None:
    """Stop the controllers and move their metadata away: the next ones start empty."""
    for kept in _request(home, "deprovision")["kept"]:
        echo(f"kept: {kept}")
    echo("the controllers are deprovisioned; next, without delay: kraftgate lab clear-znodes")


@lab.command("clear-znodes", epilog=_example("kraftgate lab clear-znodes"))
@_HOME
@_KEEP
def clear_znodes(home: Path, keep_migration: bool) -> None:
    """Delete /controller and /migration; refused while a KRaft controller runs."""
    result = _request(home, "clear-znodes", {"keep_migration": keep_migration})
    if result["migration"] is not None:
        what = "deleted" if result["migration_deleted"] else "left"
        echo(f"/migration, {what}: {result['migration']}")
    echo("/controller is deleted" if result["controller"] else "/controller was not KRaft's")


def _add_request(
    usage: str, summary: str, result: str | None, *parameters: Callable[..., Any]
) -> None:
    """Add a command that sends its parameters to the lab as one request.

    Args:
        usage: Its name, and the arguments of the example in its help text.
        summary: Its help text.
        result: What it prints at the end, with fields of its parameters and of the lab's answer.
        parameters: click's decorators.
    """
    name = usage.partition(" ")[0]

    def run(home: Path, **arguments: object) -> None:
        answer = _request(home, name, arguments)
        if result is not None:
            echo(result.format_map({**arguments, **answer}))

    function: Callable[..., Any] = run
    for parameter in reversed((_HOME, *parameters)):
        function = parameter(function)
    lab.command(name, help=summary, epilog=_example(f"kraftgate lab {usage}"))(function)


_add_request(
    "controllers",
    "Provision the controllers and start them in migration mode.",
    "controller {active_controller} is active",
)
_add_request(
    "migrate-broker 1",
    "Restart broker ID with the migration enabled.",
    "broker {broker} is registered with the controllers",
    _BROKER,
)
_add_request(
    "wait-copied --timeout 60",
    "Wait until the controllers have copied ZooKeeper's metadata.",
    "copied: metadata offset {metadata_offset}",
    _TIMEOUT,
)
_add_request(
    "kraft-broker 1",
    "Restart broker ID in KRaft mode.",
    "broker {broker} runs in KRaft mode",
    _BROKER,
)
_add_request(
    "finalize",
    "Restart the controllers without the migration. It has no rollback.",
    "finalized",
    _EARLY,
)
_add_request(
    "finalize-controller 3000",
    "Restart controller ID without the migration. The first that then leads finalizes.",
    "controller {controller} runs without the migration",
    _CONTROLLER,
)
_add_request("migrate", "Run the whole migration from ZooKeeper to finalized.", None)
_add_request("delete-topic orders", "Delete topic NAME.", "topic {name} is deleted", _NAME)
_add_request(
    "revert-to-migration 1",
    "Restart broker ID, which is in KRaft mode, in migration mode.",
    "broker {broker} is back in migration mode",
    _BROKER,
)
_add_request(
    "revert-to-zookeeper 1",
    "Restart broker ID, which is in migration mode, in ZooKeeper mode.",
    "broker {broker} is back in ZooKeeper mode",
    _BROKER,
)
_add_request(
    "roll-back",
    "Roll back to ZooKeeper from the current step of the migration.",
    None,
    _KEEP,
)
_add_request(
    "raise-metadata-version 3.9",
    "Raise metadata.version to that of RELEASE, with Kafka's tool. It cannot be undone.",
    "metadata.version is that of {release}",
    click.argument("release"),
)
_add_request(
    "set-directories 1 3",
    "Restart broker ID, in KRaft mode, with COUNT log directories: new ones are formatted, those"
    " that it loses are emptied first.",
    "broker {broker} has {count} log directories",
    _BROKER,
    click.argument("count", type=click.IntRange(1, 20)),
)
_add_request(
    "replace-directories 2",
    "Stop broker ID, in KRaft mode, replace its failed log directories by empty ones, formatted,"
    " and start it.",
    "broker {broker} runs with new log directories",
    _BROKER,
)
_add_request(
    "restore-directories 2",
    "Stop broker ID, restore its failed log directories, and start it.",
    "broker {broker} runs with its old log directories",
    _BROKER,
)
_add_request(
    "restart broker-2",
    "Stop process NAME in order if it runs, and start it in the same mode.",
    "{name} runs",
    _NAME,
)
_add_request(
    "stop broker-2",
    "Stop process NAME in order: a broker transfers its leaderships first.",
    "{name} has stopped",
    _NAME,
)
_add_request("kill controller-3000", "Send SIGKILL to process NAME.", "{name} was killed", _NAME)
_add_request(
    "freeze broker-2",
    "Freeze process NAME: it keeps its connections and does nothing.",
    "{name} is frozen",
    _NAME,
)
_add_request("thaw broker-2", "Let a frozen process NAME continue.", "{name} continues", _NAME)
_add_request(
    "fail-directory 2 1",
    "Fail log directory INDEX (from 0) of broker ID; it notices in about 10 seconds.",
    "{directory} fails from now on",
    _BROKER,
    _INDEX,
)
_add_request(
    "heal-directory 2 1",
    "Restore failed log directory INDEX of broker ID; the broker uses it after its next start.",
    "{directory} is restored",
    _BROKER,
    _INDEX,
)
