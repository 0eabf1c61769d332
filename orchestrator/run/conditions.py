"""Evaluates conditions: several that must hold together over time, and that of `--until`."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType

from migration.assessment.conditions import (
    SOAK,
    Condition,
    DataSource,
    Finding,
    Verdict,
    View,
    judge_all,
    verdict_of,
)
from migration.assessment.conditions.condition import absent
from migration.observed.probed import Unknown
from migration.observed.source_status import STALE_AFTER_MS
from migration.values.timestamps import is_unbroken
from orchestrator.errors import GateNotMetError, UnknownIdError
from orchestrator.run.assessed import Tick
from orchestrator.run.probes.poller import Poller


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
    """A condition that every cluster must satisfy at one tick, within the timeout if any.

    The log directories are current from the first answer of any broker on, while the others' are
    those of an earlier run. So they are polled once all clusters satisfy a condition that needs
    them, and it must hold at a tick that was read after the answers.

    Args:
        disks: by cluster, polls the log directories of all brokers for this condition.
        clock_s: the pollers' clock.
    """

    def __init__(
        self,
        condition: Condition | None,
        timeout: timedelta | None,
        disks: Mapping[str, Poller] = MappingProxyType({}),
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._condition = condition
        self._disks = disks
        self._clock_s = clock_s
        self._deadline_s = None if timeout is None else clock_s() + timeout.total_seconds()
        self._since_s: dict[str, float] = {}
        self._is_polled = not disks
        self._is_open = False

    def is_met(self, tick: Tick) -> bool:
        """Evaluate the condition, without waiting; without a condition the gate is never met.

        Raises:
            UnknownIdError: it names a broker or controller that a cluster does not have.
            GateNotMetError: the timeout is over; the message has every cluster's reason and wait.
        """
        if self._condition is None:
            return False
        unmet = {}
        for one in tick.clusters:
            refuse_absent([self._condition], one.assessment.view)
            found = self._condition.judge(one.assessment.view)
            if found.verdict is not Verdict.SATISFIED:
                unmet[one.name] = found.reason
        if unmet or not tick.clusters:
            self._since_s.clear()
            self._is_polled = not self._disks
        elif self._is_polled:
            self._is_open = True
            return True
        else:
            unmet = self._not_polled()
            self._is_polled = not unmet  # the next tick is read after the answers
        if unmet and self._is_over():
            why = "; ".join(
                f"{one.name}: {unmet[one.name]} ({one.assessment.next.headline})"
                for one in tick.clusters
                if one.name in unmet
            )
            raise GateNotMetError(f"{self._condition.text} did not hold in time: {why}")
        return False

    def check_start(self) -> None:
        """Raise GateNotMetError if the timeout is over, and no tick has been possible yet."""
        if self._condition is not None and self._is_over():
            raise GateNotMetError(
                f"{self._condition.text} did not hold in time: Spark has not started yet"
            )

    def require_met(self) -> None:
        """Raise GateNotMetError if there is a condition, and the run ended before it held."""
        if self._condition is not None and not self._is_open:
            raise GateNotMetError(f"ended before {self._condition.text} held")

    def _is_over(self) -> bool:
        return self._deadline_s is not None and self._clock_s() >= self._deadline_s

    def _not_polled(self) -> dict[str, str]:
        """Return the clusters whose disks were not polled since it holds, with the reason.

        Polls them in the background; a failed poll is repeated.
        """
        missing = {}
        for name, poller in self._disks.items():
            since_s = self._since_s.setdefault(name, self._clock_s())
            poller.store_answers()
            poller.poll_since(DataSource.LOG_DIRS, since_s)
            answer = poller.answers.log_dirs
            if not poller.is_answered(DataSource.LOG_DIRS, since_s):
                missing[name] = "the log directories are being polled again"
            elif isinstance(answer, Unknown):
                missing[name] = answer.why
                del self._since_s[name]
        return missing


def refuse_absent(conditions: Iterable[Condition], view: View) -> None:
    """Check the ids that conditions name, as far as the sources are current.

    Raises:
        UnknownIdError: the cluster has no such broker or controller.
    """
    for each in conditions:
        why = absent(each, view)
        if why is not None:
            raise UnknownIdError(f"{each.text}: {why}")
