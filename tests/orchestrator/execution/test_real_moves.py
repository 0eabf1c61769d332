"""Moves of a real broker with ACLs, over SASL_SSL: the rights that they need, and its refusals.

KIP-113, "Create AlterReplicaDirResponse": the errors. "Handle failure that happens ...": a log
directory that fails during a move, here because it fills up; it is too small for what is moved
there.
"""

import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

from migration.moves.plan_file import Wanted
from migration.moves.planner import obstacles, requested
from migration.observed.probed import Broker, LogDir, Maybe, TopicPartition, Unknown
from orchestrator.audit import AuditLog
from orchestrator.audit.move_entries import left_throttled
from orchestrator.errors import MoveError
from orchestrator.execution.moves import MoveRun, Plan, Requests, orchestrating
from orchestrator.lab import Lab, LabSpec
from streams.net.endpoint import Endpoint
from streams.net.security import Security
from streams.probe.brokers import ask_brokers, broker_log_dirs
from tests.streams.zookeeper.certificates import Authority
from tests.support.granting import AUTHORIZED, grant
from tests.support.lab_steps import watermarks
from tests.support.polling import until
from tests.support.secured_listener import of_broker
from tests.support.small_volume import mounted, mounted_if_permitted

pytestmark = [pytest.mark.lab, pytest.mark.long(minutes=0.75)]

USERS: Final = {
    "all": ("ALTER", "ALTER_CONFIGS", "DESCRIBE", "DESCRIBE_CONFIGS"),
    "without-alter": ("ALTER_CONFIGS", "DESCRIBE", "DESCRIBE_CONFIGS"),
    "without-alter-configs": ("ALTER", "DESCRIBE", "DESCRIBE_CONFIGS"),
    "without-configs": ("ALTER", "DESCRIBE"),
    "without-describe": ("ALTER_CONFIGS", "DESCRIBE_CONFIGS"),
}
"""Their rights on CLUSTER; `all` has those of `move apply` in the handbook.

ALTER includes DESCRIBE, and ALTER_CONFIGS DESCRIBE_CONFIGS (StandardAuthorizerData).
"""
FIRST: Final = TopicPartition("spread", 0)
BIG: Final = TopicPartition("big", 0)
VOLUME_MB: Final = 24
RECORDS: Final = 4000
RECORD_BYTES: Final = 10_000


@dataclass
class Secured:
    """A lab whose broker has a listener for users with passwords.

    not_small: why its second directory is not on a small volume; None: it is.
    """

    lab: Lab
    endpoint: Endpoint
    folder: Path
    not_small: str | None

    def security(self, user: str) -> Security:
        (file := self.folder / user).write_text(user)
        file.chmod(0o600)
        return Security(
            protocol="SASL_SSL",
            sasl_mechanism="PLAIN",
            username=user,
            password_file=file,
            ca_file=self.folder / "ca.pem",
            key="brokers.security",
        )

    @property
    def broker(self) -> Broker:
        return Broker(id=1, endpoint=str(self.endpoint), release=(3, 9))

    def requests(self, user: str) -> Requests:
        return Requests({1: self.broker}, self.security(user))

    def log_dirs(self, user: str) -> Maybe[tuple[LogDir, ...]]:
        return broker_log_dirs(self.broker, self.security(user))

    def place(self, at: TopicPartition) -> str:
        """Return the directory of a replica."""
        found = self.log_dirs("all")
        assert not isinstance(found, Unknown)
        (path,) = (each.path for each in found if at in each.replicas)
        return path

    def other(self, at: TopicPartition) -> str:
        """Return the directory that does not have a replica."""
        paths = {str(self.lab.directory(1, 0)), str(self.lab.directory(1, 1))}
        (path,) = paths - {self.place(at)}
        return path


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secured")
    certificate = Authority(folder).issue("broker-1")
    properties = dict(AUTHORIZED)
    spec = LabSpec(
        brokers=1,
        directories=2,
        broker_properties=properties,
        controller_properties=AUTHORIZED,
    )
    with (
        Lab(spec) as lab,
        mounted_if_permitted(lab.directory(1, 1), VOLUME_MB) as not_small,
    ):
        endpoint, secured_properties = of_broker(lab, {each: each for each in USERS}, certificate)
        properties |= secured_properties
        lab.start_kraft()
        lab.create_topic("spread", 4, 1)
        for user, rights in USERS.items():
            grant(lab.broker_bootstrap, user, rights)
        made = Secured(lab, endpoint, folder, not_small)
        # A broker on a busy machine takes longer for its first TLS connection than a request may.
        until(lambda: not isinstance(made.log_dirs("all"), Unknown))
        yield made


