"""Waits, with a timeout, until conditions hold for clusters that a `kraftgate run` follows.

Polled sources are polled again before a condition counts as satisfied. The first assessment polls
them too: a condition that already holds is reported within seconds, and a reason never says that a
source has not been polled. The store must include everything that the followed sources had at the
first assessment: an operator waits for the effect of an earlier action.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from migration.assessment.conditions import Condition, DataSource, Finding, Verdict, verdict_of
from migration.assessment.data_source import POLLED
from orchestrator.config.models import ClusterEntry
from orchestrator.run.assessed import Assessed, Tick
from orchestrator.run.caught_up import Received
from orchestrator.run.conditions import JointConditions, refuse_absent
from orchestrator.run.probes.probes import needs_of
from streams.process.clocks import wall_clock_ms

EVERY_S: Final = 0.5
POLL_S: Final = 12.0
"""Time limit for polling the disks, and for polling everything else: nothing is evaluated
meanwhile, and `soak` starts again after `STALE_AFTER_MS` of that."""
_FIRST_S: Final = 3.0
"""The same at the first assessment: a dead broker does not delay the first report."""
_LEAST_S: Final = 2.0
"""The minimum of both: a new answer is in the store after a second or two."""
_NO_ANSWER: Final = "it was polled again and did not answer in time"

Findings = Mapping[str, tuple[Finding, ...]]
"""The findings by cluster name, in the order of the conditions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitResult:
    """How the wait ended: the findings of the last assessment, and the time waited."""

    verdict: Verdict
    found: Findings
    waited_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitSources:
    """What a wait polls and reports to; tests pass their own.

    Attributes:
        tick: assesses all configured clusters at a time by the wall clock (ms).
        poll_disks: polls the log directories of a broker of a cluster (None: of all brokers)
            within a number of seconds; returns why that failed, or None.
        poll_again: polls a cluster's other sources again within a number of seconds; returns
            whether all answered.
        report: receives the pending conditions whenever they change.
        not_followed: returns why no source is current: no `kraftgate run` is running; None: one is.
    """

    tick: Callable[[int], Tick]
    poll_disks: Callable[[str, int | None, float], str | None]
    poll_again: Callable[[str, float], bool]
    report: Callable[[Findings], None]
    not_followed: Callable[[], str | None] = lambda: None
    clock_s: Callable[[], float] = time.monotonic
    now_ms: Callable[[], int] = wall_clock_ms
    sleep: Callable[[float], None] = time.sleep


@dataclass(slots=True)
class _Cluster:
    """A cluster, with what its sources had received at the beginning."""

    entry: ClusterEntry
    joint: JointConditions
    received: Received = field(default_factory=Received)


class ConditionWait:
    """Waits for the same conditions on several clusters."""

    def __init__(
        self,
        entries: Sequence[ClusterEntry],
        conditions: Sequence[Condition],
        sources: WaitSources,
    ) -> None:
        self._conditions = tuple(conditions)
        self._sources = sources
        self._clusters = {
            each.name: _Cluster(each, JointConditions(conditions)) for each in entries
        }
        self._reported: object = None
        self._assessed_s: float | None = None

    def wait(self, timeout_s: float, *, fail_fast: bool) -> WaitResult:
        """Assess until all conditions hold or the timeout is over.

        With `fail_fast`, a violated condition ends the wait too.

        Raises:
            UnknownIdError: a condition names a broker or controller that a cluster does not have.
        """
        ends = {Verdict.SATISFIED, Verdict.VIOLATED} if fail_fast else {Verdict.SATISFIED}
        began_s = self._sources.clock_s()
        found = self._confirm(min(_FIRST_S, max(_LEAST_S, timeout_s)))
        while True:
            left_s = timeout_s - (self._sources.clock_s() - began_s)
            self._report(found)
            if _verdict(found) in ends or left_s <= 0:
                return WaitResult(
                    verdict=_verdict(found), found=found, waited_s=self._sources.clock_s() - began_s
                )
            self._sources.sleep(min(EVERY_S, left_s))
            found = self._assess()
            if _verdict(found) in ends:
                left_s = timeout_s - (self._sources.clock_s() - began_s)
                found = self._confirm(min(POLL_S, max(_LEAST_S, left_s)))

    def _assess(self) -> Findings:
        self._assessed_s = self._sources.clock_s()
        return {
            one.name: self._evaluate(self._clusters[one.name], one)
            for one in self._sources.tick(self._sources.now_ms()).clusters
            if one.name in self._clusters
        }

    def _evaluate(self, cluster: _Cluster, one: Assessed) -> tuple[Finding, ...]:
        view = cluster.received.view(one)
        refuse_absent(self._conditions, view)
        return cluster.joint.evaluate(view)

    def _confirm(self, timeout_s: float) -> Findings:
        """Poll again and evaluate; conditions on a source that did not answer are unknown."""
        silent = {
            name: self._poll_again(cluster.entry, timeout_s)
            for name, cluster in self._clusters.items()
        }
        return {
            name: tuple(
                _unless(silent[name], condition, found)
                for condition, found in zip(self._conditions, findings, strict=True)
            )
            for name, findings in self._assess().items()
        }

    def _poll_again(self, entry: ClusterEntry, timeout_s: float) -> Mapping[DataSource, str]:
        """Return the sources that could not be polled again, with the reason."""
        needs = needs_of(self._conditions)
        silent: dict[DataSource, str] = {}
        to_poll = needs & _POLLED
        self._keep_soaking()
        if to_poll and not self._sources.poll_again(entry.name, timeout_s):
            silent.update(dict.fromkeys(to_poll, _NO_ANSWER))
        on_disk = DataSource.LOG_DIRS in needs and entry.brokers is not None
        on_disk = on_disk and self._sources.not_followed() is None
        self._keep_soaking()
        why = self._sources.poll_disks(entry.name, self._broker(), timeout_s) if on_disk else None
        if why is not None:
            silent[DataSource.LOG_DIRS] = why
        return silent

    def _keep_soaking(self) -> None:
        """Evaluate between two polls, which would otherwise be a gap that restarts `soak`."""
        now_s = self._sources.clock_s()
        if self._assessed_s is not None and now_s - self._assessed_s >= EVERY_S:
            self._assess()

    def _broker(self) -> int | None:
        """Return the only broker whose disks the conditions are about; None: all brokers."""
        about = {each.broker for each in self._conditions if DataSource.LOG_DIRS in each.needs}
        return next(iter(about)) if len(about) == 1 else None

    def _report(self, found: Findings) -> None:
        now = [
            (name, each.condition, each.verdict, each.reason)
            for name, some in found.items()
            for each in some
        ]
        if now != self._reported:
            self._reported = now
            self._sources.report(found)


_POLLED: Final = frozenset({*POLLED, DataSource.EXTERNAL})


def _verdict(found: Findings) -> Verdict:
    return verdict_of(each for some in found.values() for each in some)


def _unless(silent: Mapping[DataSource, str], condition: Condition, found: Finding) -> Finding:
    """Return `found`, or unknown if it is satisfied by a source that could not be polled again."""
    reasons = [why for source, why in silent.items() if source in condition.needs]
    if not reasons or found.verdict is not Verdict.SATISFIED:
        return found
    return replace(found, verdict=Verdict.UNKNOWN, reason="; ".join(reasons))
