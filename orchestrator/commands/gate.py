"""Judges `--until` while the clusters are followed, and says why it did not come to hold."""

import time
from collections.abc import Callable, Sequence
from datetime import timedelta

from migration.waits import headline, waits
from orchestrator.errors import GateNotMetError
from orchestrator.following import Snapshot
from orchestrator.horizon import Horizon
from orchestrator.until import Condition, Judgement, Verdict


class Gate:
    """A condition that must hold for every cluster at one look, within a time if one was given."""

    def __init__(
        self,
        condition: Condition | None,
        timeout: timedelta | None,
        stall_after_ms: int,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._condition = condition
        self._stall_after_ms = stall_after_ms
        self._clock_s = clock_s
        self._deadline_s = None if timeout is None else clock_s() + timeout.total_seconds()
        self._horizons: dict[str, Horizon] = {}

    def is_met(self, snapshots: Sequence[Snapshot], now_ms: int) -> bool:
        """Judge the condition; without one it is never met.

        Raises:
            GateNotMetError: the time is over; the message has every cluster's reason and wait.
        """
        if self._condition is None:
            return False
        judged = [(one, self._judge(self._condition, one, now_ms)) for one in snapshots]
        unmet = [(one, about) for one, about in judged if about.verdict is not Verdict.MET]
        if judged and not unmet:
            return True
        if self._deadline_s is not None and self._clock_s() >= self._deadline_s:
            told = [self._told(one, judgement, now_ms) for one, judgement in unmet]
            raise GateNotMetError(f"{self._condition.text} did not hold in time: {'; '.join(told)}")
        return False

    def _judge(self, condition: Condition, one: Snapshot, now_ms: int) -> Judgement:
        horizon = self._horizons.setdefault(one.summary.cluster, Horizon())
        caught_up = horizon.is_caught_up(one.summary, one.status, now_ms)
        return condition.judge(one.summary, one.status, now_ms, caught_up=caught_up)

    def _told(self, one: Snapshot, judgement: Judgement, now_ms: int) -> str:
        reasons = waits(one.summary, one.status, now_ms, self._stall_after_ms)
        waiting = headline(one.summary, reasons)
        return f"{one.summary.cluster}: {judgement.reason} (waiting for: {waiting})"