@dataclass
class Machine:
    """A state directory."""

    folder: Path
    log: AuditLog

    @contextmanager
    def run(self, at: TopicPartition, target: str, requests: Requests) -> Iterator[MoveRun]:
        config: Any = SimpleNamespace(state_dir=self.folder, option=(), many=False)
        entry: Any = SimpleNamespace(name="lab", zookeeper=None)
        plan = Plan(
            file=Path("plan.json"),
            sha256="0" * 64,
            targets={1: {at: target}},
            throttles={1: 10**9},
        )
        with orchestrating(config, entry, self.log) as held:
            yield MoveRun(plan, held, requests, threading.Event().wait, print)

    def apply(self, secured: Secured, user: str, target: str) -> None:
        with self.run(FIRST, target, secured.requests(user)) as run:
            run.apply(1, lambda *_: None, lambda *_: None)

    @property
    def kinds(self) -> list[str]:
        return [each.kind for each in self.log.entries("lab")]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with closing(AuditLog.open(tmp_path / "audit.db")) as log:
        yield Machine(tmp_path, log)


def test_the_rights_of_the_table_are_enough(secured: Secured, machine: Machine) -> None:
    target = secured.other(FIRST)
    machine.apply(secured, "all", target)
    assert secured.place(FIRST) == target
    assert not left_throttled(machine.log.entries("lab"))
    assert secured.requests("all").throttle(1).own is None


@pytest.mark.parametrize(
    ("user", "said", "is_sent"),
    [
        ("without-alter", "spread-0 on broker 1: ALTER on CLUSTER is needed", True),
        ("without-alter-configs", "ALTER_CONFIGS on CLUSTER is needed", False),
        ("without-configs", "DESCRIBE_CONFIGS on CLUSTER is needed", False),
    ],
)
def test_a_missing_right_is_named(
    secured: Secured, machine: Machine, user: str, said: str, is_sent: bool
) -> None:
    place = secured.place(FIRST)
    with pytest.raises(MoveError) as caught:
        machine.apply(secured, user, secured.other(FIRST))
    assert said in str(caught.value)
    assert "0 of 1 replicas are in their target" in str(caught.value)
    assert ("move_sent" in machine.kinds) is is_sent
    assert not left_throttled(machine.log.entries("lab"))
    assert secured.place(FIRST) == place


def test_without_describe_no_directory_is_known(secured: Secured) -> None:
    found = secured.log_dirs("without-describe")
    assert isinstance(found, Unknown)
    assert found.why.endswith(": DescribeLogDirs needs DESCRIBE on CLUSTER")


def test_refusals_have_kafkas_names(secured: Secured) -> None:
    """The topic is deleted since the plan was made; of a directory that fails: test_moves."""
    gone = TopicPartition("gone", 0)
    first, path = (str(secured.lab.directory(1, index)) for index in (0, 1))
    every = [TopicPartition("spread", number) for number in range(4)]
    one = next(each for each in every if secured.place(each) == first)
    assert secured.requests("all").alter(1, {gone: path, one: path + "-not"}) == {
        gone: "UNKNOWN_TOPIC_OR_PARTITION (3)",
        one: "LOG_DIR_NOT_FOUND (57)",
    }


