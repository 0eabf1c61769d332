"""The commands that steer an execution. The audit trail records each, with its reason."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar, cast

import click

from orchestrator.cli.framework import config_option

if TYPE_CHECKING:
    from orchestrator.audit.execution.entries import Decision
    from orchestrator.execution.operator.request import Said

F = TypeVar("F", bound=Callable[..., object])

_OPTIONS: Final = (
    config_option,
    click.option("--cluster", metavar="NAME", help="The cluster, if several are configured."),
    click.option(
        "--who",
        metavar="NAME",
        help="A name to record with the login. Approvals are counted by login.",
    ),
    click.option(
        "--reason", metavar="TEXT", required=True, help="The reason, for the audit trail."
    ),
)


def _steers(function: F) -> F:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def _said(config_path: Path, cluster: str | None, who: str | None, reason: str) -> "Said":
    from orchestrator.execution.operator.request import Said

    return Said(config_path=config_path, cluster=cluster, who=who, reason=reason)


@click.command()
@click.argument("checkpoint")
@click.option(
    "--confirm",
    metavar="CLUSTER",
    help="The cluster's name, for an irreversible step. Default: a prompt on a terminal.",
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
    """Approve the step of CHECKPOINT, in the cluster's current state.

    The approval expires when that state changes: a broker restarts, a directory fails, a hazard
    becomes active. CHECKPOINT is the current one, as `kraftgate status` prints it. Two approvals of
    one login count as one, whatever --who says.

    \b
    Example:
      kraftgate approve 'finalize[3000]' --reason 'soaked for a day, CHG-1234' --confirm prod
    """  # noqa: D301  # click wants the backspace
    from orchestrator.execution.operator import approve as command

    said = _said(config_path, cluster, who, reason)
    command.approve(replace(said, confirm=lambda name: confirm or _typed(name)), checkpoint)


def _typed(cluster: str) -> str | None:
    """Ask for the cluster's name on the terminal; None: there is none."""
    if not sys.stdin.isatty():
        return None
    question = f"This cannot be undone. Type the cluster's name, {cluster}, to confirm"
    from orchestrator.output.printing import ask

    return ask(question)


@click.command()
@_steers
def pause(config_path: Path, cluster: str | None, who: str | None, reason: str) -> None:
    """Begin no further step; the current one continues to its end."""
    from orchestrator.execution.operator import control as command

    command.pause(_said(config_path, cluster, who, reason))


@click.command()
@_steers
def resume(config_path: Path, cluster: str | None, who: str | None, reason: str) -> None:
    """Resume the execution after `pause`."""
    from orchestrator.execution.operator import control as command

    command.resume(_said(config_path, cluster, who, reason))


@click.command()
@_steers
def abort(config_path: Path, cluster: str | None, who: str | None, reason: str) -> None:
    """End the execution where it is; nothing is undone."""
    from orchestrator.execution.operator import control as command

    command.abort(_said(config_path, cluster, who, reason))


@click.command()
@click.argument("checkpoint")
@_steers
def skip(
    checkpoint: str, config_path: Path, cluster: str | None, who: str | None, reason: str
) -> None:
    """Continue without CHECKPOINT: skip its step and its gate.

    Refused at an irreversible checkpoint.
    """
    from orchestrator.execution.operator import control as command

    command.skip(_said(config_path, cluster, who, reason), checkpoint)


@click.command()
@click.argument("checkpoint")
@click.option("--done", "decision", flag_value="done", help="The step is done: check its gate.")
@click.option("--repeat", "decision", flag_value="repeat", help="Run the step once more.")
@click.option(
    "--execute",
    "decision",
    flag_value="execute",
    help="Let the hook perform the step that is shown for an operator.",
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
    """Decide about a step that failed, has an unknown end, is shown, or runs on another host.

    A step that failed, or whose end is unknown, takes --done or --repeat. A step that is shown for
    an operator takes --done or, while `kraftgate run --execute` runs, --execute: its hook performs
    it after its guards and its approval are checked again. A step that an orchestrator on another
    host began takes --ended.

    \b
    Example:
      kraftgate decide 'brokers-kraft[3]' --repeat --reason 'ssh had no route, fixed'
    """  # noqa: D301  # click wants the backspace
    from orchestrator.execution.operator import decide as command

    said = _said(config_path, cluster, who, reason)
    if decision is None:
        raise click.UsageError("add --done, --repeat, --execute or --ended")
    if decision == "ended":
        command.ended(said, checkpoint)
    else:
        command.decide(said, checkpoint, cast("Decision", decision))


@click.command()
@_steers
def rollback(config_path: Path, cluster: str | None, who: str | None, reason: str) -> None:
    """Start the rollback that the runbook defines for the current checkpoint."""
    from orchestrator.execution.operator import control as command

    command.rollback(_said(config_path, cluster, who, reason))


@click.command()
@_steers
def begin(config_path: Path, cluster: str | None, who: str | None, reason: str) -> None:
    """Begin a new execution after one that ended, was aborted or rolled back."""
    from orchestrator.execution.operator import control as command

    command.begin(_said(config_path, cluster, who, reason))


COMMANDS: Final = (approve, pause, resume, abort, skip, decide, rollback, begin)
