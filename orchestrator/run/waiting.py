"""Waits, with a timeout, until conditions hold for clusters that a `kraftgate run` follows.

Polled sources are polled again before a condition counts as satisfied. The first assessment polls
them too: a condition that already holds is reported within seconds, and a reason never says that a
source has not been polled. The store must include everything that the followed sources had at the
first assessment: an operator waits for the effect of what was done before.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from migration.assessment.conditions import Condition, DataSource, Finding, Verdict, verdict_of
from migration.assessment.currency import UNREAD_FACTS, UNREAD_RECORDS
from migration.assessment.data_source import FOLLOWED, POLLED
from orchestrator.config.models import ClusterEntry
from orchestrator.run.absent_nodes import refuse_absent
from orchestrator.run.assessed import Assessed, Tick
from orchestrator.run.cluster_read import ClusterRead
from orchestrator.run.probes.probes import needs_of
from orchestrator.run.soak import JointConditions

EVERY_S: Final = 0.5
LOOK_S: Final = 15.0
"""Time limit for polling the disks, and for polling everything else."""
_FIRST_S: Final = 2.0
"""The same at the first assessment: a dead broker does not delay the first report."""
_LEAST_S: Final = 1.0
_NOT_LOOKED: Final = "the disks could not be looked at now: is `kraftgate run` running?"
_NOT_ASKED: Final = "it was polled again and did not answer in time"

Found = Mapping[str, tuple[Finding, ...]]
"""The findings by cluster name, in the order of the conditions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How the wait ended: the findings of the last assessment, and the time waited."""

    verdict: Verdict
    found: Found
    waited_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The interface of the wait to the outside; tests pass their own.

    Attributes:
        tick: assesses all configured clusters at a time by the wall clock (ms).
        look_at_disks: polls the log directories of a broker of a cluster (None: of all brokers)
            within a number of seconds; returns whether that succeeded.
        ask_anew: polls a cluster's other sources again within a number of seconds; returns whether
            all answered.
        say: receives the pending conditions whenever they change.
        not_followed: returns why no source is current: no `kraftgate run` is running; None: one is.
    """

    tick: Callable[[int], Tick]
    look_at_disks: Callable[[str, int | None, float], bool]
    ask_anew: Callable[[str, float], bool]
    say: Callable[[Found], None]
    not_followed: Callable[[], str | None] = lambda: None
    clock_s: Callable[[], float] = time.monotonic
    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000
    sleep: Callable[[float], None] = time.sleep


@dataclass(slots=True)
class _Cluster:
    """A cluster, with the number of its metadata log and its sources' ends at the beginning."""

    entry: ClusterEntry
    joint: JointConditions
    log: int | None = None
    ends: Mapping[DataSource, int] = field(default_factory=dict)

    def unread(self, one: ClusterRead) -> Mapping[DataSource, str]:
        """Return the sources with data from the beginning that the store lacks, with the reason."""
        if self.log != one.status.log:
            ends = {source: one.position(source)[0] for source in FOLLOWED}
            self.ends = {source: end for source, end in ends.items() if end is not None}
            self.log = one.status.log
        return {
            source: UNREAD_RECORDS if source is DataSource.METADATA_LOG else UNREAD_FACTS
            for source, end in self.ends.items()
            if one.position(source)[1] < end
        }


