"""The environment of the operator's commands: an allow-list, not all of Kraftgate's environment.

Kraftgate's own environment may contain passwords, tokens and settings of the service that runs it.
A command gets what almost any program needs, and the variables that its file names in `pass_env`.
"""

import os
from collections.abc import Iterable
from typing import Final

from orchestrator.errors import KraftgateError

PASSED: Final = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "KRAFTGATE_LAB_HOME",
)
"""Passed to every command if they are set, as is every variable with `PASSED_PREFIX`."""
PASSED_PREFIX: Final = "LC_"


class VariableNotSet(KraftgateError):
    """A variable to pass to a command is not set.

    Attributes:
        name: the name of the variable.
    """

    def __init__(self, name: str) -> None:
        super().__init__(
            f"`pass_env` names {name}, which is not set where kraftgate runs: set it there, or"
            " remove the name"
        )
        self.name = name


def child_environment(names: Iterable[str]) -> dict[str, str]:
    """Return the environment of a command, including these variables.

    Raises:
        VariableNotSet: one of the names is not set.
    """
    passed = {
        name: value
        for name, value in os.environ.items()
        if name in PASSED or name.startswith(PASSED_PREFIX)
    }
    for name in names:
        if name not in os.environ:
            raise VariableNotSet(name)
        passed[name] = os.environ[name]
    return passed
