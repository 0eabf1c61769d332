"""`move apply` and `move cancel` against simulated brokers: killed anywhere, they are resumed.

KIP-113, "Initiate replica movement ..." and "Broker Config" (the throttle).
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from migration.moves.steps import STRIKES_MAX, Measured, Step
from migration.observed.probed import Broker, LogDir, Maybe, TopicPartition, Unknown
from orchestrator.audit import AuditLog
from orchestrator.audit.move_entries import Body, left_throttled
from orchestrator.errors import (
    AuditError,
    HazardError,
    LockError,
    LockHeld,
    MoveError,
    NoDataError,
)
from orchestrator.execution import moves as module
from orchestrator.execution.locks.cluster_lock import ClusterLock
from orchestrator.execution.locks.store_lock import Held, NotHeld
from orchestrator.execution.moves import MoveRun, Orchestrating, Plan, Requests, orchestrating
from streams.kafka.errors import ConnectionFailed, NotAuthorized, RequestRefused
from streams.kafka.throttle import Throttle
from streams.net.endpoint import Endpoint
from streams.net.errors import LiveError
from streams.net.security import Security
from streams.probe.brokers import ABSENT, with_absent
from tests.migration.moves.brokers import D0, D1, D2, at

SIZE = 100
OURS, BEFORE = "50", "7"


class Kill(BaseException):
    """kill -9 of the command: nothing of it runs any more."""


class Kafka(Requests):
    """Brokers 1 and 2, whose moves progress by one half at each poll.

    Attributes:
        places: of each replica.
        copies: of each replica that moves: its target, and the bytes that are there.
        own: the throttle set for each broker.
        refuses: the error of each replica's request.
        dead: brokers that do not answer.
        kill_after: how many calls the command survives.
    """

    def __init__(self, replicas: Mapping[int, Collection[str]]) -> None:
        self.places = {(id_, at(name)): D0 for id_, names in replicas.items() for name in names}
        self.copies: dict[tuple[int, TopicPartition], tuple[str, int]] = {}
        self.own: dict[int, str | None] = {1: BEFORE, 2: None}
        self.refuses: dict[TopicPartition, str] = {}
        self.dead: set[int] = set()
        self.offline: set[str] = set()
        self.stuck = False
        self.lag: int | None = 1
        self.kill_after: int | None = None
        self.calls = 0
        self.sent: list[tuple[int, str, str]] = []
        self.unthrottled: list[TopicPartition] = []

    def call(self) -> None:
        """Survive one more call, or not."""
        self.calls += 1
        if self.kill_after is not None and self.calls > self.kill_after:
            raise Kill

    def log_dirs(self, brokers: Collection[int]) -> Mapping[int, Broker]:
        self.call()
        self._go_on()
        return {id_: self._broker(id_) for id_ in brokers}

    def _broker(self, id_: int) -> Broker:
        found: Maybe[tuple[LogDir, ...]] = self._dirs(id_)
        if id_ in self.dead:
            found = Unknown(f"b{id_} refused")
        return Broker(id=id_, endpoint=f"b{id_}:9092", release=(3, 9), log_dirs=found)

    def _dirs(self, id_: int) -> tuple[LogDir, ...]:
        made = []
        for path in (D0, D1, D2):
            if path in self.offline:
                made.append(LogDir(path=path, error=56))
                continue
            here = {a: SIZE for (b, a), to in self.places.items() if (b, to) == (id_, path)}
            copies = {a: n for (b, a), (to, n) in self.copies.items() if (b, to) == (id_, path)}
            made.append(
                LogDir(
                    path=path,
                    replicas=frozenset(here),
                    sizes=here,
                    futures=frozenset(copies),
                    future_lags=dict.fromkeys(copies, self.lag),
                    future_sizes=copies,
                )
            )
        return tuple(made)

    def _go_on(self) -> None:
        for key, (to, size) in list(self.copies.items()):
            if self.stuck or key[0] in self.dead:
                continue
            self.copies[key] = (to, size + SIZE // 2)
            if size + SIZE // 2 >= SIZE:
                del self.copies[key]
                self.places[key] = to

    def alter(
        self, broker: int, targets: Mapping[TopicPartition, str]
    ) -> Maybe[Mapping[TopicPartition, str]]:
        self.call()
        if broker in self.dead:
            return Unknown(f"b{broker} refused")
        refused = {}
        for one, path in targets.items():
            self.sent.append((broker, str(one), path))
            if one in self.refuses:
                refused[one] = self.refuses[one]
            elif self.places[broker, one] == path:
                self.copies.pop((broker, one), None)
            else:
                if self.own[broker] != OURS:
                    self.unthrottled.append(one)
                self.copies[broker, one] = (path, 0)
        return refused

    def throttle(self, broker: int) -> Throttle:
        self.call()
        return Throttle(self.own[broker], self.own[broker])

    def set_throttle(self, broker: int, value: str | None) -> None:
        self.call()
        self.own[broker] = value


def plan(names: Mapping[int, Collection[str]], *, throttled: bool = True) -> Plan:
    targets = {id_: {at(name): D1 for name in each} for id_, each in names.items()}
    return Plan(
        file=Path("plan.json"),
        sha256="0" * 64,
        targets=targets,
        throttles=dict.fromkeys(targets, int(OURS)) if throttled else {},
    )


NAMES = {1: ("t-0", "t-1", "t-2"), 2: ("t-0",)}
ALL = plan(NAMES)
FEW = plan({1: ("t-0", "t-1"), 2: ("t-0",)})
TARGETS = {(id_, one) for id_, each in FEW.targets.items() for one in each}


@contextmanager
def dies_at_poll(kafka: Kafka, number: int) -> Iterator[None]:
    """Let broker 1 answer no poll from this one on, until the end of the block."""
    real, polls = kafka._go_on, 0

    def go_on() -> None:
        nonlocal polls
        polls += 1
        kafka.dead = {1} if polls >= number else set()
        real()

    kafka._go_on = go_on  # type: ignore[method-assign]
    yield
    kafka._go_on = real  # type: ignore[method-assign]
    kafka.dead = set()


def die_after_a_request(kafka: Kafka) -> None:
    """Let broker 1 answer nothing after its first request for a move."""
    real = kafka.alter

    def alter(
        broker: int, targets: Mapping[TopicPartition, str]
    ) -> Maybe[Mapping[TopicPartition, str]]:
        refused = real(broker, targets)
        kafka.dead = {1}
        return refused

    kafka.alter = alter  # type: ignore[method-assign]


class Machine:
    """A state directory, and the cluster that it is about."""

    def __init__(self, folder: Path) -> None:
        self.kafka = Kafka(NAMES)
        self.config: Any = SimpleNamespace(state_dir=folder, option=(), many=False)
        self.entry: Any = SimpleNamespace(name="prod", zookeeper=None)
        self.log = AuditLog.open(folder / "audit.db")
        self.log._db.execute("PRAGMA synchronous=OFF")  # no power fails here
        self.shown: list[Measured] = []
        self.stalled: list[Sequence[str]] = []
        self.warned: list[str] = []
        self.polls = 0

    @contextmanager
    def run(self, what: Plan = ALL, polls_max: int = 60) -> Iterator[MoveRun]:
        """A run; the operator ends it after that many waits."""
        self.polls = 0

        def wait(_: float) -> bool:
            self.polls += 1
            return self.polls > polls_max

        with orchestrating(self.config, self.entry, self.log) as held:
            yield MoveRun(what, mortal(held, self.kafka), self.kafka, wait, self.warned.append)

    def apply(
        self,
        what: Plan = ALL,
        at_once: int = 2,
        allowed: Callable[[Collection[int], Mapping[int, Broker]], None] = lambda *_: None,
        polls_max: int = 60,
    ) -> None:
        with self.run(what, polls_max) as run:
            run.apply(at_once, allowed, self._show)

    def cancel(self, what: Plan = ALL) -> None:
        with self.run(what) as run:
            run.cancel()

    def _show(self, done: Measured, _: Step, stalled: Sequence[str]) -> None:
        self.shown.append(done)
        self.stalled.append(stalled)

    @property
    def kinds(self) -> list[str]:
        return [each.kind for each in self.log.entries("prod") if each.kind != "fence"]

    def require_clean(self) -> None:
        """No future replica, no throttle, nothing open in the trail."""
        assert not self.kafka.copies
        assert self.kafka.own == {1: BEFORE, 2: None}
        assert not left_throttled(self.log.entries("prod"))


def mortal(held: Orchestrating, kafka: Kafka) -> Orchestrating:
    """Make the process die before an entry of the audit trail, too."""

    def record(body: Body) -> None:
        kafka.call()
        held.record(body)

    made: Any = SimpleNamespace(
        cluster=held.cluster,
        commands=held.commands,
        log=held.log,
        require_lock=held.require_lock,
        record=record,
    )
    found: Orchestrating = made
    return found


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path)
    yield made
    made.log.close()


def test_a_plan_is_applied_under_its_throttle(machine: Machine) -> None:
    """KIP-113, "Broker Config": the rate of moves between log directories."""
    machine.apply()
    assert set(machine.kafka.places.values()) == {D1}
    assert machine.kafka.unthrottled == []
    machine.require_clean()
    assert machine.kinds == [
        "move_began", "move_throttled", "move_throttled", "move_sent", "move_sent", "move_sent",
        "move_unthrottled", "move_unthrottled", "move_ended",
    ]  # fmt: skip
    assert not machine.warned
    bytes_ = [each.bytes for each in machine.shown]
    assert bytes_ == sorted(bytes_)
    assert machine.shown[-1] == Measured(4, 4, 4 * SIZE, 4 * SIZE)


def test_intent_and_previous_throttle_come_before_what_is_sent(machine: Machine) -> None:
    seen: list[tuple[list[str], dict[int, str | None], int]] = []
    real = machine.kafka.call

    def call() -> None:
        seen.append((machine.kinds, dict(machine.kafka.own), len(machine.kafka.sent)))
        real()

    machine.kafka.call = call  # type: ignore[method-assign]
    machine.apply()
    for kinds, own, sent in seen:
        assert (OURS in own.values()) <= ("move_throttled" in kinds)
        assert bool(sent) <= ("move_sent" in kinds)
    (first, *_) = (e.body for e in machine.log.entries("prod") if e.kind == "move_throttled")
    assert (first["previous"], first["value"]) == (BEFORE, OURS)


def test_no_more_replicas_of_a_broker_move_at_once(machine: Machine) -> None:
    most = 0
    real = machine.kafka._go_on

    def go_on() -> None:
        nonlocal most
        most = max(most, sum(id_ == 1 for id_, _ in machine.kafka.copies))
        real()

    machine.kafka._go_on = go_on  # type: ignore[method-assign]
    machine.apply(at_once=1)
    assert most == 1


def test_a_request_of_any_length_is_recorded(tmp_path: Path) -> None:
    """A topic's name may have 249 characters; --at-once permits 1000 replicas of a broker."""
    names = {1: [f"{'long' * 62}-{number}" for number in range(1000)]}
    one = Machine(tmp_path)
    one.kafka = Kafka(names)
    one.kafka.stuck = True
    with pytest.raises(MoveError, match="interrupted"):
        one.apply(plan(names, throttled=False), at_once=1000, polls_max=1)
    assert len(one.kafka.copies) == 1000
    one.cancel(plan(names, throttled=False))
    assert not one.kafka.copies
    one.log.close()


