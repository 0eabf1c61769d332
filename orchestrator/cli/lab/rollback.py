"""The commands that take a lab back to ZooKeeper, one for each step of the documented reverting."""

from pathlib import Path

import click

from orchestrator.cli.lab.control_request import BROKER, HOME, example, failing, request, requesting
from orchestrator.output.printing import echo

_KEEP = click.option(
    "--keep-migration", is_flag=True, help="Leave /migration, as somebody who forgets it would."
)


@click.command(epilog=example("kraftgate lab deprovision"))
@HOME
@failing
def deprovision(home: Path) -> None:
    """Stop the controllers and move their metadata away: the next ones begin anew."""
    for kept in request(home, "deprovision")["kept"]:
        echo(f"kept: {kept}")
    echo("the controllers are deprovisioned; now at once: kraftgate lab clear-znodes")


@click.command("clear-znodes", epilog=example("kraftgate lab clear-znodes"))
@HOME
@_KEEP
@failing
def clear_znodes(home: Path, keep_migration: bool) -> None:
    """Delete /controller and /migration; refused while a KRaft controller runs."""
    result = request(home, "clear-znodes", {"keep_migration": keep_migration})
    if result["migration"] is not None:
        what = "deleted" if result["migration_deleted"] else "left"
        echo(f"/migration, {what}: {result['migration']}")
    echo("/controller is deleted" if result["controller"] else "/controller was not KRaft's")


REVERTING = (
    requesting(
        "revert-to-migration 1",
        "Restart broker ID, which is in KRaft mode, in migration mode.",
        "broker {broker} is back in migration mode",
        BROKER,
    ),
    deprovision,
    clear_znodes,
    requesting(
        "revert-to-zookeeper 1",
        "Restart broker ID, which is in migration mode, in ZooKeeper mode.",
        "broker {broker} is back in ZooKeeper mode",
        BROKER,
    ),
    requesting(
        "roll-back",
        "Go the whole way back to ZooKeeper from wherever the migration stands.",
        None,
        _KEEP,
    ),
)
