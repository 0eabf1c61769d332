"""Makes the command of a step, ready to run, from a file of hooks."""

import os
from collections.abc import Mapping

from orchestrator.hooks.runs import Hook
from orchestrator.redaction.known_secrets import Secrets
from orchestrator.runbook.hooks_file import Hooks


def cluster_environment(cluster: str, fence: int) -> dict[str, str]:
    """Return the variables that every hook of an orchestrator gets."""
    return {"KRAFTGATE_CLUSTER": cluster, "KRAFTGATE_FENCE": str(fence)}


def step_environment(checkpoint: str, bind: Mapping[str, str], run: str) -> dict[str, str]:
    """Return the variables of one run; `bind`: the id of its `broker` or `controller`."""
    return {
        "KRAFTGATE_CHECKPOINT": checkpoint,
        "KRAFTGATE_RUN": run,
        **{f"KRAFTGATE_{name.upper()}": value for name, value in bind.items()},
    }


def hook_for(
    hooks: Hooks, step: str, fields: Mapping[str, str], environment: Mapping[str, str]
) -> Hook | None:
    """Return the command that performs a step; None: an operator does it by hand.

    Raises:
        RunbookError: a field of the command is unknown now or must not be in a command, or a
            variable to pass is not set.
    """
    found = hooks.command(step)
    if found is None:
        return None
    return Hook(
        argv=tuple(hooks.argv(step, fields)),
        timeout_s=found.timeout.total_seconds(),
        environment={**environment, **hooks.environment(step)},
        pass_env=hooks.passed(step, os.environ),
        secrets=Secrets(variables=hooks.file.secrets),
    )
