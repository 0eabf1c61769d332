"""Evaluates `--until` while the clusters are followed, and reports why it was not satisfied."""

import time
from collections.abc import Callable
from datetime import timedelta

from migration.assessment.conditions import Condition, Finding, Verdict
from orchestrator.errors import GateNotMetError
from orchestrator.run.absent_nodes import refuse_absent
from orchestrator.run.assessed import Assessed, Tick


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
        judged = [(one, _judge(self._condition, one)) for one in tick.clusters]
        unmet = [(one, found) for one, found in judged if found.verdict is not Verdict.SATISFIED]
        if judged and not unmet:
            return True
        if self._deadline_s is not None and self._clock_s() >= self._deadline_s:
            told = "; ".join(_told(one, found) for one, found in unmet)
            raise GateNotMetError(f"{self._condition.text} did not hold in time: {told}")
        return False


def _judge(condition: Condition, one: Assessed) -> Finding:
    refuse_absent([condition], one.assessment.view)
    return condition.judge(one.assessment.view)


def _told(one: Assessed, found: Finding) -> str:
    return f"{one.name}: {found.reason} (waiting for: {one.assessment.headline})"
