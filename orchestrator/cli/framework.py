"""Shared parts of the commands: the program with its exit codes, lazy commands, option types.

Light to import, so that `kraftgate --help` needs no Spark: a command's module is imported when the
command is entered.
"""

import importlib
import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from orchestrator.config import CONFIG_FILE

if TYPE_CHECKING:
    from migration.assessment.conditions import Condition
    from migration.observed.probed import LogDir
    from orchestrator.config.load import Config
    from orchestrator.config.models import ClusterEntry
    from streams.probe.gather import Target

_Command = TypeVar("_Command", bound=Callable[..., Any])

config_option = click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=Path),
    default=CONFIG_FILE,
    show_default=True,
    metavar="FILE",
    help="The configuration.",
)
cluster_option = click.option(
    "--cluster", metavar="NAME", help="The cluster, if several are configured."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def _log(context: click.Context, parameter: click.Parameter, value: object) -> None:
    from orchestrator.process.logs import log_to_stderr

    given = context.meta.setdefault(_LOG, {})
    given[str(parameter.name)] = value
    log_to_stderr(
        given.get("verbose") or 0,
        quiet=bool(given.get("quiet")),
        as_json=given.get("log_format") == "json",
    )


_LOG = "kraftgate.log"
_LOG_OPTIONS = (
    click.option(
        "-v",
        "--verbose",
        count=True,
        expose_value=False,
        callback=_log,
        help="Log more to stderr; twice for all.",
    ),
    click.option(
        "-q",
        "--quiet",
        is_flag=True,
        expose_value=False,
        callback=_log,
        help="Log only errors to stderr.",
    ),
    click.option(
        "--log-format",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        expose_value=False,
        callback=_log,
        help="The format of the log: lines of text, or an object of JSON a line.",
    ),
)


def log_options(function: _Command) -> _Command:
    """Add the options of the log: `--verbose`, `--quiet`, `--log-format`."""
    for option in reversed(_LOG_OPTIONS):
        function = option(function)
    return function


def polled_cluster(config: "Config", name: str | None, command: str) -> "ClusterEntry":
    """Return the cluster that a command asks directly, by its `brokers`.

    Raises:
        UnknownIdError: no cluster has this name, or several are configured and none is named.
        ConfigError: it has no `brokers`, or a secret file of theirs cannot be used.
    """
    from orchestrator.config.targets import require_secrets, security_of
    from orchestrator.errors import ConfigError

    found = config.one_cluster(name)
    if found.brokers is None:
        what = f"{config.path}: cluster `{found.name}` has no `brokers`, which {command} polls"
        raise ConfigError([f"{what}, see the example in `kraftgate run --help`"])
    require_secrets(config, security_of(found.brokers, "brokers.security"))
    return found


def require_cluster_id(config: "Config", target: "Target", found: str | None) -> None:
    """Raise ConfigError if the brokers belong to another cluster than `target`."""
    from orchestrator.errors import ConfigError

    if (why := target.mismatch(found)) is not None:
        where = "which is configured or was followed before: correct `id` or `brokers`"
        raise ConfigError([f"{config.path}: {why}, {where}"])


def require_outside(config: "Config", out: Path) -> None:
    """Refuse an output file that would replace a file of Kraftgate's own.

    Raises:
        click.UsageError: it is the configuration, or in the state directory.
    """
    # `Path.resolve` raises for a loop of links, which the write reports.
    real, state_dir = Path(os.path.realpath(out)), Path(os.path.realpath(config.state_dir))
    is_what = None
    if real == Path(os.path.realpath(config.path)):
        is_what = "is the configuration"
    elif real.is_relative_to(state_dir):
        is_what = f"is in the state directory {config.state_dir}"
    if is_what is not None:
        raise click.UsageError(f"--out {out}: this file {is_what}. Pass another file to --out")


def named_directory(
    entry: "ClusterEntry", broker: int, described: Iterable["LogDir"], asked: str
) -> str:
    """Return the path of a log directory as its broker names it: without a slash at the end.

    Raises:
        UnknownIdError: the broker has no such directory.
    """
    from orchestrator.errors import UnknownIdError

    paths = [each.path for each in described]
    path = asked.rstrip("/") or "/"
    if path not in paths:
        what = f"{entry.name}: broker {broker} has no log directory {asked}"
        raise UnknownIdError(f"{what}, but: {', '.join(paths)}")
    return path


_WHOLE = 1000
"""Characters; no sentence of the help is longer."""


class Group(click.Group):
    """A group whose help lists its commands with whole sentences."""

    groups: Mapping[str, Sequence[str]] = MappingProxyType({})
    """The headings of the help, each with its commands; empty: one heading with all."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, names in (self.groups or {"Commands": self.list_commands(ctx)}).items():
            found = [(name, self.get_command(ctx, name)) for name in names]
            rows = [(name, each.get_short_help_str(_WHOLE)) for name, each in found if each]
            with formatter.section(heading):
                formatter.write_dl(rows)


class Program(Group):
    """The group of all commands; prints Kraftgate's errors and exits with their codes."""

    def invoke(self, ctx: click.Context) -> object:
        from orchestrator.errors import ExitCode, KraftgateError, ProblemsError
        from orchestrator.output.formatting import local_times
        from orchestrator.output.printing import echo_message, echo_text, flush
        from orchestrator.output.visible import visible
        from orchestrator.process.crash import is_interrupt

        try:
            result = super().invoke(ctx)
            flush()
        except ProblemsError as error:
            echo_text(f"{error}\n", err=True)
            ctx.exit(error.code)
        except KraftgateError as error:
            echo_message(f"kraftgate: {local_times(str(error))}", err=True)
            ctx.exit(error.code)
        except click.ClickException as error:
            error.message = visible(error.message)  # type: ignore[misc]  # click prints it
            raise
        except (click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise  # click ends with their codes
        except Exception as error:  # printed in one line, without a traceback
            if is_interrupt(error):
                raise click.Abort from error
            _print(error)
            ctx.exit(ExitCode.FAILED)
        return result

    def main(self, args: Sequence[str] | None = None, *more: Any, **named: Any) -> Any:  # noqa: ANN401
        """Run the program; with `args`, as a part of another program."""
        if args is None:
            from orchestrator.process.crash import quiet
            from orchestrator.process.logs import log_to_stderr

            quiet()
            log_to_stderr(0)
            if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
                signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return super().main(args, *more, **named)
        except OSError as error:  # of the help, which is printed before the command is invoked
            from orchestrator.errors import ExitCode

            _print(error)
            sys.exit(ExitCode.FAILED)


def _print(error: Exception) -> None:
    """Print an unexpected error in one line, instead of output that is still buffered."""
    from orchestrator.output.printing import echo_message, forget_output
    from orchestrator.process.crash import described

    forget_output()
    echo_message(f"kraftgate: {described(error)}", err=True)


class LazyCommand(click.Command):
    """A command or group whose module is imported when it is entered, not when it is listed."""

    def __init__(self, name: str, module: str, short_help: str) -> None:
        super().__init__(name, short_help=short_help)
        self._module = module

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # noqa: ANN401  # click's own
    ) -> click.Context:
        return self.load().make_context(info_name, args, parent=parent, **extra)

    def load(self) -> click.Command:
        """Import the real command: the function of the module with the command's name.

        Raises:
            click.UsageError: its module is not installed.
        """
        function = (self.name or "").replace("-", "_")
        try:
            return cast("click.Command", getattr(importlib.import_module(self._module), function))
        except ModuleNotFoundError as error:
            raise click.UsageError(f"`{self.name}` is not part of this build: {error}") from error


class DurationType(click.ParamType[timedelta]):
    """A duration such as 90s, 5m, 1h30m."""

    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        from migration.values.durations import NoDuration, parse_duration

        try:
            return parse_duration(value)
        except NoDuration as error:
            self.fail(str(error), param, ctx)


def require_more_than_soak(conditions: "Sequence[Condition]", fix: str) -> None:
    """Raise a usage error if the only condition is a soak, which never holds alone."""
    from migration.assessment.conditions import SOAK

    if all(each.name == SOAK for each in conditions):
        raise click.UsageError(f"soak counts from when the other conditions hold: {fix}")


class ConditionType(click.ParamType["Condition"]):
    """A condition on what is observed."""

    name = "condition"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> "Condition":
        from migration.assessment.conditions import Condition, ConditionError, parse

        if isinstance(value, Condition):
            return value
        try:
            return parse(str(value))
        except ConditionError as error:
            self.fail(str(error), param, ctx)
