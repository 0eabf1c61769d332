"""Formats a plan as JSON."""

from collections.abc import Iterable, Iterator

from migration.values.durations import format_duration
from orchestrator.output.json_value import JsonValue
from orchestrator.runbook.cluster_facts import ClusterFacts
from orchestrator.runbook.hooks_file import Hooks
from orchestrator.runbook.loaded import Loaded
from orchestrator.runbook.plan import Plan, Planned


def plan_json(
    loaded: Loaded, facts: ClusterFacts, hooks: Hooks | None, plan: Plan
) -> dict[str, object]:
    """Return the plan; `sha256` identifies the file of the runbook, or of the hooks."""
    return {
        "cluster": facts.cluster,
        "summary": plan.summary,
        "runbook": {
            "name": loaded.runbook.name,
            "file": str(loaded.path),
            "sha256": loaded.sha256,
        },
        "hooks": None if hooks is None else {"file": str(hooks.path), "sha256": hooks.sha256},
        "soak_seconds": plan.soak.total_seconds(),
        "checkpoints": list(_stops(plan.way)),
        "rollbacks": [
            {"id": way.id, "title": way.title, "then": way.then, "checkpoints": list(_stops(stops))}
            for way, stops in plan.ways_back
        ],
        "problems": list(plan.problems),
        "not_known": list(facts.not_known),
    }


def _stops(stops: Iterable[Planned]) -> Iterator[JsonValue]:
    for stop in stops:
        checkpoint = stop.checkpoint
        yield {
            "id": stop.id,
            "title": checkpoint.title,
            "where": stop.where,
            "step": None if checkpoint.step is None else checkpoint.step.name,
            "command": None if stop.command is None else list(stop.command),
            "timeout": None if stop.timeout is None else format_duration(stop.timeout),
            "by_hand": stop.manual,
            "problem": stop.problem,
            "already": list(stop.already),
            "needs": list(stop.needs),
            "opens_when": list(stop.opens_when),
            "approvals": 0 if stop.approval is None else stop.approval.people,
            "approved_at": None if stop.approval is None else stop.approval.given_at,
            "irreversible": checkpoint.irreversible,
            "destructive": checkpoint.destructive,
        }
