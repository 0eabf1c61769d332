"""What the commands of the group `lab` share: the home option, the request, the error shown."""

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn, ParamSpec, TypeVar

import click

from orchestrator.lab.control.channel import Message, ask
from orchestrator.lab.errors import LabError
from orchestrator.output.printing import echo
from orchestrator.output.visible import visible

P = ParamSpec("P")
R = TypeVar("R")

HOME = click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("kraftgate-lab"),
    envvar="KRAFTGATE_LAB_HOME",
    show_default=True,
    show_envvar=True,
    help="The lab's directory.",
)
BROKER = click.argument("broker", type=click.IntRange(1), metavar="ID")
NAME = click.argument("name")


def example(*commands: str) -> str:
    """Return the end of a help text that shows these commands, unwrapped."""
    return "\n".join(("\b", "Example:", *(f"  {command}" for command in commands)))


class LabFailure(click.ClickException):
    """A LabError on its way to standard error: what, where, fix; 2 for an unknown id, else 1."""

    def __init__(self, error: LabError) -> None:
        what = f"{error.what.rstrip()}\n  where: {error.where}\n  fix:   {error.fix}"
        super().__init__(visible(what))
        self.exit_code: int = error.exit_code  # type: ignore[misc]  # click reads it so


def failing(function: Callable[P, R]) -> Callable[P, R]:
    """Turn the LabErrors of a command into its exit code."""

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except LabError as error:
            _fail(error)

    return wrapper


def _fail(error: LabError) -> NoReturn:
    raise LabFailure(error) from error


def request(home: Path, command: str, arguments: Mapping[str, Any] | None = None) -> Message:
    """Send a command to the lab in this home, showing its progress, and return its result."""
    return ask(home, command, arguments or {}, echo)


def requesting(
    usage: str, summary: str, said: str | None, *parameters: Callable[..., Any]
) -> click.Command:
    """Return a command that sends its parameters to the lab as one request.

    Args:
        usage: Its name, and the arguments of the example in its help text.
        summary: Its help text.
        said: What it prints at the end, with fields of its parameters and of the lab's answer.
        parameters: click's decorators.
    """
    name = usage.partition(" ")[0]

    def run(home: Path, **arguments: object) -> None:
        answer = request(home, name, arguments)
        if said is not None:
            echo(said.format_map({**arguments, **answer}))

    function = failing(run)
    for parameter in reversed((HOME, *parameters)):
        function = parameter(function)
    return click.command(name, help=summary, epilog=example(f"kraftgate lab {usage}"))(function)
