"""Checks a runbook for problems that involve more than one key, each with its line and reason.

Every checkpoint must be reachable and passable, must have a gate that shows that it is done, and
must have a rollback path up to the first checkpoint that cannot be undone. A checkpoint that cannot
be undone requires an approval, and begins only after a soak.
"""

from typing import TYPE_CHECKING

from orchestrator.config.yaml_lines import Problem
from orchestrator.runbook.checks.conditions import conditions
from orchestrator.runbook.checks.final import final
from orchestrator.runbook.checks.order import order
from orchestrator.runbook.checks.phases import phases
from orchestrator.runbook.checks.rollback import ways_back
from orchestrator.runbook.checks.shape import shape

if TYPE_CHECKING:
    from orchestrator.runbook.loaded import Loaded


def check(loaded: "Loaded") -> tuple[Problem, ...]:
    """Return all problems, ordered by line; empty: the runbook may be executed."""
    found = [
        *shape(loaded),
        *order(loaded),
        *ways_back(loaded),
        *conditions(loaded),
        *phases(loaded),
        *final(loaded),
    ]
    return tuple(sorted(found, key=lambda problem: problem.line))
