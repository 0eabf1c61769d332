"""Both locks of a cluster together: a lock that another orchestrator held in between was lost."""

import math
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

from migration.image.summary import Phase
from orchestrator.audit import AuditLog
from orchestrator.audit.execution import entries
from orchestrator.audit.opening import open_verified
from orchestrator.config.load import parse_config
from orchestrator.errors import LockError, LockHeld
from orchestrator.execution.commands import Commands
from orchestrator.execution.conductor import Conductor
from orchestrator.execution.locks import cluster_lock
from orchestrator.execution.locks.cluster_lock import ClusterLock
from orchestrator.execution.locks.store_lock import Held, NotHeld, StoreLock
from orchestrator.execution.locks.zookeeper_lock import ZooKeeperLock
from orchestrator.execution.moves import Orchestrating
from orchestrator.process.owner import Owner
from streams.zookeeper import calls
from streams.zookeeper.ensemble import Ensemble
from tests.orchestrator.execution.test_executor import ANNA, ELSEWHERE, Night, at_finalize
from tests.scenes.night import cluster, kraft
from tests.support.dropping import dropping
from tests.support.fake_store import FakeStore


class _Local(StoreLock):
    """A lock of the state directory that is always held."""

    def __init__(self) -> None: ...

    def acquire(self, wait_s: float = 0.0) -> int:  # noqa: ARG002
        return 3

    def check(self) -> Held | NotHeld:
        return Held(token=3, until_s=math.inf)


class _Shared(ZooKeeperLock):
    """A lock whose session expires on demand; tests/streams/zookeeper has the real one."""

    def __init__(self, token_again: int) -> None:
        self._tokens = [1, token_again]
        self.is_held = False

    def acquire(self, wait_s: float = 0.0, connect_s: float = 0.0) -> int:  # noqa: ARG002
        self.is_held = True
        return self._tokens.pop(0)

    def check(self) -> Held | NotHeld:
        return Held(token=1, until_s=math.inf) if self.is_held else NotHeld(why="it expired")

    def begin(self, step: object) -> Held | NotHeld:  # noqa: ARG002
        return self.check()


def _lost(token_again: int) -> ClusterLock:
    """Return a lock that was lost; it can be taken again with this token."""
    shared = _Shared(token_again)
    lock = ClusterLock(_Local(), shared)
    lock.acquire()
    shared.is_held = False
    return lock


def test_a_step_begins_only_on_what_was_decided_while_the_lock_was_held() -> None:
    lock = _lost(2)
    assert lock.begin(ELSEWHERE, has_zookeeper=True) == NotHeld(
        why="it expired; another orchestrator held it meanwhile"
    )
    assert isinstance(lock.begin(ELSEWHERE, has_zookeeper=True), Held)


def test_a_lock_that_nobody_else_held_is_taken_back() -> None:
    assert isinstance(_lost(1).begin(ELSEWHERE, has_zookeeper=True), Held)


@pytest.fixture
def unreachable() -> Iterator[ZooKeeperLock]:
    """A lock in a ZooKeeper whose address drops packets."""
    with dropping() as port:
        lock = ZooKeeperLock(Ensemble(connect=f"127.0.0.1:{port}"), Owner.myself(0))
        yield lock
        lock.release()


def test_the_loop_does_not_wait_for_zookeeper(unreachable: ZooKeeperLock) -> None:
    """It is the loop of all clusters; the client goes on connecting between two ticks."""
    lock = ClusterLock(_Local(), unreachable)
    clients = []
    for _ in range(2):
        found = lock.begin(ELSEWHERE, has_zookeeper=True)
        assert isinstance(found, NotHeld)
        assert "no ZooKeeper reachable" in found.why
        clients.append(unreachable._zookeeper._client)
    assert clients[0] is clients[1] is not None


