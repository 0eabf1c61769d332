"""A state directory counts a recorded step as its own only with the step's own run."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Body, Person
from orchestrator.audit.execution.running_step import Home, RunningStep
from orchestrator.audit.execution.state import ExecutionState, fold
from orchestrator.errors import LockError
from orchestrator.execution.commands import Commands
from orchestrator.execution.locks.cluster_lock import ClusterLock
from orchestrator.execution.locks.store_lock import Held
from orchestrator.execution.step_fence import StepFence, end_own
from orchestrator.hooks.files import PROCESS, read_json
from orchestrator.hooks.runs import Ended, HookRuns, NotStarted, Running, Unknown
from tests.orchestrator.execution.running import ended, hook
from tests.support.polling import until

ID = "brokers-kraft[1]"
RUN = f"1-{ID}-1"
ANNA = Person(who="anna", login="anna", host="ops1")


class Recorded(ClusterLock):
    """The lock is always held; the record of the running step, as in ZooKeeper."""

    def __init__(self) -> None:
        self.step: RunningStep | None = None

    def begin(self, step: RunningStep, *, has_zookeeper: bool) -> Held:
        del has_zookeeper
        self.step = step
        return Held(token=1, until_s=float("inf"))

    def running(self, *, has_zookeeper: bool) -> RunningStep | None:
        del has_zookeeper
        return self.step

    @property
    def is_readable(self) -> bool:
        return True

    def end(self, step: RunningStep) -> bool:
        assert step == self.step
        self.step = None
        return True


@dataclass(frozen=True)
class Orchestrator:
    """The fence of one state directory, with a trail of its own."""

    lock: Recorded
    state_dir: Path
    trail: list[Body] = field(default_factory=list)

    @property
    def runs(self) -> HookRuns:
        return HookRuns(self.state_dir)

    @property
    def fence(self) -> StepFence:
        commands = Commands(options=("--config", "/x", "--cluster", "west"), cluster="west")
        return StepFence(self.lock, self.runs, Home.of(self.state_dir), self.trail.append, commands)

    @property
    def execution(self) -> ExecutionState:
        began = entries.ExecutionBegan(runbook="r", sha256="0" * 64, by=ANNA, reason="tonight")
        found = fold(None, [(n, n, body) for n, body in enumerate([began, *self.trail], 1)])
        assert found is not None
        return found

    def begin(self) -> None:
        """Record the step; its hook is not started yet."""
        self.fence.begin(ID, RUN, hook("true"), has_zookeeper=True)

    def waits(self) -> str | None:
        self.fence.settle(self.execution, has_zookeeper=True)
        return self.fence.waits(self.execution, has_zookeeper=True)

    def end_own(self) -> None:
        """What an orchestrator does that finds the lock held."""
        end_own(self.lock, self.runs, Home.of(self.state_dir))


@pytest.fixture
def one(state: Path) -> Orchestrator:
    state.mkdir()
    Home.of(state)
    return Orchestrator(Recorded(), state)


@pytest.fixture
def go(tmp_path: Path) -> Iterator[Path]:
    """The running hook ends when this file is there."""
    yield (path := tmp_path / "go")
    path.touch()


def _copy(one: Orchestrator) -> Orchestrator:
    """Return one with a copy of the state directory, as it is now."""
    copy = one.state_dir.with_name("copy")
    shutil.copytree(one.state_dir, copy)
    return Orchestrator(one.lock, copy, list(one.trail))


def _run(one: Orchestrator, go: Path) -> None:
    one.begin()
    one.trail.append(
        entries.StepStarted(
            checkpoint=ID, run=RUN, attempt=1, argv=("sh",), token=1, open_before=False, facts={}
        )
    )
    one.runs.start(RUN, hook("sh", "-c", f"while [ ! -e {go} ]; do sleep 0.05; done"))
    # The supervisor writes it last, and replaces a temporary file that a copy would miss.
    until(lambda: read_json(one.state_dir / "hooks" / RUN / PROCESS))


def test_a_copy_from_before_the_step_waits_for_a_decision(one: Orchestrator, go: Path) -> None:
    """The host has the same name and the copy the same id: only the run shows the difference."""
    copy = _copy(one)
    _run(one, go)
    copy.end_own()
    waits = copy.waits()
    assert waits is not None
    assert "or before this state directory was restored" in waits
    assert f"kraftgate decide '{ID}' --ended --reason WHY --config /x --cluster west" in waits
    step = _step(one)
    assert copy.execution.elsewhere == step
    assert isinstance(one.runs.state(RUN), Running)
    assert (one.waits() or "").startswith("the end of the step")
    copy.trail.append(entries.StepElsewhereEnded(step=step, by=ANNA, reason="ps shows nothing"))
    assert copy.waits() is None


def test_the_same_run_of_a_copy_is_another_step(one: Orchestrator, go: Path) -> None:
    """Two copies count their runs alike; that one ended says nothing about the other."""
    copy = _copy(one)
    _run(one, go)
    copy.lock.step = None
    copy.begin()
    copy.runs.start(RUN, hook("true"))
    assert ended(copy.runs, RUN).outcome.succeeded
    one.lock.step = RunningStep.model_validate({**_step(one).model_dump(), "since_ms": 1})
    copy.end_own()
    assert (copy.waits() or "").startswith("a decision: ")
    assert one.lock.step is not None


def test_an_unknown_run_that_the_trail_does_not_have_waits_for_a_decision(
    one: Orchestrator, go: Path
) -> None:
    """The copy was taken while the hook ran, its trail before that."""
    _run(one, go)
    copy = _copy(one)
    assert isinstance(copy.runs.state(RUN), Unknown)
    assert (copy.waits() or "").startswith("the end of the step")
    copy.trail.clear()
    assert (copy.waits() or "").startswith("a decision: ")
    assert one.lock.step is not None


def test_a_decided_unknown_run_of_an_earlier_execution_has_ended(
    one: Orchestrator, go: Path
) -> None:
    _run(one, go)
    copy = _copy(one)
    copy.trail.append(entries.StepUnknown(checkpoint=ID, run=RUN, why="its supervisor is gone"))
    copy.trail.append(entries.StepDecided(checkpoint=ID, decision="done", by=ANNA, reason="ps"))
    copy.trail.append(entries.Aborted(by=ANNA, reason="enough"))
    copy.trail.append(entries.ExecutionBegan(runbook="r", sha256="0" * 64, by=ANNA, reason="again"))
    assert copy.waits() is None


def test_the_directory_that_began_the_step_finds_that_it_never_started(one: Orchestrator) -> None:
    one.begin()
    assert one.runs.state(RUN) == NotStarted()
    one.end_own()
    assert one.lock.step is None


def test_a_step_of_an_earlier_release_ends_where_it_began(one: Orchestrator) -> None:
    one.begin()
    one.runs.start(RUN, hook("true"))
    (one.state_dir / "hooks" / RUN / "step.json").unlink()
    assert isinstance(ended(one.runs, RUN), Ended)
    assert one.waits() is None


def test_another_state_directory_is_another_home(tmp_path: Path) -> None:
    first = Home.of(tmp_path)
    assert Home.of(tmp_path) == first
    other = tmp_path / "other"
    other.mkdir()
    assert Home.of(other) != first


def test_an_id_that_a_power_cut_emptied_is_replaced(one: Orchestrator) -> None:
    (one.state_dir / "home.id").write_bytes(b"")
    one.begin()
    assert one.waits() is None


def _step(one: Orchestrator) -> RunningStep:
    assert one.lock.step is not None
    return one.lock.step


def test_an_id_that_cannot_be_read_is_one_error_with_the_fix(tmp_path: Path) -> None:
    file = tmp_path / "home.id"
    file.write_bytes(b"\xff" * 8)
    with pytest.raises(LockError, match=r"home\.id cannot be used .*`kraftgate decide ID --ended`"):
        Home.of(tmp_path)
    file.unlink()
    file.mkdir()
    with pytest.raises(LockError, match=r"home\.id cannot be used"):
        Home.of(tmp_path)
