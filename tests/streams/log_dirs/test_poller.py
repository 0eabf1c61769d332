"""The poller over simulated brokers: the facts that it appends, and its own status."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from migration.observed.facts import (
    DiskContentSeen,
    DisksSeen,
    DisksUnreachable,
    Observation,
    OffsetsFell,
    ReplicasBack,
    ReplicasCutOff,
)
from streams.kafka.broker_values import (
    ClusterView,
    LogDirAnswer,
    PartitionEnd,
    PartitionView,
)
from streams.kafka.errors import ConnectionFailed, NotAuthorized
from streams.log_dirs.content_snapshots import CONTENT
from streams.log_dirs.errors import MemoryUnusable
from streams.log_dirs.memory import Memory
from streams.log_dirs.poll import LogDirsConfig, PollResult, PollTask
from streams.log_dirs.poll_requests import PollRequests
from streams.log_dirs.poller import LogDirsPoller
from streams.log_dirs.status import PollStatus
from streams.net.endpoint import Endpoint
from streams.net.errors import AuthenticationFailed, LiveError
from streams.net.listener import Listener
from tests.streams.log_dirs.journal import Facts, now_ms
from tests.streams.log_dirs.world import A, B, log_dir
from tests.support.polling import PATIENCE_S, until

NO_REPORT_S = 1e10
CONFIG = LogDirsConfig(
    listener=Listener((Endpoint("b1", 9092),)), interval_s=0.05, eager_s=0.05, report_s=NO_REPORT_S
)
WITH_CONTENT = replace(CONFIG, cluster="c", interval_s=5.0)
BROKERS = {id_: Endpoint(f"b{id_}.invalid", 9092) for id_ in (1, 2)}
WELL = (log_dir(A, 0), log_dir(B, 1))
FAILED = (log_dir(A, 0), log_dir(B, error=56))


class MadeUp:
    """Replaces `BrokerPolls` and returns the configured answers."""

    def __init__(self) -> None:
        self.answers: dict[int, tuple[LogDirAnswer, ...] | LiveError] = {1: WELL, 2: WELL}
        self.end = 100
        self.cluster_id = "c"
        self.undiscovered: LiveError | None = None
        self.without_ends: dict[int, LiveError] = {}
        self.hanging: dict[int, threading.Event] = {}
        self.topic_id = "00" * 15 + "25"
        self.listed = BROKERS

    def view(self) -> ClusterView:
        partitions = {
            ("t", each): PartitionView("t", each, self.topic_id, 1, 1, (1, 2), (1, 2))
            for each in (0, 1)
        }
        return ClusterView(self.cluster_id, self.listed, partitions, {})

    def discover(self) -> ClusterView:
        if self.undiscovered is not None:
            raise self.undiscovered
        return self.view()

    def ask(self, task: PollTask) -> PollResult:
        if task.broker in self.hanging:
            self.hanging[task.broker].wait()
        answer = self.answers[task.broker]
        if isinstance(answer, LiveError):
            return PollResult(task=task, failure=answer)
        if task.broker in self.without_ends:
            why = self.without_ends[task.broker]
            return PollResult(task=task, view=self.view(), log_dirs=answer, failure=why)
        id_ = self.topic_id
        ends = (PartitionEnd("t", 0, id_, 0, self.end, 1, 1),) if task.broker == 1 else ()
        return PollResult(task=task, view=self.view(), log_dirs=answer, ends=ends)


class World:
    """A poller, its brokers, its memory, its journal."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.brokers = MadeUp()
        self.facts = Facts()
        self.appends: list[Sequence[Observation]] = []
        self.refuses: Exception | None = None
        self.memory = Memory(state / "disks.db")
        self.requests = PollRequests(state / "requests.db")
        self.poller = self.made()

    def made(self, config: LogDirsConfig = CONFIG) -> LogDirsPoller:
        poller = LogDirsPoller(config, self.memory, self.append, now_ms)
        poller._polls = self.brokers  # type: ignore[assignment] # it has the same two methods
        return poller

    def append(self, facts: Sequence[Observation]) -> None:
        if self.refuses is not None:
            raise self.refuses
        self.appends.append(facts)
        self.facts.append(facts)

    def poll(self, broker: int | None = None) -> None:
        ticket = self.requests.ask(broker, "a test")
        until(lambda: self.requests.is_answered(ticket))

    def start_again(self, config: LogDirsConfig = CONFIG) -> None:
        self.poller.stop()
        self.memory.close()
        self.memory = Memory(self.state / "disks.db")
        self.poller = self.made(config)
        self.poller.start()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    made.poller.start()
    made.poll()
    yield made
    for each in made.brokers.hanging.values():
        each.set()
    made.poller.stop()
    made.requests.close()
    made.memory.close()


