"""Each notification is counted once, for any events between a listing and its reads.

A model of one ZooKeeper parent answers requests one at a time, in session order. Between any two
requests, notifications are created and deleted, the connection is lost, or the watcher restarts.
The separate process reads some of them, or is behind, or ends.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from kazoo.protocol.states import ZnodeStat

from migration.observed.facts import NotificationsMissed, ZnodeGone, ZnodeSeen, ZooKeeperFact
from migration.observed.znodes import NOTIFICATIONS
from streams.state.fact_codec import key
from streams.zookeeper.emitter import Emitter
from streams.zookeeper.ensemble import Ensemble
from streams.zookeeper.known import Known
from streams.zookeeper.notifications import Notifications
from streams.zookeeper.read_ahead import KEPT_MAX, ReadAhead
from streams.zookeeper.sequence import notification_number
from tests.streams.zookeeper.watching import EVENT, accounted


class Model:
    """The parent znode, and the requests and watches of one session."""

    def __init__(self) -> None:
        self.zxid = self.pzxid = 1
        self.complete = True
        self.czxid: int | None = None
        self.created = 0
        self.children: dict[str, int] = {}
        self.forget()

    def forget(self) -> None:
        self.requests: list[tuple[str, str, Callable[[Any], None]]] = []
        self.fired: list[Callable[[], None]] = []
        self.look: Callable[[], None] | None = None

    # As a session

    client = type(
        "Client",
        (),
        {"get_children_async": "list", "get_async": "get", "exists_async": "exists"},
    )

    def watch(self, _path: str, look: Callable[[], None]) -> Callable[[], None]:
        return look

    def post(self, action: Callable[[], None]) -> None:
        self.fired.append(action)

    def ask(self, request: str, path: str, answered: Callable[[Any], None], **options: Any) -> None:
        def answer(value: object) -> None:
            if value is not None or request == "exists":
                self.look = options.get("watch", self.look)
            answered(value)

        self.requests.append((request, path, answer))

    # As a server

    def serve(self) -> None:
        if self.requests:
            request, path, answer = self.requests.pop(0)
            answer(self._answer(request, path))
        elif self.fired:
            self.fired.pop(0)()

    def _answer(self, request: str, path: str) -> object:
        if self.czxid is None:
            return None
        stat = self._stat(self.czxid)
        if path != NOTIFICATIONS:
            czxid = self.children.get(path)
            return None if czxid is None else (b"x", self._stat(czxid))
        if request == "list":
            return [child.rpartition("/")[2] for child in self.children], stat
        return stat if request == "exists" else (b"", stat)

    def _stat(self, czxid: int) -> ZnodeStat:
        number = len(self.children)
        cversion = 2 * self.created - number
        return ZnodeStat(czxid, czxid, 0, 0, 0, cversion, 0, 0, 0, number, self.pzxid)

    def _change(self) -> None:
        self.zxid += 1
        if self.look is not None:
            self.fired.append(self.look)
            self.look = None

    def make(self) -> None:
        if self.czxid is None:
            self._change()
            self.czxid, self.pzxid, self.created, self.children = self.zxid, self.zxid, 0, {}

    def notify(self) -> None:
        if self.czxid is not None:
            self._change()
            self.pzxid = self.zxid
            self.children[f"{EVENT}{self.created:010d}"] = self.zxid
            self.created += 1

    def delete(self, *, newest: bool) -> None:
        if self.children:
            self._change()
            self.pzxid = self.zxid
            del self.children[max(self.children) if newest else min(self.children)]

    def remove(self) -> None:
        if self.czxid is not None:
            self.children = {}
            self._change()
            self.czxid = None


class Process(ReadAhead):
    """The separate process, as far as its messages show it."""

    def __init__(self, model: Model) -> None:
        super().__init__(Ensemble(connect="zk"), lambda action: action())
        self.model = model
        self.requests: list[int] = []

    def _send(self, line: str) -> None:
        self.requests.append(json.loads(line))

    def watch(self, *, watches: bool) -> None:
        self._take(["watching", watches])
        if not watches:
            self.requests.clear()

    def look(self) -> None:
        """Read everything that exists, and answer a request."""
        for path, czxid in self.model.children.items():
            number, stat = notification_number(path), self.model._stat(czxid)
            self._take(["read", number, "eA==", list(stat)])
        if self.requests:
            self._take(["caught up", self.requests.pop(0)])

    def end(self) -> None:
        self.requests.clear()
        self._release()


def kept(facts: list[ZooKeeperFact]) -> list[ZooKeeperFact]:
    """The contents of a journal: the last fact of each key."""
    last = {key(fact): index for index, fact in enumerate(facts)}
    return [fact for index, fact in enumerate(facts) if last[key(fact)] == index]


class Night:
    """A watcher over the model, all its reported facts, and the journal for its restart."""

    def __init__(self) -> None:
        self.model = Model()
        self.facts: list[ZooKeeperFact] = []
        self.journal: list[ZooKeeperFact] = []
        self.process = Process(self.model)
        self.restart()

    def append(self, facts: Sequence[ZooKeeperFact]) -> None:
        self.facts.extend(facts)
        self.journal.extend(facts)

    def restart(self) -> None:
        self.emitter = Emitter(Known(self.journal), self.append, lambda: 1)
        self.process = Process(self.model)
        self.reconnect()

    def compact(self) -> None:
        self.journal = kept(self.journal)
        self.restart()

    def reconnect(self) -> None:
        self.model.forget()
        Notifications(self.model, self.emitter, self.process).read()  # type: ignore[arg-type]

    def settle(self) -> None:
        while self.model.requests or self.model.fired or self.process.requests:
            self.model.serve()
            self.process.look()

    def missed(self) -> int:
        return sum(f.number for f in self.facts if isinstance(f, NotificationsMissed))


def with_the_parent() -> Night:
    """A watcher that has read the parent, without notifications."""
    night = Night()
    night.model.make()
    night.settle()
    return night


def with_a_notification() -> Night:
    """The process watches; neither it nor the watcher has seen the notification."""
    night = with_the_parent()
    night.process.watch(watches=True)
    night.model.notify()
    return night


STEPS: dict[str, Callable[[Night], None]] = {
    "serve": lambda night: night.model.serve(),
    "notify": lambda night: night.model.notify(),
    "delete oldest": lambda night: night.model.delete(newest=False),
    "delete newest": lambda night: night.model.delete(newest=True),
    "reconnect": Night.reconnect,
    "restart": Night.restart,
    "compact": Night.compact,
    "process watches": lambda night: night.process.watch(watches=True),
    "process reads": lambda night: night.process.look(),
    "process loses its session": lambda night: night.process.watch(watches=False),
    "process ends": lambda night: night.process.end(),
}
WEIGHED = ["serve"] * 6 + ["notify"] * 3 + ["process watches", "process reads"] + list(STEPS)


@given(steps=st.lists(st.sampled_from(WEIGHED), max_size=80))
def test_each_is_read_or_counted_exactly_once(steps: list[str]) -> None:
    """KIP-589, "Motivation": znodes below /log_dir_event_notification name brokers."""
    night = with_the_parent()
    for step in steps:
        STEPS[step](night)
    night.settle()
    assert accounted(night.facts) == dict.fromkeys(range(night.model.created), 1)
    assert Known(kept(night.journal)).next_notification == night.model.created
    if "compact" not in steps:
        assert night.emitter.known.below(NOTIFICATIONS) == set(night.model.children)


@given(
    before=st.lists(st.sampled_from(WEIGHED), max_size=30),
    blind=st.booleans(),
    after=st.lists(st.sampled_from(WEIGHED), max_size=30),
)
def test_a_parent_made_anew_counts_from_0(before: list[str], blind: bool, after: list[str]) -> None:
    night = with_the_parent()
    for step in before:
        STEPS[step](night)
    night.settle()
    night.model.remove()
    if not blind:
        night.settle()
    night.model.make()
    mark = len(night.facts)
    for step in after:
        STEPS[step](night)
    night.settle()
    facts = night.facts[mark:]
    if blind:
        gone = [fact for fact in facts if isinstance(fact, ZnodeGone)]
        assert [fact.path for fact in gone].count(NOTIFICATIONS) == 1
        facts = facts[facts.index(ZnodeGone(1, NOTIFICATIONS)) :]
    assert accounted(facts) == dict.fromkeys(range(night.model.created), 1)
    assert Known(kept(night.journal)).next_notification == night.model.created


@given(earlier=st.integers(0, 5), left=st.integers(0, 5))
def test_what_came_and_went_before_the_first_reading_is_nobodys_miss(
    earlier: int, left: int
) -> None:
    night = Night()
    night.model.make()
    for _ in range(earlier + left):
        night.model.notify()
    for _ in range(earlier):
        night.model.delete(newest=False)
    night.settle()
    assert accounted(night.facts) == dict.fromkeys(range(earlier, earlier + left), 1)
    night.restart()
    night.settle()
    assert sum(accounted(night.facts).values()) == left
    assert night.emitter.known.next_notification == earlier + left


def test_a_name_given_by_hand_is_no_notification() -> None:
    night = with_the_parent()
    night.model.children[f"{EVENT}0000000500"] = 9
    night.model.created += 1
    night.model.notify()
    night.settle()
    assert accounted(night.facts) == {0: 1, 1: 1}


def listed(night: Night) -> None:
    """Serve all requests of the watcher, but have the process answer nothing."""
    while night.model.requests or night.model.fired:
        night.model.serve()


QUICK = ["serve", "delete oldest", "delete newest", "reconnect", "process loses its session"]


@given(steps=st.lists(st.sampled_from(["notify", *QUICK]), max_size=60))
def test_none_is_missed_that_the_process_read_in_time(steps: list[str]) -> None:
    night = with_the_parent()
    for step in steps:
        STEPS[step](night)
        if step == "notify":
            night.process.watch(watches=True)
            night.process.look()
    night.settle()
    assert accounted(night.facts) == dict.fromkeys(range(night.model.created), 1)
    assert night.missed() == 0
    assert night.emitter.known.below(NOTIFICATIONS) == set(night.model.children)


def test_one_that_the_process_reads_late_is_not_missed() -> None:
    """The listing shows the deletion before the process has written what it read."""
    night = with_a_notification()
    read = night.model._stat(night.model.zxid)
    night.model.delete(newest=True)
    listed(night)
    assert accounted(night.facts) == {}
    night.process._take(["read", 0, "eA==", list(read)])
    night.settle()
    assert (accounted(night.facts), night.missed()) == ({0: 1}, 0)


def test_a_process_that_does_not_catch_up_delays_only_so_long() -> None:
    night = with_a_notification()
    night.model.delete(newest=True)
    listed(night)
    night.process.tick()
    assert not night.model.fired
    night.process._waiting = {n: (0.0, then) for n, (_, then) in night.process._waiting.items()}
    night.process.tick()
    night.settle()
    assert (accounted(night.facts), night.missed()) == ({0: 1}, 1)


def test_what_the_process_read_below_an_earlier_parent_is_not_counted_again() -> None:
    night = with_a_notification()
    read = night.model._stat(night.model.zxid)
    night.settle()
    night.model.remove()
    night.model.make()
    night.model.notify()
    night.model.delete(newest=True)
    mark = len(night.facts)
    night.process._take(["read", 0, "eA==", list(read)])
    night.settle()
    assert night.missed() == 1
    assert accounted(night.facts[mark:]) == {0: 1}


def test_only_the_latest_are_kept_without_a_connection() -> None:
    process = Process(Model())
    for number in range(KEPT_MAX + 10):
        process._take(["read", number, "", [number + 1] * 11])
    found = [number for number, *_ in process.found(0, 10**9, after_zxid=0, until_zxid=10**9)]
    assert found == list(range(10, KEPT_MAX + 10))


def test_what_was_read_late_below_an_earlier_parent_is_another_notification() -> None:
    night = with_the_parent()
    night.model.notify()
    earlier = night.model._stat(night.model.zxid)
    night.model.remove()
    night.settle()
    night.model.make()
    night.settle()
    night.process.watch(watches=True)
    night.model.notify()
    night.model.delete(newest=True)
    listed(night)
    night.process._take(["read", 0, "eA==", list(earlier)])
    missed = night.missed()
    night.settle()
    assert night.missed() == missed + 1


def test_what_was_read_below_a_later_parent_is_another_notification() -> None:
    night = with_a_notification()
    night.model.delete(newest=True)
    listed(night)
    for change in (night.model.remove, night.model.make, night.model.notify):
        change()
    night.settle()
    assert night.missed() == 1
    assert any(isinstance(f, ZnodeSeen) and f.path != NOTIFICATIONS for f in night.facts)
    assert night.emitter.known.next_notification == 1


def test_a_zookeeper_that_lost_its_data_repeats_transaction_numbers() -> None:
    night = with_the_parent()
    night.model.zxid = 100
    night.process._take(["read", 1, "eA==", list(night.model._stat(102))])
    night.model.remove()
    night.settle()
    night.model.zxid = 5
    night.model.make()
    night.settle()
    night.model.zxid = 200
    for _ in range(2):
        night.model.notify()
        night.model.delete(newest=True)
    night.settle()
    assert night.missed() == 2
