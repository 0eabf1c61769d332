"""Evaluates conditions: several that must hold together over time, and that of `--until`."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta

from migration.assessment.conditions import (
    SOAK,
    Condition,
    Finding,
    Verdict,
    View,
    judge_all,
    verdict_of,
)
from migration.assessment.conditions.condition import absent
from migration.observed.source_status import STALE_AFTER_MS
from migration.values.timestamps import is_unbroken
from orchestrator.errors import GateNotMetError, UnknownIdError
from orchestrator.run.assessed import Tick


class JointConditions:
    """Evaluates the same conditions on one view of a cluster after another.

    The condition `soak` counts the time since all the other conditions hold. It starts again if
    they were not evaluated for a while (the host slept, its clock was set): whether they held then
    is unknown.
    """

    def __init__(self, conditions: Sequence[Condition]) -> None:
        self._conditions = tuple(conditions)
        self._others = tuple(each for each in conditions if each.name != SOAK)
        self._since_ms: int | None = None
        self._evaluated_ms = 0

    def evaluate(self, view: View) -> tuple[Finding, ...]:
        """Evaluate every condition; the findings are in the conditions' order."""
        others = judge_all(self._others, view)
        unbroken = is_unbroken(self._evaluated_ms, view.now_ms, STALE_AFTER_MS)
        self._evaluated_ms = view.now_ms
        if verdict_of(others) is not Verdict.SATISFIED:
            self._since_ms = None
        elif self._since_ms is None or not unbroken:
            self._since_ms = view.now_ms
        return judge_all(self._conditions, replace(view, satisfied_since_ms=self._since_ms))


class Gate:
    """A condition that every cluster must satisfy at one tick, within the timeout if any."""

    def __init__(
        self,
        condition: Condition | None,
        timeout: timedelta | None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._condition = condition
        self._clock_s = clock_s
        self._deadline_s = None if timeout is None else clock_s() + timeout.total_seconds()

    def is_met(self, tick: Tick) -> bool:
        """Evaluate the condition; without a condition the gate is never met.

        Raises:
            UnknownIdError: it names a broker or controller that a cluster does not have.
            GateNotMetError: the timeout is over; the message has every cluster's reason and wait.
        """
        if self._condition is None:
            return False
        unmet = []
        for one in tick.clusters:
            refuse_absent([self._condition], one.assessment.view)
            found = self._condition.judge(one.assessment.view)
            if found.verdict is not Verdict.SATISFIED:
                waiting = f"({one.assessment.next.headline})"
                unmet.append(f"{one.name}: {found.reason} {waiting}")
        if tick.clusters and not unmet:
            return True
        if self._deadline_s is not None and self._clock_s() >= self._deadline_s:
            why = "; ".join(unmet)
            raise GateNotMetError(f"{self._condition.text} did not hold in time: {why}")
        return False


def refuse_absent(conditions: Iterable[Condition], view: View) -> None:
    """Check the ids that conditions name, as far as the sources are current.

    Raises:
        UnknownIdError: the cluster has no such broker or controller.
    """
    for each in conditions:
        why = absent(each, view)
        if why is not None:
            raise UnknownIdError(f"{each.text}: {why}")
