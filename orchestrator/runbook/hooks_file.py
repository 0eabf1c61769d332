"""The operator's commands for a runbook's steps: a YAML file of argv templates.

No shell is involved. A value that the cluster reports (a host name, a rack) is inserted into a
command only if it is safe in a shell too, because ssh passes its arguments to a shell on the other
host; and no word becomes an option by its value. (ZooKeeper's cluster ids may begin with a dash.)
"""

import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from migration.values.nearest import did_you_mean
from orchestrator.config.values import Strict
from orchestrator.config.yaml_lines import Problem, YamlFile, YamlPath
from orchestrator.config.yaml_models import in_order, read_model, read_text
from orchestrator.errors import RunbookError
from orchestrator.process.environment import VariableNotSet
from orchestrator.redaction.known_secrets import Secrets
from orchestrator.redaction.redactor import Redactor
from orchestrator.runbook.load import load, shipped
from orchestrator.runbook.model import Each, Runbook
from orchestrator.runbook.places import everywhere
from orchestrator.runbook.templates import complaint, fields_in, render
from orchestrator.runbook.values import Argv, Duration, Given, Id, Text, Variable, Variables

HOOK_FIELDS: Final = ("hooks", "step")
"""More fields of a command: the directory of the file of hooks, and the step's name."""
_DOCUMENTED: Final = "see runbooks/hooks/ for examples"
_HARMLESS: Final = re.compile(r"[A-Za-z0-9_.,:/@\[\]-]*")


class CheckCommand(Strict):
    """A command that shows whether a step's command could do its work; it must change nothing."""

    argv: Argv = Field(
        description="The program and its arguments; it exits with 0 if the step's hosts can be"
        " reached. The same fields and variables as the step's command."
    )
    timeout: Duration = Field(
        default="1m",
        validate_default=True,
        description="After this time it is ended and has failed.",
    )


class StepCommand(Strict):
    """The command of one step."""

    argv: Argv = Field(description="The program and its arguments; no shell is involved.")
    timeout: Duration = Field(
        default="15m",
        validate_default=True,
        description="After this time it is ended and has failed.",
    )
    env: dict[Variable, str] = Field(
        default_factory=dict, description="Environment variables of this step alone."
    )
    pass_env: Variables = Field(
        default=(), description="Variables of Kraftgate's own environment, for this step alone."
    )
    check: Given[CheckCommand] = Field(
        default=None,
        description="What `kraftgate hooks check` runs. Absent: it only looks for the program.",
    )