class Waiting:
    """Waits for the same conditions on several clusters."""

    def __init__(
        self,
        entries: Sequence[ClusterEntry],
        conditions: Sequence[Condition],
        world: World,
    ) -> None:
        self._conditions = tuple(conditions)
        self._world = world
        self._clusters = {
            each.name: _Cluster(each, JointConditions(conditions)) for each in entries
        }
        self._said: object = None

    def wait(self, timeout_s: float, *, fail_fast: bool) -> Outcome:
        """Assess until all conditions hold or the timeout is over.

        With `fail_fast`, a violated condition ends the wait too.

        Raises:
            UnknownIdError: a condition names a broker or controller that a cluster does not have.
        """
        world = self._world
        began_s = world.clock_s()
        found = self._confirmed(min(_FIRST_S, max(_LEAST_S, timeout_s)))
        while True:
            left_s = timeout_s - (world.clock_s() - began_s)
            self._say(found)
            if self._is_settled(found, fail_fast=fail_fast) or left_s <= 0:
                return Outcome(
                    verdict=_verdict(found), found=found, waited_s=world.clock_s() - began_s
                )
            world.sleep(min(EVERY_S, left_s))
            found = self._judged()
            if self._is_settled(found, fail_fast=fail_fast):
                left_s = timeout_s - (world.clock_s() - began_s)
                found = self._confirmed(min(LOOK_S, max(_LEAST_S, left_s)))

    def _judged(self) -> Found:
        return {
            one.name: self._judge(self._clusters[one.name], one)
            for one in self._world.tick(self._world.now_ms()).clusters
            if one.name in self._clusters
        }

    def _judge(self, cluster: _Cluster, one: Assessed) -> tuple[Finding, ...]:
        view = one.assessment.view
        refuse_absent(self._conditions, view)
        not_current = {**cluster.unread(one.read), **view.not_current}
        return cluster.joint.judge(replace(view, not_current=not_current))

    def _confirmed(self, timeout_s: float) -> Found:
        """Poll again and evaluate; conditions on a source that did not answer are unknown."""
        silent = {
            name: self._looked_anew(cluster.entry, timeout_s)
            for name, cluster in self._clusters.items()
        }
        return {
            name: tuple(
                _unless(silent[name], condition, found)
                for condition, found in zip(self._conditions, findings, strict=True)
            )
            for name, findings in self._judged().items()
        }

    def _looked_anew(self, entry: ClusterEntry, timeout_s: float) -> Mapping[DataSource, str]:
        """Return the sources that could not be polled again, with the reason."""
        needs = needs_of(self._conditions)
        silent: dict[DataSource, str] = {}
        asked_for = needs & _ASKED_FOR
        if asked_for and not self._world.ask_anew(entry.name, timeout_s):
            silent.update(dict.fromkeys(asked_for, _NOT_ASKED))
        on_disk = DataSource.LOG_DIRS in needs and entry.brokers is not None
        on_disk = on_disk and self._world.not_followed() is None
        if on_disk and not self._world.look_at_disks(entry.name, self._broker(), timeout_s):
            silent[DataSource.LOG_DIRS] = _NOT_LOOKED
        return silent

    def _broker(self) -> int | None:
        """Return the only broker whose disks the conditions are about; None: all brokers."""
        about = {each.broker for each in self._conditions if DataSource.LOG_DIRS in each.needs}
        return next(iter(about)) if len(about) == 1 else None

    def _is_settled(self, found: Found, *, fail_fast: bool) -> bool:
        verdict = _verdict(found)
        return verdict is Verdict.SATISFIED or (fail_fast and verdict is Verdict.VIOLATED)

    def _say(self, found: Found) -> None:
        now = [
            (name, each.condition, each.verdict, each.reason)
            for name, some in found.items()
            for each in some
        ]
        if now != self._said:
            self._said = now
            self._world.say(found)


_ASKED_FOR: Final = frozenset({*POLLED, DataSource.EXTERNAL})


def _verdict(found: Found) -> Verdict:
    return verdict_of(each for some in found.values() for each in some)


def _unless(silent: Mapping[DataSource, str], condition: Condition, found: Finding) -> Finding:
    """Return `found`, or unknown if it is satisfied by a source that could not be polled again."""
    reasons = [why for source, why in silent.items() if source in condition.needs]
    if not reasons or found.verdict is not Verdict.SATISFIED:
        return found
    return replace(found, verdict=Verdict.UNKNOWN, reason="; ".join(reasons))
