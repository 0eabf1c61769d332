"""Each notification is counted once, for any events between a listing and its reads.

A model of one ZooKeeper parent answers requests one at a time, in session order. Between any two
requests, notifications are created and deleted, the connection is lost, or the watcher restarts.
"""

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from kazoo.protocol.states import ZnodeStat

from migration.observed.facts import ZnodeGone, ZooKeeperFact
from migration.observed.znodes import NOTIFICATIONS
from streams.state.fact_codec import key
from streams.zookeeper.emitter import Emitter
from streams.zookeeper.known import Known
from streams.zookeeper.notifications import Notifications
from tests.streams.zookeeper.watching import EVENT, accounted


class Model:
    """The parent znode, and the requests and watches of one session."""

    def __init__(self) -> None:
        self.zxid = 1
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
        return ZnodeStat(czxid, czxid, 0, 0, 0, cversion, 0, 0, 0, number, 0)

    def _change(self) -> None:
        self.zxid += 1
        if self.look is not None:
            self.fired.append(self.look)
            self.look = None

    def make(self) -> None:
        if self.czxid is None:
            self._change()
            self.czxid, self.created, self.children = self.zxid, 0, {}

    def notify(self) -> None:
        if self.czxid is not None:
            self._change()
            self.children[f"{EVENT}{self.created:010d}"] = self.zxid
            self.created += 1

    def delete(self, *, newest: bool) -> None:
        if self.children:
            self._change()
            del self.children[max(self.children) if newest else min(self.children)]

    def remove(self) -> None:
        if self.czxid is not None:
            self.children = {}
            self._change()
            self.czxid = None


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
        self.restart()

    def append(self, facts: Sequence[ZooKeeperFact]) -> None:
        self.facts.extend(facts)
        self.journal.extend(facts)

    def restart(self) -> None:
        self.emitter = Emitter(Known(self.journal), self.append, lambda: 1)
        self.reconnect()

    def compact(self) -> None:
        self.journal = kept(self.journal)
        self.restart()

    def reconnect(self) -> None:
        self.model.forget()
        Notifications(self.model, self.emitter).read()  # type: ignore[arg-type]

    def settle(self) -> None:
        while self.model.requests or self.model.fired:
            self.model.serve()


STEPS: dict[str, Callable[[Night], None]] = {
    "serve": lambda night: night.model.serve(),
    "notify": lambda night: night.model.notify(),
    "delete oldest": lambda night: night.model.delete(newest=False),
    "delete newest": lambda night: night.model.delete(newest=True),
    "reconnect": Night.reconnect,
    "restart": Night.restart,
    "compact": Night.compact,
}
WEIGHED = ["serve"] * 6 + ["notify"] * 3 + list(STEPS)


@given(steps=st.lists(st.sampled_from(WEIGHED), max_size=80))
def test_each_is_read_or_counted_exactly_once(steps: list[str]) -> None:
    night = Night()
    night.model.make()
    night.settle()
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
    night = Night()
    night.model.make()
    night.settle()
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
    night = Night()
    night.model.make()
    night.settle()
    night.model.children[f"{EVENT}0000000500"] = 9
    night.model.created += 1
    night.model.notify()
    night.settle()
    assert accounted(night.facts) == {0: 1, 1: 1}
