"""Waiting for conditions: what is looked at before they are said to hold, and how it ends.

The outside is faked, with its clock, because when it is asked is what is under test.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from migration.assessment.assess import Journal
from migration.assessment.conditions import (
    DataSource,
    Finding,
    TopicsSeen,
    Verdict,
    external,
    parse,
)
from migration.assessment.polled import Polled
from migration.image.summary import ClusterSummary, Phase
from migration.observed.facts import LogDirSeen
from migration.observed.log_dirs import BrokerDisks, DisksImage
from migration.observed.probed import Unknown
from migration.observed.source_status import STALE_AFTER_MS, SourceStatus
from orchestrator.config.load import parse_config
from orchestrator.run.assessed import Tick
from orchestrator.run.probes.poller import EVERY_S, OwnPoll, Poller
from orchestrator.run.reader import ClusterRead
from orchestrator.run.waiting import POLL_S, ConditionWait, Findings, WaitResult, WaitSources
from tests.scenes.night import FRESH, NOW_MS, cluster, held, kraft
from tests.support.assessing import named, tick

CLUSTER = """- name: {name}
  controllers: {{bootstrap: 'c1:9093'}}
  brokers: {{bootstrap: 'b1:9092'}}
"""
NOT_POLLED = "the log directories could not be polled now: start `kraftgate run`"
DONE = cluster(Phase.FINALIZED, kraft(3))
HELD = cluster(Phase.HYBRID, held(3))


def with_disks(summary: ClusterSummary, *, error: int = 0) -> ClusterSummary:
    log_dir = LogDirSeen("/d1", error, None, None, 1, 1, 0, 0, None, None)
    one = BrokerDisks(id=3, answered_ms=NOW_MS, log_dirs=(log_dir,))
    return replace(summary, disks=DisksImage(brokers={3: one}))


@dataclass
class Outside:
    """A cluster whose summary is the n-th of `summaries` at the n-th look, then the last one."""

    summaries: Sequence[ClusterSummary]
    looks_work: bool = True
    answers: Callable[[float], Polled] = lambda _: Polled()
    now_s: float = 0.0
    looked: list[tuple[str, int | None, float]] = field(default_factory=list)
    said: list[Findings] = field(default_factory=list)
    at_a_look_of_the_disks: ClusterSummary | None = None
    not_followed: str | None = None
    polled: int = 0
    status: SourceStatus = FRESH
    journals: Mapping[DataSource, Journal] = field(default_factory=dict)
    names: Sequence[str] = ("prod",)
    polls_take_s: float = 0.0
    _count: int = 0

    def tick(self, now_ms: int) -> Tick:
        summary = self.summaries[min(self._count, len(self.summaries) - 1)]
        self._count += 1
        live = replace(self.status, observed_ms=now_ms, last_reply_ms=now_ms)
        one = ClusterRead(
            summary=summary, events=(), status=live, log_dirs=live, journals=self.journals
        )
        polled = self.answers(self.now_s)
        reads = [named(one, each) for each in self.names]
        return tick(reads, now_ms, not_followed=self.not_followed, polled=polled)

    def poll_disks(self, name: str, broker: int | None, timeout_s: float) -> str | None:
        self.looked.append((name, broker, timeout_s))
        if self.at_a_look_of_the_disks is not None:
            self.summaries = [self.at_a_look_of_the_disks]
        if not self.looks_work:
            self.now_s += timeout_s
        return None if self.looks_work and self._takes(timeout_s) else NOT_POLLED

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds

    def poll_again(self, _: str, timeout_s: float) -> bool:
        self.polled += 1
        return self._takes(timeout_s)

    def _takes(self, timeout_s: float) -> bool:
        self.now_s += min(self.polls_take_s, timeout_s)
        return self.polls_take_s <= timeout_s

    def wait(self, *texts: str, timeout_s: float = 10.0, fail_fast: bool = False) -> WaitResult:
        sources = WaitSources(
            tick=self.tick,
            poll_disks=self.poll_disks,
            poll_again=self.poll_again,
            report=self.said.append,
            not_followed=lambda: self.not_followed,
            clock_s=lambda: self.now_s,
            now_ms=lambda: NOW_MS + int(self.now_s * 1000),
            sleep=self.sleep,
        )
        config = "clusters:\n" + "".join(CLUSTER.format(name=each) for each in self.names)
        entries = parse_config(config, Path("kraftgate.yaml")).clusters
        conditions = [parse(text) for text in texts]
        waiting = ConditionWait(entries, conditions, sources)
        return waiting.wait(timeout_s, fail_fast=fail_fast)


def reasons(outcome: WaitResult) -> list[str]:
    return [each.reason for each in outcome.found["prod"]]


def test_it_ends_at_the_look_at_which_all_hold() -> None:
    outside = Outside([HELD, HELD, DONE])
    outcome = outside.wait("finalized", "nothing_held")
    assert outcome.verdict is Verdict.SATISFIED
    assert outcome.waited_s == 1.0
    assert not outside.looked  # neither needs the disks


def test_it_says_what_it_waits_for_when_that_changes_and_only_then() -> None:
    outside = Outside([HELD, HELD, HELD, cluster(Phase.DUAL_WRITE, kraft(3)), DONE])
    outside.wait("finalized")
    assert [each["prod"][0].reason for each in outside.said] == [
        "the phase is hybrid",
        "the phase is dual-write",
        "the phase is finalized",
    ]


def test_records_that_were_committed_before_the_wait_must_be_read() -> None:
    """The store trails the log by little, and an operator waits for the effect of a command."""
    trailing = replace(FRESH, high_watermark=1450, due_offset=1430)
    read = replace(DONE, metadata_offset=1449)
    outside = Outside([DONE, DONE, read], status=trailing)
    outcome = outside.wait("finalized")
    assert (outcome.verdict, outcome.waited_s) == (Verdict.SATISFIED, 1.0)
    assert outside.said[0]["prod"][0].verdict is Verdict.UNKNOWN
    assert "committed records have not been read yet" in outside.said[0]["prod"][0].reason


def test_another_metadata_log_has_its_own_end() -> None:
    outside = Outside([DONE], status=replace(FRESH, high_watermark=1450, due_offset=1430))
    another = replace(DONE, metadata_log=2, metadata_offset=9)

    def sleep(seconds: float) -> None:
        outside.now_s += seconds
        outside.summaries = [another]
        outside.status = replace(FRESH, log=2, next_offset=10, high_watermark=10)

    outside.sleep = sleep  # type: ignore[method-assign]
    assert outside.wait("finalized").verdict is Verdict.SATISFIED


def test_facts_that_were_journaled_before_the_wait_must_be_processed() -> None:
    recent = {DataSource.LOG_DIRS: Journal(last=12, read=10, unread_ms=NOW_MS - 1_000)}
    outside = Outside([with_disks(DONE)], journals=recent)
    outcome = outside.wait("log_dirs_online(3)", timeout_s=1.0)
    assert outcome.verdict is Verdict.UNKNOWN
    assert "journaled facts have not been processed yet" in reasons(outcome)[0]


@pytest.mark.parametrize(
    ("text", "summary", "verdict"),
    [
        ("finalized", HELD, Verdict.WAITING),
        ("content_equal", HELD, Verdict.UNKNOWN),
        ("hybrid", cluster(Phase.ROLLED_BACK), Verdict.VIOLATED),
    ],
)
def test_at_the_end_of_its_time_the_worst_verdict_stands(
    text: str, summary: ClusterSummary, verdict: Verdict
) -> None:
    outcome = Outside([summary]).wait("nothing_held", text, timeout_s=2.0)
    assert outcome.verdict is verdict
    assert outcome.waited_s == 2.0


def test_with_fail_fast_what_needs_a_person_ends_it() -> None:
    outside = Outside([HELD, cluster(Phase.ROLLED_BACK, kraft(3))])
    outcome = outside.wait("finalized", fail_fast=True)
    assert (outcome.verdict, outcome.waited_s) == (Verdict.VIOLATED, 0.5)


def test_the_disks_are_looked_at_before_it_says_that_they_are_well() -> None:
    outside = Outside([with_disks(DONE)])
    assert outside.wait("log_dirs_online(3)").verdict is Verdict.SATISFIED
    assert outside.looked == [("prod", 3, 3.0)]


def test_a_directory_that_the_look_finds_bad_holds_it() -> None:
    bad = with_disks(DONE, error=56)
    outside = Outside([with_disks(DONE)], at_a_look_of_the_disks=bad)
    outcome = outside.wait("log_dirs_online(3)")
    assert outcome.verdict is Verdict.VIOLATED
    assert reasons(outcome) == ["broker 3: /d1 is offline"]


def test_disks_that_cannot_be_looked_at_are_not_known_to_be_well() -> None:
    outside = Outside([with_disks(DONE)], looks_work=False)
    outcome = outside.wait("finalized", "log_dirs_online(3)")
    assert outcome.verdict is Verdict.UNKNOWN
    assert reasons(outcome) == [
        "the phase is finalized",
        NOT_POLLED,
    ]


def test_brokers_that_conditions_name_apart_are_looked_at_together() -> None:
    outside = Outside([with_disks(DONE)])
    outside.wait("log_dirs_online(3)", "disks_agree", timeout_s=1.0)
    outside.wait("log_dirs_online", timeout_s=1.0)
    assert {broker for _, broker, _ in outside.looked} == {None}


def test_the_soak_is_counted_while_it_waits() -> None:
    outcome = Outside([HELD, DONE]).wait("finalized", "soak(5s)")
    assert outcome.verdict is Verdict.SATISFIED
    assert outcome.waited_s == 5.5


FIVE = tuple(f"c{number}" for number in range(5))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "polls_take_s"), [(FIVE, 4.0), (("prod",), 8.0), (FIVE[:2], POLL_S)]
)
def test_the_soak_lasts_while_everything_is_polled_again(
    names: Sequence[str], polls_take_s: float
) -> None:
    """One cluster after the other, which together takes longer than a soak's longest gap."""
    counted = replace(with_disks(DONE), under_replicated=0, leaderless=0)
    outside = Outside([counted], names=names, polls_take_s=polls_take_s)
    outside.answers = lambda now_s: Polled(
        topics=TopicsSeen(at_ms=NOW_MS + int(now_s * 1000), partitions=32)
    )
    outcome = outside.wait("log_dirs_online(3)", "isr_full", "soak(1m)", timeout_s=300.0)
    assert (outcome.verdict, outcome.waited_s < 300.0) == (Verdict.SATISFIED, True)


