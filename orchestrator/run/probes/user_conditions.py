"""The users' own conditions: commands, and queries of their Prometheus."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from migration.assessment.conditions import Finding
from orchestrator.run.probes.promql import ask_promql
from orchestrator.run.probes.shell import ask_shell
from orchestrator.runbook.model import OwnCondition


def own_askers(
    conditions: Iterable[OwnCondition], cluster: str
) -> Mapping[str, Callable[[], Finding]]:
    """Return the function that polls each condition, by name.

    Every function has a time limit and raises nothing.
    """
    return {each.name: partial(ask_own, each, cluster) for each in conditions}


def ask_own(own: OwnCondition, cluster: str) -> Finding:
    """Evaluate one condition now.

    Raises:
        ValueError: it is neither a command nor a query, so the runbook was not checked.
    """
    if own.shell is not None:
        return ask_shell(own.name, own.shell, cluster)
    if own.promql is not None:
        return ask_promql(own.name, own.promql)
    raise ValueError(f"the condition {own.name} is neither `shell` nor `promql`")
