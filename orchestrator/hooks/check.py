"""Checks the hooks of a plan before the window: their programs, and their own read-only checks.

No hook is run. A `check` of the file of hooks gets what the step's command would get: arguments,
environment, working directory. Whether it changes nothing is up to its author.
"""

import enum
import os
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final

from migration.values.durations import format_duration
from orchestrator.errors import RunbookError
from orchestrator.hooks.commands import cluster_environment, hook_for, step_environment
from orchestrator.hooks.runs import Hook
from orchestrator.process.command import OUTPUT_BYTES_MAX, CommandEnd, run_command
from orchestrator.process.environment import child_environment
from orchestrator.redaction.redactor import Redactor
from orchestrator.runbook.hooks_file import CheckCommand, Hooks
from orchestrator.runbook.plan import Plan, Planned

_AT_ONCE_MAX: Final = 4
_ELF: Final = b"\x7fELF"
_FIRST_BYTES: Final = 256
"""As many of the first line as the kernel reads."""
_LINES_MAX: Final = 5
_RUN: Final = "check"
"""The value of KRAFTGATE_RUN in a check; KRAFTGATE_FENCE is 0."""


class Verdict(enum.StrEnum):
    """The result for one command."""

    OK = "ok"
    """Its program can be started, and its check, if it has one, succeeded."""
    FAILED = "failed"
    LATER = "later"
    """Its brokers or controllers, or some of them, are unknown, so it cannot be made yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedHook:
    """The command of one instance of a checkpoint.

    Attributes:
        id: of the instance, such as `brokers-kraft[2]`.
        argv, check: with secrets redacted; `check` is empty if the file has none for the step.
        environment: the names of the variables that the command gets.
        problem: why it failed, or is for later; "": it did not.
        output: the last lines of the check's output.
    """

    id: str
    step: str
    verdict: Verdict
    argv: tuple[str, ...]
    timeout: timedelta
    environment: tuple[str, ...] = ()
    check: tuple[str, ...] = ()
    problem: str = ""
    output: tuple[str, ...] = ()


def check_hooks(cluster: str, hooks: Hooks, plan: Plan) -> tuple[CheckedHook, ...]:
    """Check the command of every instance of the plan, the rollbacks' too, a few at once.

    Raises:
        SecretUnknown: a secret of the hooks cannot be read.
    """
    stops = [*plan.way, *(stop for _, stops in plan.ways_back for stop in stops)]
    named = [(stop, step.name) for stop in stops if (step := stop.checkpoint.step) is not None]
    with_hook = [(stop, step) for stop, step in named if hooks.command(step) is not None]
    with ThreadPoolExecutor(_AT_ONCE_MAX) as pool:
        return tuple(pool.map(lambda one: _checked(cluster, hooks, *one), with_hook))


def _checked(cluster: str, hooks: Hooks, stop: Planned, step: str) -> CheckedHook:
    command = hooks.file.steps[step]
    made = partial(CheckedHook, id=stop.id, step=step, timeout=command.timeout)
    redactor = hooks.redactor(step)
    template = tuple(redactor.argv(command.argv))
    each = stop.checkpoint.for_each
    if each is not None and stop.member is None:
        return made(verdict=Verdict.LATER, argv=template, problem=stop.where)
    bind = {} if each is None else {str(each): str(stop.member)}
    environment = {**cluster_environment(cluster, 0), **step_environment(stop.id, bind, _RUN)}
    try:
        hook = hook_for(hooks, step, stop.values, environment)
        check = hooks.check_argv(step, stop.values)
    except RunbookError as error:
        return made(verdict=Verdict.FAILED, argv=template, problem=str(error))
    if hook is None:
        raise AssertionError(f"{step} has no command any more")
    given = {**child_environment(hook.pass_env), **hook.environment}
    problem, output = _tried(hook, command.check, check, given, redactor)
    return made(
        verdict=Verdict.FAILED if problem else Verdict.OK,
        argv=tuple(redactor.argv(hook.argv)),
        environment=tuple(sorted(given)),
        check=tuple(redactor.argv(check)),
        problem=problem,
        output=output,
    )


def _tried(
    hook: Hook,
    check: CheckCommand | None,
    argv: list[str],
    environment: Mapping[str, str],
    redactor: Redactor,
) -> tuple[str, tuple[str, ...]]:
    """Look for the program and run the check; return what is wrong, and the check's output."""
    wrong = _missing(hook.argv[0], environment)
    if wrong or check is None:
        return wrong, ()
    wrong = _missing(argv[0], environment)
    if wrong:
        return f"its check: {wrong}", ()
    try:
        ended = run_command(argv, environment, check.timeout.total_seconds())
    except OSError as error:
        return f"its check cannot be started: {error.strerror}", ()
    output = tuple(_last_lines(ended, redactor))
    if ended.code is None:
        return f"its check did not end within {format_duration(check.timeout)}", output
    if ended.code < 0:
        return f"its check was ended by signal {-ended.code}", output
    return (f"its check ended with exit code {ended.code}" if ended.code else ""), output


def _missing(program: str, environment: Mapping[str, str]) -> str:
    """Return why a program cannot be started; "": nothing is known against it."""
    path = environment.get("PATH", os.defpath)
    found = shutil.which(program, path=path)
    if found is not None:
        return _unstartable(Path(found))
    if Path(program).is_dir():
        return f"{program} is a directory"
    if shutil.which(program, mode=os.F_OK, path=path) is not None:
        return f"{program} is not executable"
    if "/" in program:
        return f"{program} does not exist"
    return f"{program} is not in the PATH {path}"


def _unstartable(program: Path) -> str:
    """Return why the kernel does not start an executable file; "": nothing is known against it."""
    try:
        with program.open("rb") as file:
            first, _, _ = file.read(_FIRST_BYTES).partition(b"\n")
    except OSError:  # a user who may execute a file need not read it
        return ""
    if first.startswith(_ELF):
        return ""
    if not first.startswith(b"#!"):
        return f"{program} has no `#!` line, such as #!/bin/sh"
    if first.endswith(b"\r"):
        return f"the first line of {program} ends with CR: convert the file's line ends to LF"
    words = first[2:].split()
    interpreter = os.fsdecode(words[0]) if words else ""
    if not os.access(interpreter, os.X_OK) or Path(interpreter).is_dir():
        return f"{program} needs {interpreter or 'an interpreter'}, which cannot be started"
    return ""


def _last_lines(ended: CommandEnd, redactor: Redactor) -> Iterator[str]:
    output = redactor.output(ended.output, OUTPUT_BYTES_MAX)
    lines = [line.rstrip() for line in output.splitlines()]
    yield from [line for line in lines if line][-_LINES_MAX:]