def test_a_client_that_does_not_connect_is_replaced_and_its_reason_stays(
    unreachable: ZooKeeperLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ZooKeeper may reject it for ever; the trail has an entry for each other reason."""
    lock = ClusterLock(_Local(), unreachable)
    lock.begin(ELSEWHERE, has_zookeeper=True)
    before = unreachable._zookeeper._client
    assert before is not None
    before.handler.tried["z1:2181"] = "it rejects this client"
    monkeypatch.setattr(calls, "_UNCONNECTED_S_MAX", 0.0)
    found = lock.begin(ELSEWHERE, has_zookeeper=True)
    assert isinstance(found, NotHeld)
    assert "z1:2181: it rejects this client" in found.why
    assert unreachable._zookeeper._client is not before


def test_moves_end_once_another_orchestrator_had_the_lock() -> None:
    log = Mock(spec=AuditLog)
    commands = Commands(options=(), cluster="prod")
    run = Orchestrating(cluster="prod", commands=commands, log=log, fence=3, lock=_lost(2))
    with pytest.raises(LockError, match="another orchestrator held it meanwhile"):
        run.require_lock()


@pytest.mark.parametrize(
    ("phase", "is_shared"), [(Phase.DUAL_WRITE, True), (Phase.FINALIZED, False), (None, True)]
)
def test_a_finalized_migration_needs_no_zookeeper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phase: Phase | None, *, is_shared: bool
) -> None:
    """Its servers may be switched off while the execution goes on."""
    store = FakeStore()
    if phase is not None:
        store.summaries["prod"] = cluster(phase, kraft(1))
    monkeypatch.setattr(cluster_lock, "open_store", lambda _: store)
    text = "cluster: {name: prod}\nzookeeper: {connect: 'z1:2181'}\nstate_dir: state\n"
    config = parse_config(text, tmp_path / "kraftgate.yaml")
    log = Mock(spec=AuditLog)
    shared = Mock()
    monkeypatch.setattr(cluster_lock, "ZooKeeperLock", shared)
    ClusterLock.of(config, config.clusters[0], log, Owner.myself(0))
    assert shared.called is is_shared


@pytest.mark.parametrize("kind", [LockError, LockHeld])
def test_the_lock_that_cannot_be_taken_is_named_with_its_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[LockError]
) -> None:
    acquire = ClusterLock.acquire
    taken: list[ClusterLock] = []

    def only_the_first(self: ClusterLock) -> int:
        if taken:
            raise kind("no ZooKeeper reachable")
        taken.append(self)
        return acquire(self)

    monkeypatch.setattr(ClusterLock, "acquire", only_the_first)
    runbook = "runbook: {file: zk-to-kraft-jbod}"
    text = f"clusters: [{{name: east, {runbook}}}, {{name: west, {runbook}}}]\n"
    config = parse_config(text, tmp_path / "kraftgate.yaml")
    with open_verified(config) as log, pytest.raises(kind) as caught:
        Conductor(config, log, execute=False)
    assert str(caught.value).startswith("west: ")
    assert "no ZooKeeper reachable" in str(caught.value)


@pytest.mark.parametrize("phase", [Phase.FINALIZED, Phase.DUAL_WRITE])
def test_a_restart_without_the_shared_lock_does_not_end_a_step_elsewhere(
    tmp_path: Path, phase: Phase
) -> None:
    """In a finalized migration, or without hooks, ZooKeeper is not read: the step may still run."""
    night = Night(tmp_path, by_hand=True)
    at_finalize(night)
    night.outside.recorded = ELSEWHERE
    night.settle()
    night.phase, night.lock = phase, ClusterLock(_Local(), None)
    night.take_up()
    shown = night.settle()
    assert shown.commands[0] in shown.holds[0]
    assert "step_elsewhere_ended" not in night.kinds()
    night.say(entries.StepElsewhereEnded(step=ELSEWHERE, by=ANNA, reason="ps shows nothing"))
    assert "was begun by another orchestrator" not in str(night.settle().holds)
    night.log.close()
