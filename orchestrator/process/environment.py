"""The environment of the operator's commands: an allow-list, not all that Kraftgate has.

Kraftgate's own environment may hold passwords (`password_env`), tokens and settings of the service
that runs it. A command gets what almost any program needs, and what its file names in `pass_env`.
"""

import os
from collections.abc import Iterable, Mapping
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
"""Passed to every command where they are set, and every variable of `PASSED_PREFIX`."""
PASSED_PREFIX: Final = "LC_"


class VariableNotSet(KraftgateError):
    """A variable is to be passed to a command and is not set.

    Attributes:
        name: of the variable.
    """

    def __init__(self, name: str) -> None:
        super().__init__(
            f"`pass_env` names {name}, which is not set where kraftgate runs: set it there, or"
            " remove the name"
        )
        self.name = name


def child_environment(
    names: Iterable[str], environment: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the environment of a command that is to be passed these variables, too.

    Args:
        names: each must be set.
        environment: where they are; None: this process's.

    Raises:
        VariableNotSet: one is not set.
    """
    own = os.environ if environment is None else environment
    passed = {
        name: value
        for name, value in own.items()
        if name in PASSED or name.startswith(PASSED_PREFIX)
    }
    for name in names:
        if name not in own:
            raise VariableNotSet(name)
        passed[name] = own[name]
    return passed
