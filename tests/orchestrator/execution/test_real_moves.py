"""Moves of a real broker with ACLs, over SASL_SSL: the rights that they need, and its refusals.

KIP-113, "Create AlterReplicaDirResponse": the errors.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

from migration.observed.probed import Broker, LogDir, Maybe, TopicPartition, Unknown
from orchestrator.audit import AuditLog
from orchestrator.audit.move_entries import left_throttled
from orchestrator.errors import MoveError
from orchestrator.execution.moves import MoveRun, Plan, Requests, orchestrating
from orchestrator.lab import Lab, LabSpec
from streams.net.endpoint import Endpoint
from streams.net.security import Security
from streams.probe.brokers import broker_log_dirs
from tests.streams.zookeeper.certificates import Authority
from tests.support.granting import AUTHORIZED, grant
from tests.support.lab_steps import wait_directory_noticed
from tests.support.polling import until
from tests.support.secured_listener import of_broker

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


@dataclass
class Secured:
    """A lab whose broker has a listener for users with passwords."""

    lab: Lab
    endpoint: Endpoint
    folder: Path

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
    with Lab(spec) as lab:
        endpoint, secured_properties = of_broker(lab, {each: each for each in USERS}, certificate)
        properties |= secured_properties
        lab.start_kraft()
        lab.create_topic("spread", 4, 1)
        for user, rights in USERS.items():
            grant(lab.broker_bootstrap, user, rights)
        made = Secured(lab, endpoint, folder)
        # A broker on a busy machine takes longer for its first TLS connection than a request may.
        until(lambda: not isinstance(made.log_dirs("all"), Unknown))
        yield made


FIRST: Final = TopicPartition("spread", 0)


@dataclass
class Machine:
    """A state directory."""

    folder: Path
    log: AuditLog

    def apply(self, secured: Secured, user: str, target: str, throttle: int = 10**9) -> None:
        config: Any = SimpleNamespace(state_dir=self.folder, option=(), many=False)
        entry: Any = SimpleNamespace(name="lab", zookeeper=None)
        plan = Plan(
            file=Path("plan.json"),
            sha256="0" * 64,
            targets={1: {FIRST: target}},
            throttles={1: throttle},
        )
        with orchestrating(config, entry, self.log) as held:
            run = MoveRun(plan, held, secured.requests(user), lambda _: False, print)
            run.apply(1, lambda *_: None, lambda *_: None)

    @property
    def kinds(self) -> list[str]:
        return [each.kind for each in self.log.entries("lab")]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    log = AuditLog.open(tmp_path / "audit.db")
    yield Machine(tmp_path, log)
    log.close()


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
    """The topic is deleted, or the directory gone, since the plan was made."""

    def refused(targets: Mapping[TopicPartition, str]) -> Mapping[TopicPartition, str]:
        found = secured.requests("all").alter(1, targets)
        assert not isinstance(found, Unknown)
        return found

    lab, gone = secured.lab, TopicPartition("gone", 0)
    first, path = (str(lab.directory(1, index)) for index in (0, 1))
    every = [TopicPartition("spread", number) for number in range(4)]
    one = next(each for each in every if secured.place(each) == first)
    assert refused({gone: path, one: path + "-not"}) == {
        gone: "UNKNOWN_TOPIC_OR_PARTITION (3)",
        one: "LOG_DIR_NOT_FOUND (57)",
    }
    lab.fail_directory(1, 1)
    try:
        assert wait_directory_noticed(lab, 1, 1)
        assert refused({one: path}) == {one: "KAFKA_STORAGE_ERROR (56)"}
    finally:
        lab.heal_directory(1, 1)
        lab.restart("broker-1")
