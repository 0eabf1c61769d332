"""The time at which a snapshot is made, and the answers that it contains."""

from collections.abc import Sequence

import pytest

from migration.observed.facts import DiskContentSeen, Observation
from streams.kafka.broker_values import ClusterView, LogDirAnswer, PartitionView
from streams.log_dirs import content_snapshots
from streams.log_dirs.compare import answered
from streams.log_dirs.content_snapshots import CONTENT, Snapshots
from streams.log_dirs.poll import LogDirsConfig
from streams.log_dirs.poll_requests import PollRequest
from streams.log_dirs.remembered import NOTHING
from streams.net.endpoint import Endpoint
from streams.net.listener import Listener
from tests.streams.log_dirs.world import A, B, inputs, log_dir

CONFIG = LogDirsConfig(listener=Listener((Endpoint("b1", 9092),)), cluster="c")
ID = "00" * 15 + "25"
VIEW = ClusterView("k", {}, {("t", 0): PartitionView("t", 0, ID, 1, 1, (2,), (2,))}, {})
ASKED = PollRequest(7, None, CONTENT)


class World:
    """Snapshots, and the facts appended from them."""

    def __init__(self, config: LogDirsConfig = CONFIG) -> None:
        self.told: list[Observation] = []
        self.refuses: Exception | None = None
        self.snapshots = Snapshots(config, self.append, lambda: 7000)

    def append(self, facts: Sequence[Observation]) -> None:
        if self.refuses is not None:
            raise self.refuses
        self.told += facts

    def answer(self, broker: int, now_s: float, *answer: LogDirAnswer) -> None:
        compared = answered(NOTHING, answer or (log_dir(A, 0), log_dir(B, 1)), inputs())
        self.snapshots.answered(broker, compared, now_s)

    def make(
        self, now_s: float, view: ClusterView | None = VIEW, *, all_polled: bool = True
    ) -> tuple[int, ...] | None:
        """Make a snapshot if one is due; return the requests that it answers."""
        make = self.snapshots.take(now_s, view, all_polled=all_polled)
        return None if make is None else self.snapshots.end(make())

    def last(self) -> DiskContentSeen:
        fact = self.told[-1]
        assert isinstance(fact, DiskContentSeen)
        return fact


@pytest.fixture
def world() -> World:
    return World()


def test_one_an_interval_while_brokers_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content_snapshots, "until_next", lambda interval_s: interval_s)
    assert world.make(0.0) is None
    world.answer(2, 1.0)
    assert world.make(1.0) == ()
    assert len(world.told) == 16
    world.answer(2, 11.0)
    assert world.make(30.9) is None
    world.answer(2, 31.0)
    assert world.make(31.0) == ()
    assert world.make(99.0) is None
    assert len(world.told) == 32


def test_the_first_one_waits_until_each_broker_was_asked(world: World) -> None:
    world.answer(2, 1.0)
    assert world.make(1.0, all_polled=False) is None
    assert world.make(1.0, None) is None
    assert world.make(1.0) == ()


def test_one_at_a_time(world: World) -> None:
    world.answer(2, 1.0)
    make = world.snapshots.take(1.0, VIEW, all_polled=True)
    world.snapshots.ask(ASKED)
    assert world.snapshots.hold([7]) == []
    assert world.snapshots.take(2.0, VIEW, all_polled=True) is None
    assert make is not None
    assert world.snapshots.end(make()) == ()
    assert world.make(2.0) == (7,)


def test_brokers_that_answered_long_ago_or_not_at_all_do_not_count(world: World) -> None:
    world.answer(1, 0.0)
    world.answer(2, 5.0)
    world.answer(3, 5.0)
    world.snapshots.unanswered(3)
    assert world.make(20.0) == ()
    assert (world.last().paths, world.last().whole) == (((2, A), (2, B)), (2,))
    world.answer(2, 31.0)
    world.snapshots.unanswered(2)
    assert world.make(90.0) is None


def test_no_readable_directory_is_no_snapshot(world: World) -> None:
    world.answer(2, 5.0, log_dir(A, error=56))
    assert world.make(5.0) is None
    world.answer(2, 6.0)
    assert world.make(6.0) == ()


def test_a_broker_with_a_bad_directory_is_not_whole(world: World) -> None:
    world.answer(2, 5.0, log_dir(A, 0), log_dir(B, error=56))
    world.answer(3, 5.0, log_dir(A, 0), log_dir(B, error=-1))
    assert world.make(5.0) == ()
    assert (world.last().paths, world.last().whole) == (((2, A), (3, A)), ())


def test_a_broker_that_dropped_a_directory_with_replicas_is_not_whole() -> None:
    before = answered(NOTHING, [log_dir(A, 0), log_dir(B, 1)], inputs()).known
    assert not answered(before, [log_dir(A, 0)], inputs()).whole
    assert answered(before, [log_dir(A, 0, 1)], inputs()).whole
    assert not answered(before, [], inputs()).whole


def test_a_request_for_content_is_answered_by_a_snapshot(world: World) -> None:
    world.answer(2, 1.0)
    world.make(1.0)
    world.snapshots.ask(ASKED)
    world.snapshots.ask(PollRequest(8, None, "a poll"))
    world.snapshots.ask(PollRequest(9, 2, CONTENT))
    assert world.snapshots.hold([7, 8, 9]) == [8, 9]
    assert world.snapshots.waiting == {7}
    assert world.make(2.0) == (7,)
    assert world.snapshots.waiting == set()
    assert world.snapshots.hold([7]) == [7]


def test_a_request_while_nobody_answers_is_answered_without_one(world: World) -> None:
    world.snapshots.ask(ASKED)
    assert world.snapshots.hold([7]) == []
    assert world.make(1.0, None) == (7,)
    assert world.told == []


def test_a_snapshot_that_cannot_be_kept_answers_nobody(world: World) -> None:
    world.refuses = OSError("no space left")
    world.answer(2, 1.0)
    world.snapshots.ask(ASKED)
    world.snapshots.hold([7])
    make = world.snapshots.take(1.0, VIEW, all_polled=True)
    assert make is not None
    ended = make()
    assert "no space left" in str(ended.failure)
    assert world.snapshots.end(ended) == ()
    assert world.snapshots.waiting == set()


def test_without_a_cluster_there_are_none() -> None:
    world = World(LogDirsConfig(listener=CONFIG.listener))
    world.answer(2, 1.0)
    world.snapshots.ask(ASKED)
    assert world.snapshots.hold([7]) == [7]
    assert world.make(1.0) is None
