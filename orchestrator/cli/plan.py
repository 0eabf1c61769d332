"""`kraftgate run --dry-run`: the whole walk for the real cluster, before anything is done."""

from pathlib import Path

from orchestrator.config.load import load_config
from orchestrator.config.models import ClusterEntry
from orchestrator.config.targets import target_of
from orchestrator.errors import NoDataError, WalkError
from orchestrator.output.printing import echo_text
from orchestrator.runbook.cluster_facts import facts_of
from orchestrator.runbook.hooks_file import load_hooks
from orchestrator.runbook.load import load
from orchestrator.runbook.plan import plan
from orchestrator.runbook.plan_text import plan_text


def dry_run(config_path: Path) -> None:
    """Print, for every cluster with a runbook, each checkpoint, command, gate and approval.

    Raises:
        ConfigError: the configuration cannot be used.
        RunbookError: a runbook or its file of hooks cannot be used, or a command cannot be made.
        WalkError: no cluster has a runbook.
        NoDataError: of some cluster nothing could be reached; the plan was printed still.
    """
    config = load_config(config_path)
    named = [each for each in config.clusters if each.runbook is not None]
    if not named:
        raise WalkError(f"{config.path} names no `runbook` to plan")
    silent = [each.name for each in named if not _print(each)]
    if silent:
        raise NoDataError(f"nothing of {', '.join(silent)} could be reached: the plan has no hosts")


def _print(entry: ClusterEntry) -> bool:
    """Print one cluster's plan; whether anything of it could be reached."""
    from streams.probe.gather import gather

    if entry.runbook is None:
        raise AssertionError("a cluster without a runbook has no plan")
    loaded = load(entry.runbook.file)
    hooks = None
    if entry.runbook.hooks is not None:
        hooks = load_hooks(entry.runbook.hooks, loaded.runbook)
    asked = gather(target_of(entry))
    facts = facts_of(entry, asked)
    found = plan(loaded.runbook, facts, hooks)
    echo_text(plan_text(loaded, facts, hooks, found))
    return not asked.nothing_reached
