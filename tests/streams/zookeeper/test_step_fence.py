"""A hook that outlives its orchestrator keeps every other one from acting; a real ZooKeeper."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.audit import AuditLog
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Body, Person
from orchestrator.audit.execution.running_step import Home
from orchestrator.audit.execution.state import ExecutionState, fold
from orchestrator.errors import LockHeld
from orchestrator.execution.commands import Commands
from orchestrator.execution.locks.cluster_lock import ClusterLock
from orchestrator.execution.locks.store_lock import Held, StoreLock
from orchestrator.execution.locks.zookeeper_lock import ZooKeeperLock
from orchestrator.execution.moves import orchestrating
from orchestrator.execution.step_fence import StepFence, end_own
from orchestrator.hooks.runs import Ended, Hook, HookRuns, Running
from orchestrator.process.owner import Owner
from tests.orchestrator.execution.running import hook, nothing_left_behind
from tests.streams.zookeeper.orchestrators import config
from tests.streams.zookeeper.watching import SESSION_TIMEOUT_MS, Writer

pytestmark = pytest.mark.lab

RUN = "1-brokers-kraft[1]-1"
WAIT_S = 10 * SESSION_TIMEOUT_MS / 1000
BEGAN = entries.ExecutionBegan(
    runbook="r",
    sha256="0" * 64,
    by=Person(who="anna", login="anna", host="ops1"),
    reason="tonight",
)


@dataclass(frozen=True)
class Orchestrator:
    """What holds the lock, with a trail of its own."""

    lock: ClusterLock
    fence: StepFence
    runs: HookRuns
    home: Home
    told: list[Body]

    @property
    def walk(self) -> ExecutionState:
        walk = fold(None, [(n, n, body) for n, body in enumerate([BEGAN, *self.told], 1)])
        assert walk is not None
        return walk

    def waits(self) -> str | None:
        self.fence.settle(self.walk, has_zookeeper=True)
        return self.fence.waits(self.walk, has_zookeeper=True)

    def begins(self, run: str, hook: Hook) -> bool:
        found = self.fence.begin("brokers-kraft[1]", run, hook, has_zookeeper=True)
        if isinstance(found, Held):
            self.runs.start(run, hook)
        return isinstance(found, Held)


@contextmanager
def orchestrator(connect: str, state_dir: Path) -> Iterator[Orchestrator]:
    """Prepare one; the caller takes its lock."""
    state_dir.mkdir(parents=True, exist_ok=True)
    with ExitStack() as made:
        log = made.enter_context(AuditLog.open(state_dir / "audit.db"))
        owner = Owner.myself(1)
        store = StoreLock(state_dir, "prod", log, owner)
        zookeeper = ZooKeeperLock(config(connect), owner)
        lock = made.enter_context(closing(ClusterLock(store, zookeeper)))
        runs, home, told = HookRuns(state_dir), Home.of(state_dir), list[Body]()
        commands = Commands(options=(), cluster="prod")
        fence = StepFence(lock, runs, home, told.append, commands)
        yield Orchestrator(lock, fence, runs, home, told)


_SCRIPT = """
import sys, time
from pathlib import Path
from tests.orchestrator.execution.running import hook
from tests.streams.zookeeper.test_step_fence import RUN, orchestrator
with orchestrator(sys.argv[1], Path(sys.argv[2])) as one:
    one.lock.acquire()
    wait = "while [ ! -e " + sys.argv[3] + " ]; do sleep 0.05; done"
    assert one.begins(RUN, hook("sh", "-c", wait, timeout_s=300))
    print("begun", flush=True)
    time.sleep(600)
"""


def until(ask: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + WAIT_S
    while not ask():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


@pytest.fixture
def killed(
    kafka: Writer, connect: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """An orchestrator was killed while its hook runs; the hook ends when this file is there."""
    del kafka
    monkeypatch.setenv("TEST_OF", str(tmp_path))
    go = tmp_path / "go"
    with nothing_left_behind(tmp_path):
        command = [sys.executable, "-c", _SCRIPT, connect, str(tmp_path / "one"), str(go)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "begun\n"
            process.kill()
        yield go
        go.touch()


def test_another_host_waits_until_the_step_is_ended_where_it_began(
    killed: Path, connect: str, tmp_path: Path
) -> None:
    with orchestrator(connect, tmp_path / "two") as two:
        two.lock.acquire()
        waits = two.waits()
        assert waits is not None
        assert "kraftgate decide 'brokers-kraft[1]' --ended" in waits
        assert not two.begins(RUN, hook("true"))
        assert [each.kind for each in two.told] == ["step_elsewhere"]
        with orchestrator(connect, tmp_path / "one") as one:
            with pytest.raises(LockHeld):
                one.lock.acquire()
            end_own(one.lock, one.runs, one.home)
            assert isinstance(one.runs.state(RUN), Running)
            assert two.waits() == waits
            killed.touch()
            until(lambda: isinstance(one.runs.state(RUN), Ended))
            end_own(one.lock, one.runs, one.home)
        # The record may go between the two readings of a tick: the next one then says so.
        until(lambda: two.waits() is None and len(two.told) == 2)
        assert [each.kind for each in two.told] == ["step_elsewhere", "step_elsewhere_ended"]
        assert two.begins(RUN, hook("true"))
        until(lambda: two.waits() is None)


def test_another_host_goes_on_when_a_person_decides(
    killed: Path, connect: str, tmp_path: Path
) -> None:
    del killed
    with orchestrator(connect, tmp_path / "two") as two:
        two.lock.acquire()
        assert two.waits() is not None
        step = two.walk.elsewhere
        assert step is not None
        by = Person(who="bert", login="bert", host="ops2")
        two.told.append(entries.StepElsewhereEnded(step=step, by=by, reason="the host is gone"))
        assert two.waits() is None
        assert two.begins(RUN, hook("true"))


def test_moves_from_another_host_say_how_to_end_the_step(
    killed: Path, connect: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del killed
    place = "orchestrator.execution.locks.cluster_lock.ensemble_of"
    monkeypatch.setattr(place, lambda _: config(connect))
    (folder := tmp_path / "two").mkdir()
    of: Any = SimpleNamespace(
        state_dir=folder, name="prod", zookeeper=connect, option=("--config", "k.yaml"), many=False
    )
    with (
        AuditLog.open(folder / "audit.db") as log,
        pytest.raises(LockHeld) as refused,
        orchestrating(of, of, log),
    ):
        pass
    assert "prod: wait for the end of the step of brokers-kraft[1], begun on " in str(refused.value)
    way_out = "kraftgate decide 'brokers-kraft[1]' --ended --reason WHY --config k.yaml"
    assert way_out in str(refused.value)


def test_the_same_state_directory_finds_the_end_itself(
    killed: Path, connect: str, tmp_path: Path
) -> None:
    with orchestrator(connect, tmp_path / "one") as one:
        one.lock.acquire()
        waits = one.waits()
        assert waits is not None
        assert waits.startswith("the end of the step of brokers-kraft[1], begun on ")
        assert not one.begins("2-brokers-kraft[1]-1", hook("true"))
        killed.touch()
        until(lambda: one.waits() is None)
        assert one.told == []