def _calls(folder: Path) -> int:
    one = Machine(folder)
    one.apply(FEW)
    one.log.close()
    return one.kafka.calls


@pytest.mark.slow
@pytest.mark.parametrize("then", ["apply", "cancel"])
def test_killed_at_any_step_it_is_resumed_or_cancelled(tmp_path: Path, then: str) -> None:
    """Before each entry, request and poll; this is after the one before."""
    (tmp_path / "whole").mkdir()
    for survived in range(_calls(tmp_path / "whole")):
        folder = tmp_path / str(survived)
        folder.mkdir()
        one = Machine(folder)
        one.kafka.kill_after = survived
        with pytest.raises(Kill):
            one.apply(FEW)
        one.kafka.kill_after = None
        getattr(one, then)(FEW)
        one.require_clean()
        if then == "apply":
            assert {one.kafka.places[key] for key in one.kafka.places if key in TARGETS} == {D1}
        one.log.close()


def test_a_cancellation_that_is_killed_is_resumed(tmp_path: Path) -> None:
    for survived in range(200):
        folder = tmp_path / str(survived)
        folder.mkdir()
        one = Machine(folder)
        one.kafka.stuck = True
        with pytest.raises(MoveError, match="interrupted"):
            one.apply(FEW, polls_max=1)
        one.kafka.calls, one.kafka.kill_after = 0, survived
        try:
            one.cancel(FEW)
        except Kill:
            one.kafka.kill_after = None
            one.cancel(FEW)
            one.require_clean()
            assert set(one.kafka.places.values()) == {D0}
            one.log.close()
            continue
        one.log.close()
        return
    raise AssertionError("it never ended")


