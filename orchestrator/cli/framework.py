"""Pieces of the command line: the group with our exit codes, a lazy group, --config, its types.

Light to import: what an option needs to be read is imported when it is given.
"""

import importlib
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

if TYPE_CHECKING:
    from migration.assessment.conditions import Condition

config_option = click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=Path),
    default=Path("kraftgate.yaml"),
    show_default=True,
    metavar="FILE",
    help="The configuration.",
)


class Program(click.Group):
    """The group of all commands; an error of ours is printed and ends with its own exit code."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command that was asked for."""
        from orchestrator.errors import ExitCode, KraftgateError, ProblemsError
        from orchestrator.output.printing import echo_message, echo_text, flush, forget_output
        from orchestrator.output.visible import visible

        try:
            result = super().invoke(ctx)
            flush()
        except ProblemsError as error:
            echo_text(f"{error}\n", err=True)
            ctx.exit(error.code)
        except KraftgateError as error:
            echo_message(f"kraftgate: {error}", err=True)
            ctx.exit(error.code)
        except click.ClickException as error:
            error.message = visible(error.message)  # type: ignore[misc]  # click prints it
            raise
        except (click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise  # click ends with their codes
        except Exception as error:  # noqa: BLE001  # the last place that can say it in one line
            from orchestrator.process.crash import described

            forget_output()
            echo_message(f"kraftgate: {described(error)}", err=True)
            ctx.exit(ExitCode.FAILED)
        return result

    def main(self, args: Sequence[str] | None = None, *more: Any, **named: Any) -> Any:  # noqa: ANN401
        """Run as the program that was started; with `args`, as a part of another one."""
        if args is None:
            from orchestrator.process.crash import quiet
            from orchestrator.process.logs import log_to_stderr

            quiet()
            log_to_stderr(0)
        return super().main(args, *more, **named)


class LazyGroup(click.Group):
    """A group that lives elsewhere and is imported when it is entered, not when it is listed."""

    def __init__(self, name: str, target: str, short_help: str) -> None:
        super().__init__(name, short_help=short_help)
        self._target = target

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # noqa: ANN401  # click's own
    ) -> click.Context:
        """Let the real group take over."""
        return self.load().make_context(info_name, args, parent=parent, **extra)

    def load(self) -> click.Group:
        """Import the real group.

        Raises:
            click.UsageError: its module is not installed.
        """
        module, _, attribute = self._target.partition(":")
        try:
            return cast("click.Group", getattr(importlib.import_module(module), attribute))
        except ModuleNotFoundError as error:
            raise click.UsageError(f"`{self.name}` is not part of this build: {error}") from error


class DurationType(click.ParamType[timedelta]):
    """90s, 5m, 1h30m."""

    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """Read it, or say what is wrong with it."""
        from orchestrator.config.durations import parse_duration
        from orchestrator.errors import DurationError

        try:
            return parse_duration(value)
        except DurationError as error:
            self.fail(str(error), param, ctx)


class ConditionType(click.ParamType["Condition"]):
    """A condition on what is observed."""

    name = "condition"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> "Condition":
        """Read it, or say what is wrong with it."""
        from migration.assessment.conditions import Condition, ConditionError, parse

        if isinstance(value, Condition):
            return value
        try:
            return parse(str(value))
        except ConditionError as error:
            self.fail(str(error), param, ctx)
