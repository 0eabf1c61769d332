"""The commands by which a person steers a walk; each stands in the audit trail with its reason."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar, cast

import click

from orchestrator.cli_types import config_option

if TYPE_CHECKING:
    from orchestrator.commands.steering import Said
    from orchestrator.walk.entries import Decision

F = TypeVar("F", bound=Callable[..., object])

_OPTIONS: Final = (
    config_option,
    click.option("--cluster", metavar="NAME", help="Of several configured clusters, this one."),
    click.option(
        "--who",
        metavar="NAME",
        help="A name to record with the login; approvals count by login.",
    ),
    click.option(
        "--reason", metavar="TEXT", required=True, help="Why; it stands in the audit trail."
    ),
)


def _steers(function: F) -> F:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def _said(config_path: Path, cluster: str | None, who: str | None, reason: str) -> "Said":
    from orchestrator.commands.steering import Said

    return Said(config_path=config_path, cluster=cluster, who=who, reason=reason)


@click.command()
@click.argument("checkpoint")
@click.option(
    "--confirm",
    metavar="CLUSTER",
    help="The cluster's name, for a step that cannot be undone. Default: asked on a terminal.",
)
@_steers
def approve(
    checkpoint: str,
    confirm: str | None,
    config_path: Path,
    cluster: str | None,
    who: str | None,
    reason: str,
) -> None:
    """Let the step of CHECKPOINT be taken, in the state that the cluster is in now.

    The approval expires when that state changes: a broker restarts, a directory fails, a hazard
    comes. CHECKPOINT is where the walk stands, as `kraftgate status` names it. Two approvals of one
    login count once, whatever --who says.

    \b
    Example:
      kraftgate approve 'finalize[3000]' --reason 'soaked for a day, CHG-1234' --confirm prod
    """  # noqa: D301  # click wants the backspace
    from orchestrator.commands import approve as command

    said = _said(config_path, cluster, who, reason)
    command.approve(replace(said, confirm=lambda name: confirm or _typed(name)), checkpoint)


def _typed(cluster: str) -> str | None:
    """Ask for the cluster's name on the terminal; None: there is none."""
    if not sys.stdin.isatty():
        return None
    question = f"This cannot be undone. Type the cluster's name, {cluster}, to confirm"
    from orchestrator.terminal import ask

    return ask(question)


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
@click.option(
    "--execute",
    "decision",
    flag_value="execute",
    help="Let the hook do the step that is shown to be done by hand.",
)
@click.option(
    "--ended",
    "decision",
    flag_value="ended",
    help="The hook that another orchestrator started for it has ended.",
)
@_steers
def decide(
    checkpoint: str,
    decision: str | None,
    config_path: Path,
    cluster: str | None,
    who: str | None,
    reason: str,
) -> None:
    """Decide about a step that failed, whose end is not known, that is shown, or is elsewhere.

    A step that failed, or whose end is not known, takes --done or --repeat. A step that is shown
    takes --done or, while `kraftgate run --execute` runs, --execute: its hook does it, after its
    guards and its approval are checked again. A step that an orchestrator on another host began
    takes --ended.

    \b
    Example:
      kraftgate decide 'brokers-kraft[3]' --repeat --reason 'ssh had no route, fixed'
    """  # noqa: D301  # click wants the backspace
    from orchestrator.commands import decide as command

    said = _said(config_path, cluster, who, reason)
    if decision is None:
        raise click.UsageError("say --done, --repeat, --execute or --ended")
    if decision == "ended":
        command.ended(said, checkpoint)
    else:
        command.decide(said, checkpoint, cast("Decision", decision))


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