def test_a_gap_in_which_nothing_is_evaluated_ends_the_soak() -> None:
    """As if the host slept in a poll."""
    outside = Outside([with_disks(DONE)])

    def poll_disks(name: str, broker: int | None, timeout_s: float) -> None:
        del name, broker, timeout_s
        outside.now_s += STALE_AFTER_MS / 1000 + 1

    outside.poll_disks = poll_disks  # type: ignore[method-assign]
    outcome = outside.wait("log_dirs_online(3)", "soak(1m)", timeout_s=300.0)
    assert outcome.verdict is Verdict.WAITING


def test_what_is_asked_for_must_be_answered() -> None:
    full = TopicsSeen(at_ms=NOW_MS, partitions=32)
    counted = replace(DONE, under_replicated=0, leaderless=0)

    def answers(now_s: float) -> Polled:
        return Polled(topics=full if now_s >= 2 else Unknown("b1:9092 refused"))

    outside = Outside([counted], answers=answers)
    outcome = outside.wait("isr_full")
    assert (outcome.verdict, outcome.waited_s) == (Verdict.SATISFIED, 2.0)
    assert outside.said[0]["prod"][0].reason == "the partition state: b1:9092 refused"


def test_what_holds_already_is_reported_at_the_first_assessment() -> None:
    """Polled once, for that assessment: it never says that a source has not been polled."""
    counted = replace(DONE, under_replicated=0, leaderless=0)
    outside = Outside([counted])
    full = Polled(topics=TopicsSeen(at_ms=NOW_MS, partitions=32))
    outside.answers = lambda _: full if outside.polled else Polled()
    outcome = outside.wait("isr_full")
    assert (outcome.verdict, outcome.waited_s, outside.polled) == (Verdict.SATISFIED, 0.0, 1)
    assert [each["prod"][0].verdict for each in outside.said] == [Verdict.SATISFIED]


