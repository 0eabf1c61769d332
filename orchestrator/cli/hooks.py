"""The group `hooks`: checks the commands of a file of hooks before the window."""

import os
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from migration.values.durations import format_duration
from orchestrator.api.status import clusters_json
from orchestrator.cli.framework import Group, cluster_option, config_option, json_option
from orchestrator.config.load import Config, load_config
from orchestrator.config.models import ClusterEntry
from orchestrator.errors import ExecutionError, HookError, NoDataError
from orchestrator.hooks.check import CheckedHook, Verdict, check_hooks
from orchestrator.output.printing import echo, echo_json
from orchestrator.run.identity import followed_target
from orchestrator.runbook.cluster_facts import facts_of
from orchestrator.runbook.hooks_file import Hooks, load_hooks
from orchestrator.runbook.load import load
from orchestrator.runbook.loaded import Loaded
from orchestrator.runbook.plan import Plan, plan
from streams.probe.gather import gather

_INDENT: Final = " " * 8


@click.group(cls=Group)
def hooks() -> None:
    """Check the commands that perform the steps of a runbook.

    \b
    Example:
      kraftgate hooks check
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class _Checked:
    plan: Plan
    hooks: Hooks
    results: Sequence[CheckedHook]

    @property
    def cluster(self) -> str:
        return self.plan.facts.cluster

    @property
    def failed(self) -> list[str]:
        return [each.id for each in self.results if each.verdict is Verdict.FAILED]


@hooks.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@config_option
@cluster_option
@json_option
def check(config_path: Path, file: Path | None, cluster: str | None, *, as_json: bool) -> None:
    """Check every command of the hooks for this cluster; run none of them.

    Prints the command of each step for each broker and controller, its timeout and the variables
    that it gets, looks for its program, and runs its `check` from the file of hooks, which shows
    whether its hosts can be reached. FILE: instead of `runbook.hooks` of the configuration.

    Exits with 1 if a command could not do its work, with 2 if a file is invalid, and with 4 if the
    cluster cannot be reached.

    \b
    Examples:
      kraftgate hooks check
      kraftgate hooks check --json | jq '.hooks[] | select(.verdict != "ok")'
    """
    config = load_config(config_path)
    named = [(each, each.runbook) for each in config.clusters_named(cluster)]
    found = [
        _check(config, each, load(runbook.file), path)
        for each, runbook in named
        if runbook is not None and (path := file or runbook.hooks) is not None
    ]
    if not found:
        raise ExecutionError(f"{config.path} has no `runbook.hooks`: set it to a file of hooks")
    if as_json:
        echo_json(clusters_json(list(map(_as_json, found)), many=config.many and cluster is None))
    else:
        for one in found:
            _print(one)
    _raise_if_bad(found)


def _check(config: Config, entry: ClusterEntry, loaded: Loaded, path: Path) -> _Checked:
    commands = load_hooks(path, loaded.runbook)
    commands.check_passed(os.environ)
    made = plan(loaded, facts_of(entry, gather(followed_target(config, entry))), commands)
    results = check_hooks(entry.name, commands, made)
    return _Checked(plan=made, hooks=commands, results=results)


def _raise_if_bad(found: Iterable[_Checked]) -> None:
    """Raise the error that gives the exit code.

    Raises:
        HookError: a command could not do its work.
        NoDataError: a cluster cannot be reached, so its hosts are unknown.
    """
    unreachable = [one.cluster for one in found if not one.plan.facts.reached]
    if unreachable:
        raise NoDataError(f"{', '.join(unreachable)} cannot be reached: its hosts are unknown")
    failed = [f"{one.cluster}: {', '.join(one.failed)}" for one in found if one.failed]
    if failed:
        raise HookError(f"these commands would fail: {'; '.join(failed)}")


def _print(one: _Checked) -> None:
    common = _common(one.results)
    echo(f"Hooks of cluster {one.cluster}: {one.hooks.path}")
    echo(f"runbook {one.plan.loaded.path}")
    echo(f"every command gets {', '.join(sorted(common))}")
    for line in one.plan.facts.not_known:
        echo(f"not known: {line}")
    for each in one.results:
        echo()
        _print_hook(each, common)
    counts = [sum(each.verdict is verdict for each in one.results) for verdict in Verdict]
    words = ", ".join(f"{count} {verdict}" for count, verdict in zip(counts, Verdict, strict=True))
    echo()
    echo(f"{len(one.results)} commands: {words}")


def _print_hook(each: CheckedHook, common: frozenset[str]) -> None:
    echo(f"{each.verdict:<7} {each.id}")
    echo(f"{_INDENT}runs    {shlex.join(each.argv)}  (at most {format_duration(each.timeout)})")
    own = [name for name in each.environment if name not in common]
    if own:
        echo(f"{_INDENT}gets    {', '.join(own)}")
    if each.check:
        echo(f"{_INDENT}check   {shlex.join(each.check)}")
    elif each.verdict is Verdict.OK:
        echo(f"{_INDENT}check   none: whether its hosts can be reached is unknown")
    if each.problem:
        echo(f"{_INDENT}why     {each.problem}")
    if each.verdict is Verdict.FAILED:
        for line in each.output:
            echo(f"{_INDENT}        {line}")


def _common(results: Iterable[CheckedHook]) -> frozenset[str]:
    """Return the variables that all commands get whose environment is known."""
    known = [frozenset(each.environment) for each in results if each.environment]
    return frozenset.intersection(*known) if known else frozenset()


def _as_json(one: _Checked) -> dict[str, object]:
    return {
        "cluster": one.cluster,
        "runbook": one.plan.loaded.identity,
        "file": str(one.hooks.path),
        "sha256": one.hooks.sha256,
        "reached": one.plan.facts.reached,
        "not_known": list(one.plan.facts.not_known),
        "failed": list(one.failed),
        "hooks": [
            {
                "id": each.id,
                "step": each.step,
                "verdict": str(each.verdict),
                "command": list(each.argv),
                "timeout": format_duration(each.timeout),
                "environment": list(each.environment),
                "check": list(each.check) or None,
                "problem": each.problem or None,
                "output": list(each.output),
            }
            for each in one.results
        ],
    }
