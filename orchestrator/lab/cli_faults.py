"""The commands that stop, kill, freeze and restart a lab's processes and fail directories."""

from pathlib import Path

import click

from orchestrator.lab.cli_shared import HOME, example, failing, request
from orchestrator.terminal import echo

_BROKER = click.argument("broker", type=click.IntRange(1), metavar="ID")
_NAME = click.argument("name")
_INDEX = click.argument("index", type=click.IntRange(0))


@click.command(epilog=example("kraftgate lab restart broker-2"))
@HOME
@_NAME
@failing
def restart(home: Path, name: str) -> None:
    """Stop process NAME in order if it runs, and start it in the mode it was in."""
    result = request(home, "restart", {"name": name})
    echo(f"{result['name']} runs")


@click.command(epilog=example("kraftgate lab stop broker-2"))
@HOME
@_NAME
@failing
def stop(home: Path, name: str) -> None:
    """Stop process NAME in order: a broker hands its leaderships over first."""
    result = request(home, "stop", {"name": name})
    echo(f"{result['name']} has stopped")


@click.command(epilog=example("kraftgate lab kill controller-3000"))
@HOME
@_NAME
@failing
def kill(home: Path, name: str) -> None:
    """Send SIGKILL to process NAME."""
    result = request(home, "kill", {"name": name})
    echo(f"{result['name']} was killed")


@click.command(epilog=example("kraftgate lab freeze broker-2"))
@HOME
@_NAME
@failing
def freeze(home: Path, name: str) -> None:
    """Freeze process NAME: it keeps its connections and does nothing."""
    result = request(home, "freeze", {"name": name})
    echo(f"{result['name']} is frozen")


@click.command(epilog=example("kraftgate lab thaw broker-2"))
@HOME
@_NAME
@failing
def thaw(home: Path, name: str) -> None:
    """Let a frozen process NAME go on."""
    result = request(home, "thaw", {"name": name})
    echo(f"{result['name']} goes on")


@click.command("fail-directory", epilog=example("kraftgate lab fail-directory 2 1"))
@HOME
@_BROKER
@_INDEX
@failing
def fail_directory(home: Path, broker: int, index: int) -> None:
    """Fail log directory INDEX (from 0) of broker ID; it notices in about 10 seconds."""
    result = request(home, "fail-directory", {"broker": broker, "index": index})
    echo(f"{result['directory']} fails from now on")


@click.command("heal-directory", epilog=example("kraftgate lab heal-directory 2 1"))
@HOME
@_BROKER
@_INDEX
@failing
def heal_directory(home: Path, broker: int, index: int) -> None:
    """Put failed log directory INDEX of broker ID back; the broker uses it from its next start."""
    result = request(home, "heal-directory", {"broker": broker, "index": index})
    echo(f"{result['directory']} is back")


FAULTS = (restart, stop, kill, freeze, thaw, fail_directory, heal_directory)
