"""The commands that control an execution. The audit trail records each, with its reason."""

import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, cast

import click

from orchestrator.audit.execution.entries import Decision
from orchestrator.cli.framework import cluster_option, config_option
from orchestrator.execution.operator import approve as approval
from orchestrator.execution.operator import control
from orchestrator.execution.operator import decide as decision_on
from orchestrator.execution.operator.request import OperatorRequest
from orchestrator.output.printing import ask

_OPTIONS: Final = (
    config_option,
    cluster_option,
    click.option(
        "--who",
        metavar="NAME",
        help="A name to record with the login. Approvals are counted by login.",
    ),
    click.option(
        "--reason", metavar="TEXT", required=True, help="The reason, for the audit trail."
    ),
)


def _requested(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options of every request, and pass them to the command as its first argument."""

    @functools.wraps(function)
    def command(
        config_path: Path, cluster: str | None, who: str | None, reason: str, **arguments: object
    ) -> None:
        said = OperatorRequest(config_path=config_path, cluster=cluster, who=who, reason=reason)
        function(said, **arguments)

    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def _control(act: Callable[[OperatorRequest], None], summary: str) -> click.Command:
    """Return the command that passes the request on."""
    return click.command(act.__name__, help=summary)(_requested(act))


@click.command()
@click.argument("checkpoint")
@click.option(
    "--confirm",
    metavar="CLUSTER",
    help="The cluster's name, for an irreversible or destructive step. Default: a prompt on a"
    " terminal.",
)
@_requested
def approve(request: OperatorRequest, checkpoint: str, confirm: str | None) -> None:
    """Approve the step of CHECKPOINT, in the cluster's current state.

    The approval expires when that state changes: a broker restarts, a directory fails, a hazard
    becomes active. CHECKPOINT is the current one, as `kraftgate status` prints it. Two approvals of
    one login count as one, whatever --who says.

    \b
    Example:
      kraftgate approve 'finalize[3000]' --reason CHG-1234 --confirm prod
    """
    approval.approve(replace(request, confirm=lambda name: confirm or _typed(name)), checkpoint)


def _typed(cluster: str) -> str | None:
    """Ask for the cluster's name on the terminal; None: there is no terminal."""
    if not sys.stdin.isatty():
        return None
    question = f"This cannot be undone. Type the cluster's name, {cluster}, to confirm"
    return ask(question)


@click.command()
@click.argument("checkpoint")
@_requested
def skip(request: OperatorRequest, checkpoint: str) -> None:
    """Continue without CHECKPOINT: skip its step and its gate.

    Refused at an irreversible checkpoint.
    """
    control.skip(request, checkpoint)


def _decision(name: str, summary: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the option `--NAME`; all that are passed are collected, as none may win silently."""
    return click.option(f"--{name}", "decisions", flag_value=name, multiple=True, help=summary)


@click.command()
@click.argument("checkpoint")
@_decision("done", "The step is done: check its gate.")
@_decision("repeat", "Run the step once more.")
@_decision("execute", "Let the hook perform the step that is shown for an operator.")
@_decision("ended", "The hook that another orchestrator started for it has ended.")
@_requested
def decide(request: OperatorRequest, checkpoint: str, decisions: Sequence[str]) -> None:
    """Decide about a step that failed, is shown, or whose end is unknown.

    A step that failed, or whose end is unknown, takes --done or --repeat. A step that is done, and
    whose gate does not open, takes --repeat. A step that is shown for an operator takes --done or,
    while `kraftgate run --execute` runs, --execute: its hook performs it after its guards and its
    approval are checked again. A step that an orchestrator on another host began takes --ended.

    \b
    Example:
      kraftgate decide 'brokers-kraft[3]' --repeat --reason 'ssh had no route'
    """
    if len(decisions) != 1:
        raise click.UsageError("pass one of --done, --repeat, --execute and --ended")
    (decision,) = decisions
    if decision == "ended":
        decision_on.ended(request, checkpoint)
    else:
        decision_on.decide(request, checkpoint, cast("Decision", decision))


@click.command()
@click.argument("checkpoint", required=False)
@click.option("--reason", metavar="TEXT", default="done by hand", help="For the audit trail.")
@config_option
@cluster_option
@click.option("--who", metavar="NAME", help="A name to record with the login.")
def done(
    config_path: Path, cluster: str | None, who: str | None, reason: str, checkpoint: str | None
) -> None:
    """Record that the step that an operator does by hand is done.

    Only a step whose gate already held before it needs this: Kraftgate sees the effect of the
    others. Without CHECKPOINT: the current one.

    \b
    Example:
      kraftgate done
    """
    request = OperatorRequest(config_path=config_path, cluster=cluster, who=who, reason=reason)
    decision_on.done(request, checkpoint)


pause = _control(control.pause, "Begin no further step; the current one continues to its end.")
resume = _control(control.resume, "Resume the execution after `pause`.")
abort = _control(control.abort, "End the execution where it is; nothing is undone.")
rollback = _control(control.rollback, "Start the rollback of the current checkpoint.")
begin = _control(control.begin, "Begin a new execution after the last one has ended.")