def test_another_plan_restores_what_a_killed_one_left(machine: Machine) -> None:
    machine.kafka.stuck, machine.kafka.kill_after = True, 20
    with pytest.raises(Kill):
        machine.apply()
    assert OURS in machine.kafka.own.values()
    machine.kafka.stuck, machine.kafka.kill_after = False, None
    machine.kafka.copies.clear()
    machine.apply(plan({2: ("t-0",)}, throttled=False))
    machine.require_clean()


@pytest.mark.parametrize("then", ["apply", "cancel"])
@pytest.mark.parametrize("is_dead", [False, True])
def test_another_plan_leaves_the_throttle_of_a_broker_that_still_moves(
    machine: Machine, then: str, is_dead: bool
) -> None:
    """An interrupted run's moves go on under its throttle; a dead broker may resume them."""
    machine.kafka.stuck = True
    with pytest.raises(MoveError, match="interrupted"):
        machine.apply(plan({1: ("t-0",)}), polls_max=1)
    real = machine.kafka.throttle

    def throttle(broker: int) -> Throttle:
        if broker in machine.kafka.dead:
            raise ConnectionFailed(f"b{broker} refused")
        return real(broker)

    machine.kafka.throttle = throttle  # type: ignore[method-assign]
    machine.kafka.dead = {1} if is_dead else set()
    others = {key: at_ for key, at_ in machine.kafka.copies.items() if key[0] == 1}
    machine.kafka._go_on = lambda: _arrive(machine.kafka, 2)  # type: ignore[method-assign]
    with pytest.raises(MoveError) as caught:
        getattr(machine, then)(plan({2: ("t-0",)}))
    why = "it does not answer" if is_dead else "it moves replicas"
    assert str(caught.value).endswith(
        f". broker 1 keeps the throttle: {why}. To restore the throttle, as soon as the broker"
        " moves no replica: kraftgate move cancel plan.json"
    )
    assert machine.kafka.own == {1: OURS, 2: None}
    assert machine.kafka.copies == others
    assert left_throttled(machine.log.entries("prod")).keys() == {1}
    machine.kafka.dead = set()
    machine.cancel(plan({1: ("t-0",)}))
    assert machine.kafka.own == {1: BEFORE, 2: None}


@pytest.mark.parametrize("polls", [0, 1])
def test_a_resumed_run_keeps_the_throttle_of_the_interrupted_one(
    machine: Machine, polls: int
) -> None:
    """The command that the interrupted run prints has no --throttle."""
    one = plan({1: ("t-0", "t-1")})
    machine.kafka.stuck = True
    with pytest.raises(MoveError, match="broker 1 keeps the throttle"):
        machine.apply(one, at_once=1, polls_max=polls)
    machine.kafka.stuck = False
    real = machine.kafka._go_on

    def go_on() -> None:
        assert not machine.kafka.copies or machine.kafka.own[1] == OURS
        real()

    machine.kafka._go_on = go_on  # type: ignore[method-assign]
    machine.shown.clear()
    machine.apply(replace(one, throttles={}), at_once=1)
    assert machine.kafka.unthrottled == []
    assert machine.shown[0].seconds_min == (2 * SIZE - machine.shown[0].bytes) / int(OURS) > 0
    machine.require_clean()


def test_a_resumed_run_leaves_the_throttle_that_another_client_set(machine: Machine) -> None:
    machine.kafka.stuck = True
    with pytest.raises(MoveError, match="interrupted"):
        machine.apply(plan({1: ("t-0",)}), polls_max=1)
    machine.kafka.stuck = False
    machine.kafka.own[1] = "10"
    machine.apply(plan({1: ("t-0",)}, throttled=False))
    assert machine.kafka.own[1] == "10"
    assert machine.kinds.count("move_throttled") == 1
    assert not left_throttled(machine.log.entries("prod"))


@pytest.mark.parametrize("then", ["apply", "cancel"])
def test_another_plan_of_a_broker_leaves_its_throttle_while_it_moves(
    machine: Machine, then: str
) -> None:
    other = plan({1: ("t-1",)})
    machine.apply(other)
    machine.kafka.stuck = True
    with pytest.raises(MoveError, match="interrupted"):
        machine.apply(plan({1: ("t-0",)}), polls_max=1)
    with pytest.raises(MoveError, match=r"1 of 1 .* broker 1 keeps the throttle"):
        getattr(machine, then)(other)
    assert machine.kafka.own[1] == OURS
    assert machine.kafka.copies.keys() == {(1, at("t-0"))}
    _arrive(machine.kafka, 1)
    getattr(machine, then)(other)
    machine.require_clean()


