"""Evaluates conditions that must hold together over time.

The condition `soak` counts the time since all the other conditions hold.
"""

from collections.abc import Sequence
from dataclasses import replace

from migration.assessment.conditions import (
    SOAK,
    Condition,
    Finding,
    Verdict,
    View,
    judge_all,
    verdict_of,
)


class JointConditions:
    """Evaluates the same conditions on one view of a cluster after another."""

    def __init__(self, conditions: Sequence[Condition]) -> None:
        self._conditions = tuple(conditions)
        self._others = tuple(each for each in conditions if each.name != SOAK)
        self._since_ms: int | None = None

    def judge(self, view: View) -> tuple[Finding, ...]:
        """Evaluate every condition; the findings are in the conditions' order."""
        others = judge_all(self._others, view)
        if verdict_of(others) is not Verdict.SATISFIED:
            self._since_ms = None
        elif self._since_ms is None:
            self._since_ms = view.now_ms
        return judge_all(self._conditions, replace(view, satisfied_since_ms=self._since_ms))
