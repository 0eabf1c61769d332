"""A user's own condition that is a command; its exit code is the verdict."""

from typing import Final

from migration.assessment.conditions import Finding, Verdict
from migration.values.durations import format_duration
from orchestrator.process.command import run_command
from orchestrator.process.environment import VariableNotSet, child_environment
from orchestrator.runbook.model import ShellCondition

CLUSTER: Final = "KRAFTGATE_CLUSTER"
"""The environment variable that names the cluster of the condition."""
_VERDICTS: Final = {0: Verdict.SATISFIED, 1: Verdict.WAITING, 2: Verdict.VIOLATED}
_LINE_MAX: Final = 300


def ask_shell(name: str, shell: ShellCondition, cluster: str) -> Finding:
    """Run the command without a shell; it and the processes it leaves end within its timeout."""

    def unknown(reason: str) -> Finding:
        return Finding(condition=name, verdict=Verdict.UNKNOWN, reason=reason)

    try:
        environment = child_environment(shell.pass_env)
        ended = run_command(
            shell.argv, {**environment, CLUSTER: cluster}, shell.timeout.total_seconds()
        )
    except VariableNotSet as error:
        return unknown(str(error))
    except OSError as error:
        return unknown(f"{shell.argv[0]} cannot be started: {error.strerror}")
    if ended.code is None:
        return unknown(f"{shell.argv[0]} did not end within {format_duration(shell.timeout)}")
    how = f"exit code {ended.code}" if ended.code >= 0 else f"ended by signal {-ended.code}"
    return Finding(
        condition=name,
        verdict=_VERDICTS.get(ended.code, Verdict.UNKNOWN),
        reason=_last_line(ended.output) or f"{shell.argv[0]}: {how}",
        evidence=(how,),
    )


def _last_line(output: bytes) -> str:
    lines = [each.strip() for each in output.decode("utf-8", "replace").splitlines()]
    last = next((each for each in reversed(lines) if each), "")
    return "".join(each for each in last if each.isprintable())[:_LINE_MAX]