def test_a_cancellation_leaves_the_throttle_of_a_broker_that_restarts(machine: Machine) -> None:
    """KIP-113, "Handle failure that happens ...": the broker finds the future replica again."""
    one = plan({1: ("t-0",)})
    machine.kafka.stuck = True
    with pytest.raises(MoveError, match="interrupted"):
        machine.apply(one, polls_max=1)
    machine.kafka.dead = {1}
    with pytest.raises(NoDataError, match=r"b1 refused.* broker 1 keeps the throttle"):
        machine.cancel(one)
    assert machine.kafka.own[1] == OURS
    assert machine.kafka.copies
    machine.kafka.dead = set()
    machine.cancel(one)
    machine.require_clean()


def _arrive(kafka: Kafka, broker: int) -> None:
    for key in [each for each in kafka.copies if each[0] == broker]:
        kafka.places[key] = kafka.copies.pop(key)[0]


def describe_late(kafka: Kafka, reads: float) -> dict[int, str | None]:
    """Let a change of a throttle take effect after some reads; return what the brokers describe."""
    described, asked = dict(kafka.own), Counter[int]()

    def throttle(broker: int) -> Throttle:
        asked[broker] += described[broker] != kafka.own[broker]
        if asked[broker] > reads:
            described[broker], asked[broker] = kafka.own[broker], 0
        return Throttle(described[broker], described[broker])

    kafka.throttle = throttle  # type: ignore[method-assign]
    return described


@pytest.mark.parametrize("then", ["apply", "cancel"])
def test_a_restored_throttle_is_in_force_when_the_command_ends(machine: Machine, then: str) -> None:
    """Otherwise the next read reports it as that of another state directory."""
    machine.kafka.stuck = True
    with pytest.raises(MoveError, match="interrupted"):
        machine.apply(polls_max=1)
    machine.kafka.stuck = False
    described = describe_late(machine.kafka, reads=3)
    getattr(machine, then)()
    assert described == {1: BEFORE, 2: None}
    assert not any("throttle" in each for each in machine.warned)
    machine.require_clean()