class HooksFile(Strict):
    """The whole file."""

    hooks: Literal[1] = Field(description="The format of the file.")
    explain: Text = Field(description="What these commands need, on this host and on the others.")
    env: dict[Variable, str] = Field(
        default_factory=dict, description="Environment variables of all commands."
    )
    pass_env: Variables = Field(
        default=(), description="Variables of Kraftgate's own environment that all commands get."
    )
    secrets: Variables = Field(
        default=(), description="Variables whose values are never shown, including Kraftgate's own."
    )
    steps: dict[Id, StepCommand] = Field(
        min_length=1, description="A step's name, and its command."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """The checked commands for a runbook.

    Attributes:
        path: the file.
        sha256: the hash of the file's bytes, in hexadecimal.
    """

    file: HooksFile
    path: Path
    sha256: str
    read: YamlFile

    def command(self, step: str) -> StepCommand | None:
        """Return the command of a step; None: it is done by hand."""
        return self.file.steps.get(step)

    def argv(self, step: str, values: Mapping[str, str]) -> list[str]:
        """Return the command of a step that has one, with its fields filled in.

        `values`: the known values of the fields of `templates.fields_for`.

        Raises:
            RunbookError: a field's value is unknown, or is not safe in a command.
        """
        return self._filled(step, ("argv",), self.file.steps[step].argv, values)

    def check_argv(self, step: str, values: Mapping[str, str]) -> list[str]:
        """Return the check of a step that has one, likewise.

        Raises:
            RunbookError: as `argv`.
        """
        check = self.file.steps[step].check
        words = () if check is None else check.argv
        return self._filled(step, ("check", "argv"), words, values)

    def environment(self, step: str) -> dict[str, str]:
        """Return the variables that the file sets for a command."""
        return {**self.file.env, **self.file.steps[step].env}

    def redactor(self, step: str) -> Redactor:
        """Return the redactor for a step's command and for what the command prints.

        Raises:
            SecretUnknown: a variable that the file names as a secret is not set.
        """
        secrets = Secrets(variables=self.file.secrets)
        return secrets.redactor({**os.environ, **self.environment(step)})

    def passed(self, step: str, own: Mapping[str, str]) -> tuple[str, ...]:
        """Return the names of Kraftgate's own variables that a command gets; `own`: all of them.

        Raises:
            RunbookError: one is not set.
        """
        places: list[tuple[YamlPath, Sequence[str]]] = [
            (("pass_env",), self.file.pass_env),
            (("steps", step, "pass_env"), self.file.steps[step].pass_env),
        ]
        missing = [
            f"{self.path}:{self.read.line((*path, number))}: {VariableNotSet(name)}"
            for path, names in places
            for number, name in enumerate(names)
            if name not in own
        ]
        if missing:
            raise RunbookError(missing)
        return tuple(dict.fromkeys(name for _, names in places for name in names))

    def check_passed(self, own: Mapping[str, str]) -> None:
        """Raise a RunbookError unless the variables that the commands are passed are all set."""
        for step in self.file.steps:
            self.passed(step, own)

    def _filled(
        self, step: str, part: YamlPath, words: Sequence[str], values: Mapping[str, str]
    ) -> list[str]:
        known = {**values, "hooks": str(self.path.resolve().parent), "step": step}
        return [
            self._word(("steps", step, *part, number), word, known)
            for number, word in enumerate(words)
        ]

    def _word(self, path: YamlPath, word: str, values: Mapping[str, str]) -> str:
        for name in fields_in(word):
            what = None
            if name not in values:
                what = f"{{{name}}} is unknown for this cluster now"
            elif name not in HOOK_FIELDS and not _HARMLESS.fullmatch(values[name]):
                what = f"{{{name}}} is {values[name]!r}, which is not safe in a command"
            if what is not None:
                raise self._error(path, what)
        filled = render(word, values)
        if filled.startswith("-") and not word.startswith("-"):
            what = (
                f"{word} is {filled!r}, which a program takes for an option: put it behind other"
                f" text in one word, such as --option={word}"
            )
            raise self._error(path, what)
        return filled

    def _error(self, path: YamlPath, what: str) -> RunbookError:
        return RunbookError([f"{self.path}:{self.read.line(path)}: {what}"])


def load_hooks(path: Path, runbook: Runbook) -> Hooks:
    """Read a file of hooks and check it against its runbook.

    It may also have commands for the steps of the bundled runbooks: one file for all of them.

    Raises:
        RunbookError: it cannot be used; the error has every problem that was found.
    """
    raw, text = read_text(path, RunbookError)
    file, read = read_model(HooksFile, path, text, RunbookError, _DOCUMENTED)
    hooks = Hooks(file=file, path=path, sha256=hashlib.sha256(raw).hexdigest(), read=read)
    steps = _steps([*_shipped(), runbook])
    wrong = [problem for name in file.steps for problem in _wrong(hooks, name, steps)]
    if wrong:
        raise RunbookError(in_order(wrong, path))
    return hooks


@cache
def _shipped() -> tuple[Runbook, ...]:
    return tuple(load(name).runbook for name in shipped())


def _steps(runbooks: Iterable[Runbook]) -> dict[str, set[Each | None]]:
    """Return the values of `for_each` with which these runbooks use each step."""
    found: dict[str, set[Each | None]] = {}
    for book in runbooks:
        for place in everywhere(book):
            step = place.checkpoint.step
            if step is not None:
                found.setdefault(step.name, set()).add(place.checkpoint.for_each)
    return found


def _wrong(hooks: Hooks, name: str, steps: Mapping[str, set[Each | None]]) -> list[Problem]:
    path = ("steps", name)
    if name not in steps:
        unknown = f"no step is called `{name}`; {did_you_mean(name, steps)}"
        return [Problem(line=hooks.read.line(path), what=unknown)]
    command = hooks.file.steps[name]
    words: list[tuple[YamlPath, str]] = [
        ((*path, "argv", number), word) for number, word in enumerate(command.argv)
    ]
    if command.check is not None:
        words += [
            ((*path, "check", "argv", number), word)
            for number, word in enumerate(command.check.argv)
        ]
    found = []
    for place, word in words:
        complaints = (complaint(word, each, HOOK_FIELDS) for each in sorted(steps[name], key=str))
        what = next((one for one in complaints if one is not None), None)
        if what is not None:
            found.append(Problem(line=hooks.read.line(place), what=what))
    return found
