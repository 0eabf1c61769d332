"""What is wrong with a runbook that no single key can know: each with its line and its reason.

What must hold: every checkpoint can be reached and can be left, knows what shows that it is done,
and has a way back until the first that cannot be undone. What cannot be undone is approved, and
begun only after a soak.
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
    """Find all problems, by line; none: the runbook may be walked."""
    found = [
        *shape(loaded),
        *order(loaded),
        *ways_back(loaded),
        *conditions(loaded),
        *phases(loaded),
        *final(loaded),
    ]
    return tuple(sorted(found, key=lambda problem: problem.line))
