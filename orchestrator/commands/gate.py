"""Judges `--until` while the clusters are followed, and says why it did not come to hold."""

import time
from collections.abc import Callable, Sequence
from datetime import timedelta

from migration.assessment.conditions import Condition, Finding, Verdict
from migration.assessment.waits.cluster import headline, waits
from orchestrator.conditions.asked import NOTHING_ASKED, Asked
from orchestrator.conditions.existing import refuse_absent
from orchestrator.conditions.horizon import Horizons
from orchestrator.conditions.view import view_of
from orchestrator.config import Config
from orchestrator.errors import GateNotMetError
from orchestrator.following import Snapshot


class Gate:
    """A condition that must hold for every cluster at one look, within a time if one was given.

    `asked`: gives the latest of what was asked for outside the pipeline, by the cluster's name.
    """

    def __init__(
        self,
        condition: Condition | None,
        timeout: timedelta | None,
        config: Config,
        asked: Callable[[str], Asked] = lambda _: NOTHING_ASKED,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._condition = condition
        self._entries = {each.name: each for each in config.clusters}
        self._stall_after_ms = config.stall_after_ms
        self._asked = asked
        self._clock_s = clock_s
        self._deadline_s = None if timeout is None else clock_s() + timeout.total_seconds()
        self._horizons = {name: Horizons() for name in self._entries}

    def is_met(self, snapshots: Sequence[Snapshot], now_ms: int) -> bool:
        """Judge the condition; without one it is never met.

        Raises:
            UnknownIdError: it names a broker or controller that a cluster does not have.
            GateNotMetError: the time is over; the message has every cluster's reason and wait.
        """
        if self._condition is None:
            return False
        judged = [(one, self._judge(self._condition, one, now_ms)) for one in snapshots]
        unmet = [(one, found) for one, found in judged if found.verdict is not Verdict.SATISFIED]
        if judged and not unmet:
            return True
        if self._deadline_s is not None and self._clock_s() >= self._deadline_s:
            told = [self._told(one, found, now_ms) for one, found in unmet]
            raise GateNotMetError(f"{self._condition.text} did not hold in time: {'; '.join(told)}")
        return False

    def _judge(self, condition: Condition, one: Snapshot, now_ms: int) -> Finding:
        name = one.summary.cluster
        view = view_of(
            one,
            self._entries[name],
            now_ms,
            stall_after_ms=self._stall_after_ms,
            unread=self._horizons[name].unread(one, now_ms),
            asked=self._asked(name),
        )
        refuse_absent([condition], view)
        return condition.judge(view)

    def _told(self, one: Snapshot, found: Finding, now_ms: int) -> str:
        reasons = waits(one.summary, one.status, now_ms, self._stall_after_ms)
        waiting = headline(one.summary, reasons)
        return f"{one.summary.cluster}: {found.reason} (waiting for: {waiting})"