def test_a_restored_throttle_that_takes_no_effect_is_reported(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.kafka.stuck = True
    with pytest.raises(MoveError, match="interrupted"):
        machine.apply(polls_max=1)
    monkeypatch.setattr(module, "_THROTTLED_S_MAX", -1.0)
    describe_late(machine.kafka, reads=float("inf"))
    with pytest.raises(MoveError) as caught:
        machine.cancel()
    assert str(caught.value) == (
        "prod: 4 of 4 replicas are without a move. the throttle of broker 1 is not restored: broker"
        " 1 does not apply the throttle 7; the throttle of broker 2 is not restored: broker 2 does"
        " not apply the deletion of its throttle. To restore the throttle, as soon as the broker"
        " moves no replica: kraftgate move cancel plan.json"
    )
    assert left_throttled(machine.log.entries("prod")).keys() == {1, 2}


CHANGED = "another client changed the throttle 50, or it never took effect"


@pytest.mark.parametrize(
    ("broker", "own", "warning"),
    [
        (1, "999", "prod: broker 1 has the throttle 999, which another client set: it stays"),
        (1, None, "prod: broker 1 has no throttle: another client deleted it"),
        (1, BEFORE, f"prod: broker 1 has the throttle 7: {CHANGED}"),
        (2, None, f"prod: broker 2 has no throttle: {CHANGED}"),
    ],
)
def test_a_throttle_that_another_client_changed_stays(
    machine: Machine, broker: int, own: str | None, warning: str
) -> None:
    real, before = machine.kafka._go_on, machine.kafka.own[broker]

    def changed() -> None:
        if machine.kafka.copies:
            machine.kafka.own[broker] = own
        real()

    machine.kafka._go_on = changed  # type: ignore[method-assign]
    machine.apply()
    assert machine.kafka.own == {1: BEFORE, 2: None} | {broker: own}
    assert machine.warned == [warning]
    kept = [e.body["kept"] for e in machine.log.entries("prod") if e.kind == "move_unthrottled"]
    assert sorted(map(bool, kept)) == [False, own != before]


@pytest.mark.parametrize("then", ["apply", "cancel"])
@pytest.mark.parametrize("error", [Kill(), RequestRefused("b1 disconnected")])
def test_a_throttle_that_was_not_replaced_is_restored(
    machine: Machine, error: BaseException, then: str
) -> None:
    """The trail has the new value, and the broker the first one."""
    one = plan({1: ("t-0",)})
    machine.kafka.stuck = True
    with pytest.raises(MoveError, match="interrupted"):
        machine.apply(one, polls_max=1)
    real = machine.kafka.set_throttle

    def set_throttle(broker: int, value: str | None) -> None:
        if value == "60":
            raise error
        real(broker, value)

    machine.kafka.set_throttle = set_throttle  # type: ignore[method-assign]
    with pytest.raises((Kill, MoveError)):
        machine.apply(replace(one, throttles={1: 60}), polls_max=1)
    assert machine.kafka.own[1] == OURS
    machine.kafka.stuck = False
    getattr(machine, then)(one)
    machine.require_clean()


def test_without_a_throttle_none_is_read_or_set(machine: Machine) -> None:
    """KIP-113, "Broker Config": the rate is unlimited by default."""
    machine.kafka.throttle = None  # type: ignore[method-assign,assignment]
    machine.apply(plan(NAMES, throttled=False))
    assert set(machine.kafka.places.values()) == {D1}
    assert "move_throttled" not in machine.kinds


@pytest.mark.parametrize(
    "error",
    [
        "KAFKA_STORAGE_ERROR (56)",
        "LOG_DIR_NOT_FOUND (57)",
        "REPLICA_NOT_AVAILABLE (9)",
        "UNKNOWN_TOPIC_OR_PARTITION (3)",
    ],
)
def test_a_refusal_names_what_is_done_and_what_is_left(machine: Machine, error: str) -> None:
    """KIP-113, "Create AlterReplicaDirResponse": an error of each partition."""
    machine.kafka.refuses[at("t-1")] = error
    with pytest.raises(MoveError) as caught:
        machine.apply(at_once=2)
    text = str(caught.value)
    assert text.startswith("prod: 2 of 4 replicas are in their target.")
    assert f"t-1 on broker 1: {error}" in text
    assert "t-2 on broker 1: not moving" in text
    assert "kraftgate move apply plan.json" in text
    machine.require_clean()
    machine.kafka.refuses.clear()
    machine.apply()
    assert set(machine.kafka.places.values()) == {D1}


def test_a_reason_of_several_replicas_is_printed_once(machine: Machine) -> None:
    machine.kafka.refuses = dict.fromkeys(map(at, NAMES[1]), "ALTER on CLUSTER is needed")
    with pytest.raises(MoveError) as caught:
        machine.apply(at_once=2)
    assert str(caught.value).startswith(
        "prod: 0 of 4 replicas are in their target. t-0 on broker 1, t-1 on broker 1, t-0 on broker"
        " 2: ALTER on CLUSTER is needed; t-2 on broker 1: not moving. To resume: "
    )
    (ended,) = (e.body for e in machine.log.entries("prod") if e.kind == "move_ended")
    assert ended["left"] == 4


def test_no_more_replicas_of_a_reason_are_named(machine: Machine) -> None:
    names = {1: [f"t-{number}" for number in range(30)]}
    machine.kafka = Kafka(names)
    machine.kafka.refuses[at("t-0")] = "ALTER on CLUSTER is needed"
    with pytest.raises(MoveError, match=r"t-20 on broker 1 and 9 more: not moving\. To resume"):
        machine.apply(plan(names), at_once=1)


PLAN_AGAIN = (
    "t-2 on broker 1: it is in no online directory of broker 1; if a topic was deleted or a"
    " partition was reassigned, plan again (kraftgate move plan)."
)


def test_a_replica_that_the_broker_no_longer_has_needs_another_plan(machine: Machine) -> None:
    """`move apply` refuses the plan then, so nothing can be resumed."""
    real = machine.kafka._go_on

    def delete() -> None:
        machine.kafka.copies.pop((1, at("t-2")), None)
        machine.kafka.places.pop((1, at("t-2")), None)
        real()

    machine.kafka._go_on = delete  # type: ignore[method-assign]
    with pytest.raises(MoveError) as caught:
        machine.apply(at_once=1)
    assert "t-1 on broker 1: not moving" in str(caught.value)
    assert f"{PLAN_AGAIN} To resume: kraftgate move apply" in str(caught.value)
    machine.apply(plan({1: ("t-1",)}))
    with pytest.raises(MoveError) as caught:
        machine.apply()
    assert str(caught.value) == f"prod: 3 of 4 replicas are in their target. {PLAN_AGAIN}"
    machine.require_clean()


def test_of_a_plan_without_replicas_only_the_throttle_can_be_restored(machine: Machine) -> None:
    machine.kafka.stuck = True
    with pytest.raises(MoveError, match="interrupted"):
        machine.apply(plan({1: ("t-0",)}), polls_max=1)
    del machine.kafka.places[1, at("t-2")]
    with pytest.raises(MoveError) as caught:
        machine.apply(plan({1: ("t-2",)}))
    assert f"{PLAN_AGAIN} To restore the throttle, " in str(caught.value)


def uncleaned(broker: int, replicas: str) -> str:
    return (
        f"prod: broker {broker}: the copy of {replicas} was dropped: Kafka deletes and compacts"
        " nothing in the original until the broker restarts (KAFKA-16114, KAFKA-19458). Restart it"
        f" once this exits with 0: kraftgate hazards --before restart --broker {broker}"
    )


def test_a_cancellation_names_the_replicas_that_kafka_no_longer_cleans(machine: Machine) -> None:
    """ReplicaManager.alterReplicaLogDirs pauses the cleaner; only the end of a move resumes it."""
    machine.kafka.stuck = True
    with pytest.raises(MoveError, match="interrupted"):
        machine.apply(polls_max=1)
    assert not machine.warned, "these moves go on"
    machine.kafka.refuses[at("t-1")] = "ALTER on CLUSTER is needed"
    with pytest.raises(MoveError):
        machine.cancel()
    assert machine.warned == [uncleaned(1, "1 replica"), uncleaned(2, "1 replica")]
    machine.kafka.refuses.clear()
    machine.warned.clear()
    machine.cancel()
    assert machine.warned == [uncleaned(1, "1 replica")]


def test_a_cancellation_whose_answer_is_lost_counts(machine: Machine) -> None:
    machine.kafka.stuck = True
    with pytest.raises(MoveError, match="interrupted"):
        machine.apply(polls_max=1)
    real = machine.kafka.alter

    def alter(
        broker: int, targets: Mapping[TopicPartition, str]
    ) -> Maybe[Mapping[TopicPartition, str]]:
        real(broker, targets)
        return Unknown("b1 timed out")

    machine.kafka.alter = alter  # type: ignore[method-assign]
    machine.cancel()
    assert machine.warned == [uncleaned(1, "2 replicas"), uncleaned(2, "1 replica")]


def test_a_destination_that_fails_ends_the_run(machine: Machine) -> None:
    """KIP-113, "Complete replica data movement": the broker drops the future replica."""

    def fail() -> None:
        if machine.kafka.copies:
            machine.kafka.copies.clear()
            machine.kafka.offline = {D1}

    machine.kafka._go_on = fail  # type: ignore[method-assign]
    with pytest.raises(MoveError, match="t-0 on broker 2: it does not move: /d1 is not online"):
        machine.apply()
    assert machine.warned == [uncleaned(1, "2 replicas"), uncleaned(2, "1 replica")]
    machine.require_clean()
    with pytest.raises(MoveError, match="A copy in it resumes when the broker starts"):
        machine.cancel()


def test_a_source_that_fails_ends_the_run(machine: Machine) -> None:
    """KIP-113, "Complete replica data movement": the copy cannot be completed."""

    def fail() -> None:
        if machine.kafka.copies:
            machine.kafka.offline = {D0}

    machine.kafka._go_on = fail  # type: ignore[method-assign]
    with pytest.raises(MoveError, match="not online: /d0") as caught:
        machine.apply()
    assert not machine.warned, "no original is left that could be cleaned"
    assert "if a topic was deleted" not in str(caught.value)
    assert machine.kafka.own == {1: BEFORE, 2: None}
    with pytest.raises(MoveError, match="without a move"):
        machine.cancel()


def test_a_broker_that_restarts_is_awaited(machine: Machine) -> None:
    """KIP-113, "Handle failure that happens ...": the broker finds the future replica again."""
    real, polls = machine.kafka._go_on, 0

    def restarts() -> None:
        nonlocal polls
        polls += 1
        machine.kafka.dead = {1} if 3 <= polls <= 9 else set()
        real()

    machine.kafka._go_on = restarts  # type: ignore[method-assign]
    machine.apply()
    bytes_ = [each.bytes for each in machine.shown]
    assert bytes_ == sorted(bytes_), "what was measured last counts while it is silent"
    assert {(each.count, each.bytes_total) for each in machine.shown} == {(4, 4 * SIZE)}
    assert set(machine.kafka.places.values()) == {D1}
    machine.require_clean()


@pytest.mark.parametrize(
    ("lag", "why"),
    [
        (7, "7 messages behind"),
        (0, "caught up, not promoted: in KRaft mode a controller confirms the target first"),
        (None, "its current replica is not online"),
    ],
)
def test_a_copy_that_does_not_go_on_is_named_after_a_minute(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, lag: int | None, why: str
) -> None:
    """The run goes on: a fetcher, or a quorum, may recover."""
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: 20.0 * machine.polls))
    machine.kafka.stuck = True
    machine.kafka.lag = lag
    with pytest.raises(MoveError, match="interrupted"):
        machine.apply(plan({1: ("t-0",), 2: ("t-0",)}, throttled=False), polls_max=4)
    assert machine.stalled[:-1] == [()] * (len(machine.stalled) - 1)
    assert machine.stalled[-1] == tuple(
        f"broker {id_} makes no progress for 1m00s: t-0 ({why}): see kraftgate hazards; to end:"
        " kraftgate move cancel plan.json"
        for id_ in (1, 2)
    )


