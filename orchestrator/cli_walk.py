"""The commands by which a person steers a walk; each stands in the audit trail with its reason."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click

from orchestrator.cli_types import config_option

if TYPE_CHECKING:
    from orchestrator.commands.walk import Said

F = TypeVar("F", bound=Callable[..., object])

_OPTIONS: Final = (
    config_option,
    click.option("--cluster", metavar="NAME", help="Of several configured clusters, this one."),
    click.option("--who", metavar="NAME", help="Who decides; default: the login."),
    click.option(
        "--reason", metavar="TEXT", required=True, help="Why; it stands in the audit trail."
    ),
)


def _steers(function: F) -> F:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def _said(config_path: Path, cluster: str | None, who: str | None, reason: str) -> "Said":
    from orchestrator.commands.walk import Said

    return Said(config_path=config_path, cluster=cluster, who=who, reason=reason)


@click.command()
@click.argument("checkpoint")
@_steers
def approve(
    checkpoint: str, config_path: Path, cluster: str | None, who: str | None, reason: str
) -> None:
    """Let the step of CHECKPOINT be taken, in the state that the cluster is in now.

    The approval expires when that state changes: a broker restarts, a directory fails, a hazard
    comes. CHECKPOINT is where the walk stands, as `kraftgate status` names it.

    \b
    Example:
      kraftgate approve finalize --reason 'soaked for a day, CHG-1234'
    """  # noqa: D301  # click wants the backspace
    from orchestrator.commands import walk as command

    command.approve(_said(config_path, cluster, who, reason), checkpoint)


@click.command()
@_steers
def pause(config_path: Path, cluster: str | None, who: str | None, reason: str) -> None:
    """Begin no further step; one that is under way goes on to its end."""
    from orchestrator.commands import walk as command

    command.pause(_said(config_path, cluster, who, reason))


@click.command()
@_steers
def resume(config_path: Path, cluster: str | None, who: str | None, reason: str) -> None:
    """Begin steps again after `pause`."""
    from orchestrator.commands import walk as command

    command.resume(_said(config_path, cluster, who, reason))


@click.command()
@_steers
def abort(config_path: Path, cluster: str | None, who: str | None, reason: str) -> None:
    """End the walk where it stands; nothing is taken back."""
    from orchestrator.commands import walk as command

    command.abort(_said(config_path, cluster, who, reason))


@click.command()
@click.argument("checkpoint")
@_steers
def skip(
    checkpoint: str, config_path: Path, cluster: str | None, who: str | None, reason: str
) -> None:
    """Go on without CHECKPOINT: neither its step nor its gate is waited for.

    Refused at an irreversible checkpoint.
    """
    from orchestrator.commands import walk as command

    command.skip(_said(config_path, cluster, who, reason), checkpoint)


@click.command()
@click.argument("checkpoint")
@click.option("--done", "decision", flag_value="done", help="The step is done: judge its gate.")
@click.option("--repeat", "decision", flag_value="repeat", help="Take the step once more.")
@_steers
def decide(
    checkpoint: str,
    decision: str | None,
    config_path: Path,
    cluster: str | None,
    who: str | None,
    reason: str,
) -> None:
    """Say what becomes of a step that failed, or of which nobody knows how it ended.

    \b
    Example:
      kraftgate decide 'brokers-kraft[3]' --repeat --reason 'ssh had no route, mended'
    """  # noqa: D301  # click wants the backspace
    from orchestrator.commands import walk as command

    if decision not in ("done", "repeat"):
        raise click.UsageError("say --done or --repeat")
    command.decide(
        _said(config_path, cluster, who, reason),
        checkpoint,
        "done" if decision == "done" else "repeat",
    )


@click.command()
@_steers
def rollback(config_path: Path, cluster: str | None, who: str | None, reason: str) -> None:
    """Turn to the way back that the runbook has from where the walk stands."""
    from orchestrator.commands import walk as command

    command.rollback(_said(config_path, cluster, who, reason))


@click.command()
@_steers
def begin(config_path: Path, cluster: str | None, who: str | None, reason: str) -> None:
    """Begin a new walk after one that ended, was aborted or rolled back."""
    from orchestrator.commands import walk as command

    command.begin(_said(config_path, cluster, who, reason))


COMMANDS: Final = (approve, pause, resume, abort, skip, decide, rollback, begin)