def test_one_fact_a_broker_until_something_changes(world: World) -> None:
    for _ in range(3):
        world.poll()
    assert sorted(each.broker for each in world.facts.of(DisksSeen)) == [1, 2]
    assert world.poller.status().waiting is None
    assert world.poller.status().cluster_id == "c"
    world.brokers.answers[2] = (log_dir(A, 0, 5), log_dir(B, 1))
    world.poll(2)
    assert world.facts.of(DisksSeen)[-1].log_dirs[0].replicas == 2


def test_what_does_not_change_is_reported_of_all_brokers_together(world: World) -> None:
    world.start_again(replace(CONFIG, report_s=0.5))

    def reports() -> list[Sequence[Observation]]:
        return [each for each in world.appends if len(each) == len(BROKERS)]

    until(lambda: len(reports()) >= 2)
    for each in reports():
        assert sorted(fact.broker for fact in each if isinstance(fact, DisksSeen)) == [*BROKERS]
    times = [each.seen_ms for each in world.facts.of(DisksSeen) if each.broker == 1]
    assert times == sorted(set(times))


def test_a_broker_that_no_longer_answers_is_not_reported_to_answer(world: World) -> None:
    world.start_again(replace(CONFIG, report_s=0.2))
    until(lambda: len(world.facts.of(DisksSeen)) >= 6)
    world.brokers.answers[1] = ConnectionFailed("refused")
    world.facts.wait(DisksUnreachable, lambda each: each.broker == 1)
    before = len(world.facts)
    until(lambda: len(world.facts.of(DisksSeen, before)) >= 2)
    assert {each.broker for each in world.facts.of(DisksSeen, before)} == {2}


def test_a_broker_that_does_not_answer_for_its_ends_has_not_answered(world: World) -> None:
    """A loss of records would not be noticed; what it says of its directories is kept."""
    world.brokers.without_ends[2] = ConnectionFailed("b2 timed out")
    world.brokers.answers[2] = FAILED
    before = len(world.facts)
    world.poll(2)
    (seen,) = world.facts.of(DisksUnreachable, before)
    assert (seen.broker, seen.why) == (2, "b2 timed out")
    assert [each.path for each in world.facts.of(ReplicasCutOff, before)] == [B]
    world.poll(2)
    assert len(world.facts.of(DisksUnreachable, before)) == 1
    world.brokers.without_ends[2] = NotAuthorized("DESCRIBE on TOPIC is needed")
    world.poll(2)
    assert [each.broker for each in world.facts.of(DisksSeen, before)] == [2]
    assert "DESCRIBE" in str(world.poller.status().error)


def test_reasons_are_in_the_order_of_the_brokers() -> None:
    """In another order, they would be news to the audit trail and to `kraftgate wait`."""
    status = PollStatus("c")
    for broker in (1, 2, 1):
        task = PollTask(broker, BROKERS[broker], None, "c", ())
        status.replied(PollResult(task=task, failure=ConnectionFailed("refused")), 0)
    none = "no broker was polled yet"
    assert status.status(0).waiting == f"{none}; broker 1: refused; broker 2: refused"


def test_a_report_that_cannot_be_stored_is_made_again(world: World) -> None:
    world.start_again(replace(CONFIG, report_s=0.2))
    until(lambda: len(world.facts.of(DisksSeen)) >= 4)
    commit, refused = world.memory.commit, threading.Event()

    def commit_no_report(facts: Any, brokers: Any, partitions: Any) -> None:
        if not brokers:
            refused.set()
            raise MemoryUnusable("disks.db cannot be written: no space left")
        commit(facts, brokers, partitions)

    world.memory.commit = commit_no_report  # type: ignore[method-assign]
    assert refused.wait(PATIENCE_S)
    world.memory.commit = commit  # type: ignore[method-assign]
    before = len(world.facts)
    until(lambda: len(world.facts.of(DisksSeen, before)) >= 4)
    until(lambda: world.poller.status().error is None)


def test_a_failed_directory_and_lost_records_are_told_once(world: World) -> None:
    world.brokers.answers[1], world.brokers.end = FAILED, 30
    for _ in range(3):
        world.poll()
    (cut,) = world.facts.of(ReplicasCutOff)
    assert [(each.partition, each.replicas) for each in cut.replicas] == [(1, 2)]
    (fell,) = world.facts.of(OffsetsFell)
    assert (fell.was_end, fell.now_end) == (100, 30)
    world.brokers.answers[1] = WELL
    world.poll()
    (back,) = world.facts.of(ReplicasBack)
    assert (back.broker, back.path) == (1, B)