def test_without_a_running_run_it_says_so_at_once() -> None:
    """The sources reported a moment ago: by their age alone they would count as current."""
    outside = Outside([with_disks(DONE)], not_followed="no `kraftgate run` is running")
    outcome = outside.wait("finalized", "log_dirs_online(3)", timeout_s=1.0)
    assert outcome.verdict is Verdict.UNKNOWN
    assert not outside.looked
    for each in outside.said[0]["prod"]:
        assert "no `kraftgate run` is running" in each.reason


class TestAsking:
    """Polled in the background, and every few seconds again."""

    def test_an_answer_is_there_once_it_came_and_is_asked_for_again(self) -> None:
        asked: list[float] = []
        now_s = 100.0

        def ask() -> TopicsSeen:
            asked.append(now_s)
            return TopicsSeen(at_ms=len(asked), partitions=32)

        poller = Poller({DataSource.TOPICS: ask}, {}, clock_s=lambda: now_s)
        try:
            assert isinstance(poller.latest().topics, Unknown)
            assert poller.poll_again(10.0)
            first = poller.latest().topics
            assert isinstance(first, TopicsSeen)
            count = len(asked)
            poller.latest()
            assert len(asked) == count
            now_s += EVERY_S
            poller.latest()
            assert poller.poll_again(10.0)
            assert asked[-1] == now_s
        finally:
            poller.close()

    def test_the_users_own_are_asked_like_all_others(self) -> None:
        told = Finding(condition="lag", verdict=Verdict.WAITING, reason="lag is 4000")
        poller = Poller({}, {"lag": OwnPoll(lambda: told)})
        try:
            assert poller.poll_again(10.0)
            assert poller.latest().external == {"lag": told}
            assert external("lag").name == "lag"
        finally:
            poller.close()