@dataclass
class Small:
    """A lab whose broker has its second directory on a small volume."""

    lab: Lab

    @property
    def broker(self) -> Broker:
        found: list[Broker] = []

        def is_named() -> bool:
            # One that has just started names no broker, not even itself.
            found[:] = ask_brokers(
                Endpoint.parse_list(self.lab.broker_bootstrap), Security()
            ).brokers
            return bool(found) and not isinstance(found[0].log_dirs, Unknown)

        until(is_named)
        (broker,) = found
        return broker

    @property
    def requests(self) -> Requests:
        return Requests({1: self.broker}, Security())

    def place(self, at: TopicPartition) -> str:
        """Return the only directory with the replica; there is no copy of it."""
        log_dirs = self.broker.log_dirs
        assert not isinstance(log_dirs, Unknown)
        assert not any(each.futures for each in log_dirs)
        (path,) = (each.path for each in log_dirs if at in each.replicas)
        return path

    def is_in(self, path: str) -> bool:
        """Return whether the replica is in a directory; a copy is not."""
        log_dirs = self.broker.log_dirs
        if isinstance(log_dirs, Unknown):
            return False
        return any(each.path == path and BIG in each.replicas for each in log_dirs)


@pytest.fixture(params=["kraft", "zookeeper"])
def small(request: pytest.FixtureRequest) -> Iterator[Small]:
    with ExitStack() as stack:
        if request.param == "kraft":
            secured = request.getfixturevalue("secured")
            if secured.not_small is not None:
                pytest.skip(secured.not_small)
            lab = secured.lab
            stack.callback(_serves_again, secured)
        else:
            lab = stack.enter_context(Lab(LabSpec(brokers=1, directories=2)))
            stack.enter_context(mounted(lab.directory(1, 1), VOLUME_MB))
            lab.start_zookeeper()
            lab.start_brokers()
        lab.create_topic(BIG.topic, 1, 1)
        small = Small(lab)
        both = [str(lab.directory(1, index)) for index in (0, 1)]
        until(lambda: any(map(small.is_in, both)), "the broker creates the log")
        yield small


def _serves_again(secured: Secured) -> None:
    """The other tests have the same broker, which was restarted."""
    if not secured.lab.is_alive("broker-1"):
        secured.lab.start(1)
    until(lambda: not isinstance(secured.log_dirs("all"), Unknown))


def test_a_destination_that_is_full(small: Small, machine: Machine) -> None:
    source, target = str(small.lab.directory(1, 0)), str(small.lab.directory(1, 1))
    if small.place(BIG) == target:
        small.lab.move_replicas(1, {(BIG.topic, BIG.number): 0})
        until(lambda: small.is_in(source))
    small.lab.produce(BIG.topic, BIG.number, RECORDS, size_bytes=RECORD_BYTES)
    wanted = Wanted(1, BIG, (1,), (target,))
    moves, unknown = requested([wanted], {1: small.broker})
    assert unknown == ()
    (obstacle,) = obstacles(moves, {1: small.broker})
    assert f"{target} would be" in obstacle
    assert "bytes too small" in obstacle
    # It had the room when the move was planned.
    with (
        machine.run(BIG, target, small.requests) as run,
        pytest.raises(MoveError) as caught,
    ):
        run.apply(1, lambda *_: None, lambda *_: None)
    assert "0 of 1 replicas are in their target" in str(caught.value)
    assert f"it does not move: {target} is not online" in str(caught.value)
    assert small.place(BIG) == source
    with (
        machine.run(BIG, target, small.requests) as run,
        pytest.raises(MoveError, match="A copy in it resumes"),
    ):
        run.cancel()
    small.lab.produce(BIG.topic, BIG.number, 1)
    assert watermarks(small.lab, BIG.topic, BIG.number) == (0, RECORDS + 1)
    small.lab.stop(1)
    subprocess.run(["mount", "-o", "remount,size=200m", target], check=True)
    small.lab.start(1)
    until(lambda: small.is_in(target), "the copy resumes")
    assert watermarks(small.lab, BIG.topic, BIG.number) == (0, RECORDS + 1)