def test_a_broker_that_is_down_is_told_of_once_for_each_reason(world: World) -> None:
    for why in ("refused", "refused", "timed out"):
        world.brokers.answers[2] = ConnectionFailed(why)
        world.poll(2)
    assert [each.why for each in world.facts.of(DisksUnreachable)] == ["refused", "timed out"]
    assert world.poller.status().waiting == "broker 2: timed out"
    world.brokers.answers[2] = WELL
    world.poll(2)
    assert world.facts.all()[-1] == world.facts.of(DisksSeen)[-1]
    assert world.poller.status().waiting is None


def test_who_hangs_holds_nobody_else(world: World) -> None:
    world.brokers.hanging[2] = threading.Event()
    open_ = world.requests.ask(2, "it hangs")
    world.brokers.answers[1] = FAILED
    world.facts.wait(ReplicasCutOff, lambda each: each.broker == 1)
    world.poll(1)
    assert not world.requests.is_answered(open_)
    world.brokers.hanging[2].set()
    until(lambda: world.requests.is_answered(open_))


def test_missing_authorization_is_an_error_for_a_person(world: World) -> None:
    world.brokers.answers[2] = NotAuthorized("DESCRIBE on CLUSTER is needed")
    world.poll(2)
    assert "DESCRIBE on CLUSTER" in str(world.poller.status().error)
    world.brokers.answers[2] = WELL
    world.poll(2)
    assert world.poller.status().error is None


def test_a_removed_broker_whose_address_is_somebody_elses_now_is_no_error(world: World) -> None:
    world.brokers.listed = {1: BROKERS[1]}
    world.brokers.answers[2] = AuthenticationFailed("authentication failed for user kraftgate")
    world.poll()
    world.poll(2)
    status = world.poller.status()
    assert status.error is None
    assert "authentication failed" in str(status.waiting)


def test_a_listed_broker_that_never_answered(world: World) -> None:
    world.brokers.answers[9] = ConnectionFailed("refused")
    world.brokers.listed = {**BROKERS, 9: Endpoint("b9", 9092)}
    gone = world.facts.wait(DisksUnreachable, lambda each: each.broker == 9)
    assert gone.log_dirs == ()


def test_a_request_about_nobody_is_answered(world: World) -> None:
    world.poll(77)


def test_the_memory_outlives_the_process(world: World) -> None:
    world.poller.stop()
    world.brokers.answers[1], world.brokers.end = FAILED, 30
    mark = len(world.facts)
    world.start_again()
    world.poll()
    assert len(world.facts.of(ReplicasCutOff, after=mark)) == 1
    assert len(world.facts.of(OffsetsFell, after=mark)) == 1


def test_another_cluster_is_refused(world: World) -> None:
    world.brokers.cluster_id = "d"
    mark = len(world.facts)
    until(lambda: "cluster d" in str(world.poller.status().error))
    assert len(world.facts) == mark


def test_brokers_of_another_cluster_than_the_configured_one_are_named(tmp_path: Path) -> None:
    world = World(tmp_path)
    with world.made(
        replace(CONFIG, listener=CONFIG.listener._replace(cluster_id="ours"))
    ) as poller:
        until(lambda: poller.status().error is not None)
        status = poller.status()
    assert status.error == "the brokers belong to cluster c, not ours"
    assert status.cluster_id == "c"
    world.memory.close()


def test_a_configured_id_is_not_reported_before_a_broker_answers(tmp_path: Path) -> None:
    world = World(tmp_path)
    listener = CONFIG.listener._replace(cluster_id="c")
    world.brokers.undiscovered = ConnectionFailed("b1:9092 refused")
    with world.made(replace(CONFIG, listener=listener)) as poller:
        until(lambda: poller.status().waiting == "b1:9092 refused")
        assert poller.status().cluster_id is None
        world.brokers.undiscovered = None
        until(lambda: poller.status().cluster_id == "c")
    world.memory.close()


