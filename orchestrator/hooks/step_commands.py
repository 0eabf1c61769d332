"""Makes the commands of steps from the file of hooks that the configuration names."""

import os
from collections.abc import Mapping

from orchestrator.hooks.runs import Hook
from orchestrator.redaction.known_secrets import Secrets
from orchestrator.runbook.hooks_file import Hooks


class HookCommands:
    """Makes the command of a step."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks

    def hook(
        self, step: str, fields: Mapping[str, str], environment: Mapping[str, str]
    ) -> Hook | None:
        """Return the command that performs a step; None: an operator does it by hand.

        Raises:
            RunbookError: a field of the command is unknown now or must not be in a command, or a
                variable to pass is not set.
        """
        found = self._hooks.command(step)
        if found is None:
            return None
        return Hook(
            argv=tuple(self._hooks.argv(step, fields)),
            timeout_s=found.timeout.total_seconds(),
            environment={**environment, **self._hooks.environment(step)},
            pass_env=self._hooks.passed(step, os.environ),
            secrets=Secrets(variables=self._hooks.file.secrets),
        )