def test_replicas_that_wait_for_another_copy_are_no_stall(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker copies one replica after the other."""
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: 50.0 * machine.polls))
    real = machine.kafka._go_on

    def one_after_the_other() -> None:
        waiting = dict(list(machine.kafka.copies.items())[1:])
        for key in waiting:
            del machine.kafka.copies[key]
        machine.kafka.lag = (machine.kafka.lag or 0) + 1
        real()
        machine.kafka.copies |= waiting

    machine.kafka._go_on = one_after_the_other  # type: ignore[method-assign]
    machine.apply(plan({1: NAMES[1]}, throttled=False), at_once=3)
    assert len(machine.shown) > 3
    assert set(machine.stalled) == {()}


def test_a_broker_that_never_answers_ends_the_run_with_4(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SILENT_S_MAX", -1.0)
    with (
        dies_at_poll(machine.kafka, 3),
        pytest.raises(NoDataError, match="b1 refused") as caught,
    ):
        machine.apply()
    assert "broker 1 keeps the throttle: it does not answer" in str(caught.value)
    machine.apply()
    machine.require_clean()


def test_a_request_that_does_not_arrive_is_repeated_a_few_times(machine: Machine) -> None:
    machine.kafka.alter = lambda *_: Unknown("b1 timed out")  # type: ignore[method-assign]
    with pytest.raises(MoveError, match="t-0 on broker 2: b1 timed out"):
        machine.apply()
    machine.require_clean()


def test_a_hazard_in_the_middle_ends_the_run_with_5(machine: Machine) -> None:
    def allowed(*_: object) -> None:
        if machine.kafka.sent:
            raise HazardError("prod: broker 1 is held")

    with pytest.raises(HazardError, match="2 of 4 replicas are in their target") as caught:
        machine.apply(at_once=1, allowed=allowed)
    assert "broker 1 is held" in str(caught.value)
    machine.require_clean()


def test_an_interrupted_run_leaves_the_moves_and_their_throttle(machine: Machine) -> None:
    machine.kafka.stuck = True
    with pytest.raises(MoveError, match="interrupted") as caught:
        machine.apply(polls_max=1)
    assert "broker 1 keeps the throttle" in str(caught.value)
    assert machine.kafka.own == {1: OURS, 2: OURS}
    machine.cancel()
    machine.require_clean()
    assert set(machine.kafka.places.values()) == {D0}


@pytest.mark.parametrize("is_dead", [False, True])
def test_a_run_that_is_interrupted_right_after_a_request_reports_what_moves(
    machine: Machine, *, is_dead: bool
) -> None:
    """The poll before the request found the replica at rest."""
    machine.kafka.stuck = True
    if is_dead:
        die_after_a_request(machine.kafka)
    with pytest.raises(MoveError, match="interrupted") as caught:
        machine.apply(plan({1: ("t-0", "t-1")}), at_once=1, polls_max=0)
    (ended,) = (e.body for e in machine.log.entries("prod") if e.kind == "move_ended")
    for text in (str(caught.value), str(ended["why"])):
        if is_dead:
            assert "t-0 on broker 1, t-1 on broker 1: b1 refused" in text
        else:
            assert "t-0 on broker 1: moving" in text
            assert "t-1 on broker 1: not moving" in text


def test_a_broker_that_is_down_when_the_run_is_interrupted_does_not_move(
    machine: Machine,
) -> None:
    one = plan({1: ("t-0",)})
    machine.kafka.stuck = True
    with pytest.raises(MoveError, match="interrupted"):
        machine.apply(one, polls_max=1)
    with (
        dies_at_poll(machine.kafka, 3),
        pytest.raises(MoveError, match="broker 1 keeps the throttle: it does not answer; t-0"),
    ):
        machine.apply(one, polls_max=0)


def test_a_replica_that_arrived_stays_done_if_the_last_poll_fails(machine: Machine) -> None:
    one = plan({1: ("t-0", "t-1")})
    machine.apply(plan({1: ("t-0",)}))
    machine.kafka.stuck = True
    die_after_a_request(machine.kafka)
    with pytest.raises(MoveError, match=r"1 of 2 .* t-1 on broker 1: b1 refused"):
        machine.apply(one, polls_max=0)


@pytest.mark.parametrize("checks", range(4))
@pytest.mark.parametrize("command", ["apply", "cancel"])
def test_a_run_that_loses_its_lock_says_what_it_leaves(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, command: str, checks: int
) -> None:
    """At each check: without the lock nothing may be restored."""
    machine.kafka.stuck = command == "cancel"
    if machine.kafka.stuck:
        with pytest.raises(MoveError, match="interrupted"):
            machine.apply(polls_max=1)
    left = [Held(token=1, until_s=0.0)] * checks
    gone = NotHeld(why="it is gone")
    monkeypatch.setattr(ClusterLock, "check", lambda *_, **__: left.pop() if left else gone)
    with pytest.raises(LockError, match="prod: the lock was lost: it is gone") as caught:
        getattr(machine, command)()
    assert f"To resume: kraftgate move {command} plan.json" in str(caught.value)
    for id_, own in machine.kafka.own.items():
        assert (own == OURS) <= (f"broker {id_} keeps the throttle" in str(caught.value))


def test_a_lost_lock_names_the_throttle_of_a_broker_outside_the_plan(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.kafka.stuck = True
    with pytest.raises(MoveError, match="interrupted"):
        machine.apply(plan({1: ("t-0",)}), polls_max=1)
    monkeypatch.setattr(ClusterLock, "check", lambda *_, **__: NotHeld(why="it is gone"))
    with pytest.raises(LockError, match="broker 1 keeps the throttle"):
        machine.apply(plan({2: ("t-0",)}))


def test_a_cancellation_leaves_another_clients_move(machine: Machine) -> None:
    """KIP-113, "Initiate replica movement ...": "any" cancels; shipped: the current directory."""
    machine.kafka.stuck = True
    machine.kafka.copies[1, at("t-0")] = (D2, 1)
    with pytest.raises(MoveError, match="moving elsewhere"):
        machine.cancel()
    assert machine.kafka.copies[1, at("t-0")] == (D2, 1)


@pytest.mark.parametrize("arrivals", [1, 2])
def test_a_replica_that_arrives_before_its_cancellation_is_not_moved_back(
    machine: Machine, arrivals: int
) -> None:
    """KIP-113, "Initiate replica movement ...": it asks for a move to its earlier directory."""
    one = plan({1: ("t-0",)})
    machine.kafka.stuck = True
    with pytest.raises(MoveError, match="interrupted"):
        machine.apply(one, polls_max=1)
    real, requests = machine.kafka.alter, 0

    def alter(
        broker: int, targets: Mapping[TopicPartition, str]
    ) -> Maybe[Mapping[TopicPartition, str]]:
        nonlocal requests
        requests += 1
        if requests <= arrivals:
            _arrive(machine.kafka, 1)
        return real(broker, targets)

    machine.kafka.alter = alter  # type: ignore[method-assign]
    machine.cancel(one)
    assert requests == arrivals + 1
    assert machine.warned == [uncleaned(1, "1 replica")], "also if it is in its target"
    assert machine.kafka.unthrottled == []
    machine.require_clean()


def test_a_cancellation_assigns_where_a_replica_is_right_before_its_request(
    machine: Machine,
) -> None:
    """A replica that arrived during the request to another broker stays in its target."""
    one = plan({1: ("t-0",), 2: ("t-0",)})
    machine.kafka.stuck = True
    with pytest.raises(MoveError, match="interrupted"):
        machine.apply(one, polls_max=1)
    machine.kafka.sent.clear()
    real = machine.kafka.alter

    def alter(
        broker: int, targets: Mapping[TopicPartition, str]
    ) -> Maybe[Mapping[TopicPartition, str]]:
        _arrive(machine.kafka, 2)
        return real(broker, targets)

    machine.kafka.alter = alter  # type: ignore[method-assign]
    machine.cancel(one)
    assert machine.kafka.sent == [(1, "t-0", D0)]
    machine.require_clean()


def test_a_cancellation_that_does_not_arrive_is_repeated_a_few_times(machine: Machine) -> None:
    machine.kafka.stuck = True
    machine.kafka.copies[1, at("t-0")] = (D1, 1)
    machine.kafka.alter = lambda *_: Unknown("b1 timed out")  # type: ignore[method-assign]
    with pytest.raises(MoveError, match="t-0 on broker 1: b1 timed out"):
        machine.cancel()
    assert machine.kinds.count("move_sent") == STRIKES_MAX


def test_a_cancellation_that_is_refused_says_so(machine: Machine) -> None:
    machine.kafka.stuck = True
    machine.kafka.copies[1, at("t-0")] = (D1, 1)
    machine.kafka.refuses[at("t-0")] = "ALTER on CLUSTER is needed"
    with pytest.raises(MoveError, match="t-0 on broker 1: ALTER on CLUSTER is needed"):
        machine.cancel()


def test_a_move_that_arrives_after_a_refused_cancellation_dropped_no_copy(
    machine: Machine,
) -> None:
    machine.kafka.stuck = True
    machine.kafka.copies[1, at("t-0")] = (D1, 1)
    real = machine.kafka.alter

    def alter(
        broker: int, targets: Mapping[TopicPartition, str]
    ) -> Maybe[Mapping[TopicPartition, str]]:
        machine.kafka.refuses[at("t-0")] = "ALTER on CLUSTER is needed"
        answer = real(broker, targets)
        machine.kafka.stuck = False
        return answer

    machine.kafka.alter = alter  # type: ignore[method-assign]
    with suppress(MoveError):
        machine.cancel()
    assert machine.warned == []


def test_a_cancellation_of_a_silent_broker_ends_with_4(machine: Machine) -> None:
    machine.kafka.dead = {1}
    with pytest.raises(NoDataError, match="b1 refused"):
        machine.cancel()


def test_a_broker_that_was_down_from_the_start_is_silent() -> None:
    """`move cancel` asks the brokers of the plan, also one that no other broker names alive."""
    (down,) = with_absent([], {3})
    requests = Requests({3: down}, Security(key="brokers.security"))
    assert requests.log_dirs({3})[3].log_dirs == ABSENT


def test_throttles_are_set_through_the_brokers_of_the_polled_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An address in `brokers.bootstrap` may be of another cluster, with the same broker ids."""
    throttles = Mock()
    monkeypatch.setattr(module, "Throttles", throttles)
    (down,) = with_absent([], {3})
    Requests({1: Broker(id=1, endpoint="b1:9092"), 3: down}, Security()).throttle(1)
    throttles.assert_called_once_with((Endpoint("b1", 9092),), Security())


@pytest.mark.parametrize("error", [NotAuthorized, RequestRefused])
def test_a_refused_throttle_sends_and_leaves_nothing(
    machine: Machine, error: type[LiveError]
) -> None:
    """Later runs without ALTER_CONFIGS neither restore nor set what was never set."""

    def denied(*_: object) -> None:
        raise error("broker 1 does not change it: ALTER_CONFIGS on CLUSTER is needed")

    machine.kafka.set_throttle = denied  # type: ignore[method-assign,assignment]
    with pytest.raises(MoveError, match="ALTER_CONFIGS on CLUSTER is needed") as caught:
        machine.apply()
    assert "is not restored" not in str(caught.value)
    assert not machine.kafka.sent
    machine.require_clean()
    machine.cancel()
    machine.apply(replace(ALL, throttles={}))
    machine.require_clean()


@pytest.mark.parametrize("error", [ConnectionFailed, RequestRefused])
@pytest.mark.parametrize("own", [BEFORE, OURS])
def test_a_throttle_that_may_be_set_is_restored(
    machine: Machine, error: type[LiveError], own: str
) -> None:
    """A broker that does not answer may have set it; one that refuses has not if it reads so."""
    real, asked = machine.kafka.set_throttle, 0

    def set_throttle(broker: int, value: str | None) -> None:
        nonlocal asked
        asked += 1
        real(broker, value if asked > 1 else own)
        if asked == 1:
            raise error("b1 disconnected")

    machine.kafka.set_throttle = set_throttle  # type: ignore[method-assign]
    with pytest.raises(MoveError, match="b1 disconnected"):
        machine.apply()
    assert asked == (1 if (error, own) == (RequestRefused, BEFORE) else 2)
    machine.require_clean()


FULL = "audit.db: database or disk is full"
END = f"the end of the run is not recorded: {FULL}; t-0 on broker 1"


@pytest.mark.parametrize(
    ("since", "text"),
    [
        pytest.param(
            "move_sent",
            f"0 of 2 replicas are in their target. {FULL}; the restored throttle of broker 1 is not"
            f" recorded: {FULL}; the restored throttle of broker 2 is not recorded: {FULL}; {END},"
            " t-0 on broker 2: not moving.",
            id="request",
        ),
        pytest.param(
            "move_unthrottled",
            "1 of 2 replicas are in their target. interrupted; the restored throttle of broker 2 is"
            f" not recorded: {FULL}; broker 1 keeps the throttle: it moves replicas; {END}:"
            " moving.",
            id="end",
        ),
    ],
)
def test_a_full_state_directory_hides_nothing_that_is_left(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, since: str, text: str
) -> None:
    real, kinds = AuditLog.append, set[str]()

    def append(log: AuditLog, cluster: str, kind: str, *args: Any, **named: Any) -> None:
        kinds.add(kind)
        if since in kinds:
            raise AuditError(FULL)
        real(log, cluster, kind, *args, **named)

    one = plan({1: ("t-0",), 2: ("t-0",)})
    machine.kafka._go_on = lambda: _arrive(machine.kafka, 2)  # type: ignore[method-assign]
    monkeypatch.setattr(AuditLog, "append", append)
    with pytest.raises(MoveError) as caught:
        machine.apply(one, polls_max=1)
    monkeypatch.undo()
    assert str(caught.value).startswith(f"prod: {text} To resume: kraftgate move apply plan.json")
    machine.cancel(one)
    machine.require_clean()


def test_one_orchestrator_at_a_time(machine: Machine) -> None:
    with (
        machine.run(),
        pytest.raises(LockHeld, match="until the moves have ended, run one without `runbook`"),
    ):
        machine.apply()