def test_nobody_answers_at_first(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.brokers.undiscovered = ConnectionFailed("b1:9092 refused")
    with world.poller:
        until(lambda: world.poller.status().waiting == "b1:9092 refused")
        ticket = world.requests.ask(None, "nobody is there")
        world.brokers.undiscovered = None
        until(lambda: world.requests.is_answered(ticket))
    world.memory.close()


def refuse_to_append(world: World) -> Callable[[], None]:
    world.refuses = OSError("no space left")
    return lambda: setattr(world, "refuses", None)


def refuse_to_commit(world: World) -> Callable[[], None]:
    commit = world.memory.commit

    def refuse(*_: object) -> None:
        raise MemoryUnusable("disks.db cannot be written: no space left")

    world.memory.commit = refuse  # type: ignore[method-assign,assignment]
    return lambda: setattr(world.memory, "commit", commit)


@pytest.mark.parametrize("refuse", [refuse_to_append, refuse_to_commit])
@pytest.mark.parametrize("crash", [False, True], ids=["mended", "killed"])
def test_a_full_disk_loses_no_fact_and_answers_no_request(
    world: World, refuse: Callable[[World], Callable[[], None]], *, crash: bool
) -> None:
    fix = refuse(world)
    world.brokers.answers[1], world.brokers.end = FAILED, 30
    ticket = world.requests.ask(1, "it was restarted")
    until(lambda: "no space left" in str(world.poller.status().error))
    assert not world.requests.is_answered(ticket)
    fix()
    if crash:
        world.start_again()
    until(lambda: world.requests.is_answered(ticket))
    assert len(world.facts.of(ReplicasCutOff)) == 1
    assert len(world.facts.of(OffsetsFell)) == 1
    until(lambda: world.poller.status().error is None)


def content(world: World) -> list[list[DiskContentSeen]]:
    """The snapshots, oldest first; no snapshot contains a fact of another kind."""
    told = world.facts.all()
    starts = [at for at, each in enumerate(told) if isinstance(each, DiskContentSeen)][::16]
    found = [told[at : at + 16] for at in starts]
    for each in found:
        assert len({(fact.seen_ms, type(fact)) for fact in each}) == 1
    return found  # type: ignore[return-value] # just checked


def poll_content(world: World) -> list[DiskContentSeen]:
    ticket = world.requests.ask(None, CONTENT)
    until(lambda: world.requests.is_answered(ticket))
    return content(world)[-1]


def test_a_snapshot_shows_what_lies_on_reachable_disks(world: World) -> None:
    world.start_again(WITH_CONTENT)
    snapshot = poll_content(world)
    assert {each.paths for each in snapshot} == {((1, A), (1, B), (2, A), (2, B))}
    (topic,) = (topic for each in snapshot for topic in each.topics)
    assert topic.topic_id == bytes.fromhex(world.brokers.topic_id)
    assert [tuple(each) for each in topic.replicas] == [
        (0, 0, False, 0),
        (0, 2, False, 0),
        (1, 1, False, 0),
        (1, 3, False, 0),
    ]
    world.brokers.answers[1], world.brokers.answers[2] = FAILED, ConnectionFailed("refused")
    snapshot = poll_content(world)
    assert {(each.paths, each.whole) for each in snapshot} == {(((1, A),), ())}


def test_snapshots_come_by_themselves_while_brokers_answer(world: World) -> None:
    world.start_again(replace(WITH_CONTENT, report_s=0.05, interval_s=0.3))
    until(lambda: len(content(world)) >= 3)
    world.brokers.answers = dict.fromkeys((1, 2), ConnectionFailed("refused"))
    world.poll()
    made = len(content(world))
    for _ in range(5):
        world.poll()
    assert len(content(world)) <= made + 1  # one may have been under way


def test_a_request_for_content_while_nobody_answers_is_answered(world: World) -> None:
    world.start_again(WITH_CONTENT)
    world.brokers.answers = dict.fromkeys((1, 2), ConnectionFailed("refused"))
    ticket = world.requests.ask(None, CONTENT)
    until(lambda: world.requests.is_answered(ticket))


def test_a_snapshot_that_cannot_be_kept_is_made_again(world: World) -> None:
    world.start_again(WITH_CONTENT)
    world.poll()
    ticket = world.requests.ask(None, CONTENT)
    fix = refuse_to_append(world)
    until(lambda: "no space left" in str(world.poller.status().error))
    assert not world.requests.is_answered(ticket)
    fix()
    until(lambda: world.requests.is_answered(ticket))
    assert content(world)


def test_what_lies_in_a_directory_that_was_never_seen_well_is_concluded(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.brokers.answers[2] = FAILED
    with world.poller:
        world.poll()
        cut = world.facts.wait(ReplicasCutOff, lambda each: each.broker == 2)
        assert (cut.path, [each.partition for each in cut.replicas]) == (B, [1])
        assert cut.replicas[0].replicas == 2
    world.memory.close()
