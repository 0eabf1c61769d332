"""An execution, tick by tick: real trail and rules; hooks, lock and askers do as the test says.

Whether hooks, lock and askers do what is said of them here is tested with real ones elsewhere.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from migration.assessment.conditions import (
    Condition,
    DataSource,
    Finding,
    QuorumSeen,
    SettingsSeen,
    TopicsSeen,
    Verdict,
    View,
)
from migration.assessment.currency import CURRENT, Currency
from migration.assessment.hazards import hazards
from migration.comparison.result import Compared
from migration.image.summary import BrokerSummary, Mode, Phase
from migration.observed.log_dirs import DisksImage
from migration.observed.source_status import SourceStatus
from migration.observed.znode_codec import MigrationZnode, ZkController
from migration.observed.zookeeper import ZooKeeperImage
from orchestrator.audit import AuditLog
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Body, Person
from orchestrator.audit.execution.running_step import Home, RunningStep
from orchestrator.audit.execution.state import CheckpointState, Stage
from orchestrator.audit.execution.trail import ExecutionTrail
from orchestrator.audit.sentences import sentence
from orchestrator.config.models import ClusterEntry
from orchestrator.errors import AuditError, HookError, RunbookError
from orchestrator.execution.allowed import rollback_of
from orchestrator.execution.approvals import basis
from orchestrator.execution.commands import Commands
from orchestrator.execution.executor import Executor
from orchestrator.execution.facts import FactFinder
from orchestrator.execution.kept_runbook import kept_runbook
from orchestrator.execution.locks.cluster_lock import ClusterLock
from orchestrator.execution.locks.store_lock import Held, NotHeld
from orchestrator.execution.route import CheckpointInstance
from orchestrator.execution.steps import Steps, readable_fields
from orchestrator.hooks.files import End, Outcome
from orchestrator.hooks.runs import Ended, Hook, HookRuns, NotStarted, Running, RunState, Unknown
from orchestrator.run.execution_status import ExecutionStatus
from orchestrator.run.probes.poller import OwnPoll, Poller
from orchestrator.runbook.load import load, parse, shipped
from orchestrator.runbook.loaded import Loaded
from orchestrator.runbook.templates import render
from tests.migration.assessment.conditions.views import all_disks, directory, disks, quorum
from tests.orchestrator.execution.running import until
from tests.scenes.night import NOW_MS, cluster, held, kraft, migrating

HOME = Home(host="ops1", id="0" * 32)
ANNA = Person(who="anna", login="anna", host="ops1")
BORIS = Person(who="boris", login="boris", host="ops1")

RUNBOOK = """
runbook: 1
name: small
title: A small one
explain: For tests.
checkpoints:
  - id: brokers-kraft
    title: Brokers into KRaft mode
    explain: One at a time.
    for_each: broker
    already: ["broker_mode(broker, kraft)"]
    needs: [nothing_held]
    step: {name: enter-kraft, manual: "On {host}: restart broker {broker} of {cluster}."}
    opens_when: ["broker_mode(broker, kraft)", "assignments_complete(broker)"]
    rollback: back
  - id: finalize
    title: Finalize
    explain: No way back.
    needs: [nothing_held, soak(200ms)]
    step: {name: finalize, manual: Finalize now.}
    opens_when: [finalized]
    approval: {people: 2}
    irreversible: true
    rollback: back
rollbacks:
  - id: back
    title: Back
    explain: To migration mode.
    checkpoints:
      - id: brokers-back
        title: Brokers back
        explain: One at a time.
        for_each: broker
        already: ["broker_mode(broker, migrating)"]
        step: {name: leave-kraft, manual: "On {host}: take broker {broker} back."}
        opens_when: ["broker_mode(broker, migrating)"]
"""


class Fresh(FactFinder):
    """Everything is fresh at once."""

    def __init__(self) -> None:
        pass

    def keep(self, conditions: Sequence[Condition]) -> None:
        pass

    def want(self, conditions: Sequence[Condition], since_ms: int) -> None:
        pass

    def is_polled(self, conditions: Sequence[Condition], since_ms: int) -> bool:
        del conditions, since_ms
        return True

    def keep_sources(self, sources: Collection[DataSource]) -> None:
        pass

    def is_fresh(
        self, conditions: Sequence[Condition], since_ms: int, without: Collection[DataSource]
    ) -> bool:
        del conditions, since_ms, without
        return True


class Outside(HookRuns, ClusterLock):
    """Hooks, their runs and the lock, as the test wants them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.by_hook = frozenset({"enter-kraft", "finalize", "leave-kraft"})
        self.started: list[tuple[str, tuple[str, ...], Mapping[str, str]]] = []
        self.now: RunState = Running()
        self.prepared: dict[str, Mapping[str, Any]] = {}
        self.lost: str | None = None
        self.token = 1
        self.recorded: RunningStep | None = None
        self.reachable = True
        self.has_zookeeper = True

    def hook(
        self, step: str, fields: Mapping[str, str], environment: Mapping[str, str]
    ) -> Hook | None:
        if step not in self.by_hook:
            return None
        argv = ("do", step, fields.get("broker", "-"), "--password", "hush-hush")
        return Hook(argv=argv, timeout_s=60, environment=environment)

    def start(self, run_id: str, hook: Hook) -> None:
        self.started.append((run_id, hook.argv, hook.environment))
        self.now = Running()

    def prepare(self, run_id: str, step: Mapping[str, Any]) -> None:
        self.prepared[run_id] = step

    def is_prepared(self, run_id: str, step: Mapping[str, Any]) -> bool:
        return self.prepared.get(run_id) == step

    def state(self, run_id: str) -> RunState:
        assert self.now == NotStarted() or run_id == self.started[-1][0]
        return self.now

    def begin(self, step: RunningStep, *, has_zookeeper: bool) -> Held | NotHeld:
        assert has_zookeeper is self.has_zookeeper
        assert self.recorded is None
        if self.lost is not None:
            return NotHeld(why=self.lost)
        self.recorded = step
        return Held(token=1, until_s=math.inf)

    def running(self, *, has_zookeeper: bool) -> RunningStep | None:
        return self.recorded if has_zookeeper or self.reachable else None

    @property
    def is_readable(self) -> bool:
        return self.reachable

    def end(self, step: RunningStep) -> bool:
        assert step == self.recorded
        if self.reachable:
            self.recorded = None
        return self.reachable

    def ends(self, exit_code: int, said: bytes = b"it said this\n") -> None:
        output = self.folder / "output"
        output.write_bytes(said)
        outcome = Outcome(
            end=End.EXITED,
            exit_code=exit_code,
            started_ms=NOW_MS,
            ended_ms=NOW_MS + 5,
            output_bytes=len(said),
            left_out_bytes=0,
        )
        self.now = Ended(outcome=outcome, output=output)


@cache
def _parsed_once(text: str) -> Loaded:
    return parse(text, Path("small.yaml"))


def _parsed(text: str, path: Path) -> Loaded:
    """Parse each text once; `test_load` shows that tests can share a `Runbook`, not its `read`."""
    once = _parsed_once(text)
    return replace(once, path=path, read=deepcopy(once.read))


class Night:
    """One cluster, its audit trail, and the executor."""

    def __init__(
        self,
        folder: Path,
        *,
        by_hand: bool = False,
        runbook: str = RUNBOOK,
        facts: FactFinder | None = None,
    ) -> None:
        self.loaded: Loaded = _parsed(runbook, folder / "small.yaml")
        self.log = AuditLog.open(folder / "audit.db")
        self.trail = ExecutionTrail(self.log, "prod")
        self.outside = Outside(folder)
        self.lock: ClusterLock = self.outside
        self.by_hand = by_hand
        self.facts = facts or Fresh()
        self.external: Mapping[str, Finding] = {}
        self.now_ms = NOW_MS
        self.brokers: tuple[BrokerSummary, ...] = (migrating(1), migrating(2))
        self.phase = Phase.HYBRID
        self.begin()
        self.executor = self.take_up()

    def begin(self) -> None:
        """Begin an execution of the runbook."""
        began = entries.ExecutionBegan(
            runbook="small", sha256=self.loaded.sha256, by=ANNA, reason="tonight"
        )
        self.say(began)

    def begin_again(self) -> None:
        """Abort the execution, and begin another one while the orchestrator runs."""
        self.say(entries.Aborted(by=ANNA, reason="enough"))
        self.begin()

    def take_up(self) -> Executor:
        """What a new orchestrator does."""
        fence = self.log.take_fence(self.trail.cluster, "test", self.now_ms)
        commands = Commands(options=(), cluster="prod")
        self.executor = Executor(
            loaded=self.loaded,
            trail=self.trail,
            fence=fence,
            facts=self.facts,
            commands=commands,
            state_dir=self.outside.folder,
            steps=lambda tell: Steps(
                entry=ClusterEntry(name="prod"),
                make_hook=None if self.by_hand else self.outside.hook,
                runs=self.outside,
                lock=self.lock,
                home=HOME,
                environment={"KRAFTGATE_CLUSTER": "prod"},
                commands=commands,
                record=tell,
            ),
        )
        return self.executor

    def view(self) -> View:
        controller = ZkController(id=3000, kraft_epoch=1, claimed_ms=NOW_MS)
        seen = ZooKeeperImage(seen_ms=self.now_ms, controller=controller)
        summary = replace(cluster(self.phase, *self.brokers), zookeeper=seen)
        return View(
            summary=summary,
            now_ms=self.now_ms,
            stall_after_ms=300_000,
            not_current={},
            hazards=hazards(summary, self.now_ms, CURRENT),
            external=self.external,
        )

    def look(self, times: int = 1, each_ms: int = 250) -> ExecutionStatus:
        found = None
        for _ in range(times):
            self.now_ms += each_ms
            found = self.executor.tick(self.view(), {"metadata_log": {"offset": 7}})
        assert found is not None
        return found

    def settle(self) -> ExecutionStatus:
        """Look until nothing changes any more."""
        for _ in range(30):
            before = self.log.entries("prod")[-1].sequence
            result = self.look(2)
            if self.log.entries("prod")[-1].sequence == before:
                return result
        raise AssertionError("it does not come to rest")

    def say(self, body: Body) -> None:
        self.trail.append(body, self.now_ms)

    def place(self, id_: str) -> CheckpointState:
        walk = self.trail.state()
        assert walk is not None
        return walk.checkpoint(id_)

    def kinds(self) -> list[str]:
        return [each.kind for each in self.log.entries("prod")]


@pytest.fixture
def night(tmp_path: Path) -> Iterator[Night]:
    night = Night(tmp_path)
    yield night
    night.log.close()


def into_kraft(night: Night, broker: int) -> None:
    night.outside.ends(0)
    night.brokers = tuple(
        replace(kraft(broker), epoch=900 + broker) if each.id == broker else each
        for each in night.brokers
    )
    night.settle()


def test_one_broker_at_a_time_until_the_gate_of_each_holds(night: Night) -> None:
    result = night.settle()
    assert result.checkpoint == "brokers-kraft[1]"
    assert [argv[:3] for _, argv, _ in night.outside.started] == [("do", "enter-kraft", "1")]
    environment = night.outside.started[0][2]
    assert environment["KRAFTGATE_BROKER"] == "1"
    assert environment["KRAFTGATE_CHECKPOINT"] == "brokers-kraft[1]"
    night.outside.ends(0)
    night.brokers = (held(1), migrating(2))
    result = night.settle()
    assert result.checkpoint == "brokers-kraft[1]"
    assert "replicas without a directory" in result.holds[0]
    assert len(night.outside.started) == 1
    into_kraft(night, 1)
    assert night.outside.started[-1][1][:3] == ("do", "enter-kraft", "2")
    into_kraft(night, 2)
    assert night.place("brokers-kraft").stage is Stage.PASSED


def test_the_trail_says_where_the_execution_is(night: Night) -> None:
    night.settle()
    into_kraft(night, 1)
    said = [sentence(e) for e in night.log.entries("prod") if e.kind == "checkpoint_entered"]
    assert said == [
        "the execution entered brokers-kraft[1] (checkpoint 1 of 2, broker 1 of 2)",
        "the execution entered brokers-kraft[2] (checkpoint 1 of 2, broker 2 of 2)",
    ]


def test_the_trail_says_what_is_done_before_it_is_done(night: Night) -> None:
    def started_only_after_it_was_told(run_id: str, hook: Hook) -> None:
        assert night.place("brokers-kraft[1]").run == run_id
        told = [e for e in night.log.entries("prod") if e.kind == "step_started"]
        assert told[-1].body["argv"] == ["do", "enter-kraft", "1", "--password", "[redacted]"]
        assert told[-1].body["facts"] == {"metadata_log": {"offset": 7}}
        assert hook.argv[-1] == "hush-hush"
        begun(run_id, hook)

    begun = night.outside.start
    night.outside.start = started_only_after_it_was_told  # type: ignore[method-assign]
    night.look(4)
    assert night.kinds().count("step_started") == 1


def test_a_failed_hook_is_not_repeated_unasked(night: Night) -> None:
    night.settle()
    night.outside.ends(1)
    result = night.settle()
    assert "the hook ended with exit code 1" in result.holds[0]
    into_kraft(night, 1)  # the cluster even looks as if it were done: the hook said it failed
    assert night.place("brokers-kraft[1]").stage is Stage.ASKS
    assert len(night.outside.started) == 1
    night.say(
        entries.StepDecided(
            checkpoint="brokers-kraft[1]", decision="done", by=ANNA, reason="I looked"
        )
    )
    night.settle()
    assert night.place("brokers-kraft[1]").stage is Stage.PASSED


@pytest.mark.parametrize("byte", [b"\0", b"\xff", b"\x1b"])
def test_the_end_of_a_hook_is_recorded_whatever_it_printed(night: Night, byte: bytes) -> None:
    night.settle()
    night.outside.ends(1, byte * 20_000 + b"\nthe last line\n")
    assert night.settle().output[-1] == "the last line"


def test_a_failed_hook_comes_with_its_decisions_at_once(night: Night) -> None:
    night.settle()
    night.outside.ends(1)
    results = [night.look() for _ in range(3)]
    assert results[-1].asks is not None
    for each in results:
        assert bool(each.commands) == (each.asks is not None)


def test_a_hook_whose_command_cannot_be_made_is_an_operators_turn_and_raises_the_alert(
    night: Night,
) -> None:
    def hook(step: str, fields: Mapping[str, str], environment: Mapping[str, str]) -> Hook | None:
        del step, fields, environment
        raise RunbookError(["hooks.yaml:9: {rack} is 'Room 2', which is not safe in a command"])

    night.outside.hook = hook  # type: ignore[method-assign]
    night.take_up()
    found = night.settle()
    assert found.turn == (
        "Correct the command of step enter-kraft or the configuration, and start `kraftgate run`"
        " again"
    )
    assert found.asks == "hooks.yaml:9: {rack} is 'Room 2', which is not safe in a command"
    assert found.holds == (f"the command of step enter-kraft: {found.asks}",)
    assert found.commands == ("kraftgate hooks check",)
    assert night.outside.started == []


def test_a_hook_that_cannot_be_prepared_is_an_operators_turn_until_it_can(night: Night) -> None:
    """As on a full disk."""

    def prepare(run_id: str, step: Mapping[str, Any]) -> None:
        raise HookError(f"the run {run_id} for {step['checkpoint']}: no space left")

    prepared = night.outside.prepare
    night.outside.prepare = prepare  # type: ignore[method-assign]
    found = night.settle()
    assert found.turn == "Repair the state directory: no hook can begin"
    assert found.asks is not None
    assert found.asks.endswith("for brokers-kraft[1]: no space left")
    assert night.outside.started == []
    night.outside.prepare = prepared  # type: ignore[method-assign]
    night.settle()
    assert len(night.outside.started) == 1


def test_a_repeated_step_is_a_new_run(night: Night) -> None:
    night.settle()
    night.outside.ends(1)
    night.settle()
    night.say(
        entries.StepDecided(
            checkpoint="brokers-kraft[1]", decision="repeat", by=ANNA, reason="mended"
        )
    )
    night.settle()
    runs = [run for run, _, _ in night.outside.started]
    assert len(runs) == len(set(runs)) == 2


BOTH_WAYS = """
runbook: 1
name: small
title: A small one
explain: For tests.
checkpoints:
  - id: brokers-migration
    title: Brokers into migration mode
    explain: One at a time.
    for_each: broker
    already: ["broker_mode(broker, migrating)"]
    needs: ["phase_is(hybrid)"]
    step: {name: enter-migration, manual: "On {host}: restart broker {broker} of {cluster}."}
    opens_when: ["broker_mode(broker, migrating)", "broker_unfenced(broker)"]
    rollback: none
    rollback_reason: It is a test.
""" + RUNBOOK[RUNBOOK.index("  - id: brokers-kraft") :]


@pytest.mark.parametrize(("by_hand", "exit_code"), [(False, 0), (False, 1), (True, 0)])
def test_a_step_that_the_migration_has_passed_is_skipped_not_repeated(
    tmp_path: Path, *, by_hand: bool, exit_code: int
) -> None:
    """After a backup was restored: its restart would take a KRaft broker back."""
    with closing((night := Night(tmp_path, by_hand=by_hand, runbook=BOTH_WAYS)).log):
        night.outside.by_hook |= {"enter-migration"}
        before = replace(migrating(1), mode=Mode.ZOOKEEPER, epoch=None)
        night.brokers = (before, migrating(2))
        assert night.settle().checkpoint == "brokers-migration[1]"
        night.brokers, night.phase = (kraft(1), migrating(2)), Phase.DUAL_WRITE
        night.outside.ends(exit_code)
        night.settle()
        night.now_ms += 300_000
        assert_skipped(night.look())
        if by_hand:
            return
        night.say(
            entries.StepDecided(
                checkpoint="brokers-migration[1]", decision="repeat", by=ANNA, reason="x"
            )
        )
        assert_skipped(night.settle())


def assert_skipped(found: ExecutionStatus) -> None:
    assert found.turn == "Skip brokers-migration[1]: the cluster has passed its step"
    assert found.why == "broker 1 is in kraft mode"
    assert found.commands[0] == "kraftgate skip 'brokers-migration[1]' --reason WHY"
    assert not any("--repeat" in each for each in found.commands)


def test_a_step_without_effect_is_an_operators_turn_and_is_repeated(night: Night) -> None:
    night.settle()
    night.outside.ends(0)
    assert night.settle().turn == ""
    night.now_ms += 300_000
    found = night.look()
    action = "Perform step enter-kraft of brokers-kraft[1]"
    assert found.turn == f"Do the step by hand, or repeat it: {action}"
    assert found.why == "it ended over 5 min ago, and broker 1 is in migrating mode"
    assert found.asks == found.why, "which raises the alert"
    assert found.commands[0] == "kraftgate decide 'brokers-kraft[1]' --repeat --reason WHY"
    for begun in (held(1), replace(migrating(1), fenced=True)):
        night.brokers = (begun, migrating(2))
        assert (night.look().turn, night.look().asks) == ("", None)
    night.now_ms += 300_000
    down = night.look()
    assert down.asks == "it ended over 10 min ago, and broker 1 is in migrating mode"
    night.brokers = (migrating(1), migrating(2))
    night.say(
        entries.StepDecided(checkpoint="brokers-kraft[1]", decision="repeat", by=ANNA, reason="x")
    )
    assert (night.settle().turn, len(night.outside.started)) == ("", 2)


def test_an_unknown_end_is_told_by_the_cluster_or_asked(night: Night) -> None:
    night.settle()
    gone = Unknown(why="its supervisor is gone", still_running=())
    night.outside.now = gone
    assert "the outcome of the hook is unknown" in night.settle().holds[0]
    why = "the outcome of the hook is unknown: its supervisor is gone"
    assert sentence(night.log.entries("prod")[-1]) == f"brokers-kraft[1]: {why}"
    night.brokers = (kraft(1), migrating(2))
    night.settle()
    assert night.place("brokers-kraft[1]").how == "opened"


def test_an_orchestrator_that_was_gone_before_the_start_begins_the_step_anew(night: Night) -> None:
    night.settle()
    night.take_up()
    night.outside.now = NotStarted()
    night.settle()
    assert "step_not_started" in night.kinds()
    assert len(night.outside.started) == 2


def test_a_new_orchestrator_waits_for_the_hook_that_runs(night: Night) -> None:
    night.settle()
    night.take_up()
    assert night.settle().holds == ("the hook of brokers-kraft[1] to end",)
    into_kraft(night, 1)
    assert night.place("brokers-kraft[1]").stage is Stage.PASSED
    assert [argv[2] for _, argv, _ in night.outside.started] == ["1", "2"]


def test_a_hook_that_is_overdue_is_an_operators_turn_and_raises_the_alert(night: Night) -> None:
    """As one that runs under another user: its supervisor cannot end it."""
    night.settle()
    ends_ms = night.now_ms + 70_000
    night.outside.now = Running(ends_ms=ends_ms)
    night.now_ms = ends_ms + 50_000
    in_time = night.look()
    assert (in_time.turn, in_time.asks) == ("", None)
    night.now_ms = ends_ms + 60_000
    late = night.look()
    assert late.turn == "Find out on ops1 why the hook of brokers-kraft[1] has not ended"
    assert late.holds[0].startswith(
        "the hook of brokers-kraft[1] to end, which should have ended by"
    )
    assert late.asks is not None
    assert late.asks.startswith("the hook should have ended by 20")
    assert late.commands == ("kraftgate help KraftgateStepNeedsDecision",)
    night.say(entries.Aborted(by=ANNA, reason="it hangs"))
    left = night.look()
    assert (left.turn, left.asks) == (late.turn, late.asks)
    assert left.holds == (f"{late.holds[0]}: an aborted execution started it",)
    night.outside.ends(1)
    assert (night.look().turn, night.look().asks) == ("", None)


def test_an_aborted_walk_names_the_hook_that_goes_on_and_records_its_end(night: Night) -> None:
    assert night.settle().stage is Stage.RUNNING
    night.say(entries.Aborted(by=ANNA, reason="stop everything"))
    after = night.settle()
    assert (after.outcome, after.checkpoint) == ("aborted", None)
    assert after.holds == ("the hook of brokers-kraft[1] to end: an aborted execution started it",)
    night.outside.ends(1)
    after = night.settle()
    assert (after.holds, after.asks) == ((), None)
    assert night.kinds().count("step_ended") == 1
    assert [each.stage for each in after.places] == [Stage.ASKS]
    night.begin()
    night.settle()
    assert [argv[2] for _, argv, _ in night.outside.started] == ["1", "1"]


def test_an_aborted_walk_records_once_that_an_outcome_is_unknown(night: Night) -> None:
    night.settle()
    night.say(entries.Aborted(by=ANNA, reason="stop everything"))
    night.outside.now = Unknown(why="its supervisor is gone", still_running=(4711,))
    assert "the processes 4711 of the hook" in night.settle().holds[0]
    night.outside.now = Unknown(why="its supervisor is gone", still_running=())
    assert night.settle().holds == ()
    assert night.kinds().count("step_unknown") == 1


def test_a_new_walk_waits_for_the_hook_that_the_aborted_one_left_running(night: Night) -> None:
    night.settle()
    night.begin_again()
    result = night.settle()
    assert result.holds == ("the hook of brokers-kraft[1] to end: an aborted execution started it",)
    assert len(night.outside.started) == 1
    gone = Unknown(why="its supervisor is gone", still_running=(4711,))
    night.outside.now = gone
    assert "the processes 4711 of the hook" in night.settle().holds[0]
    night.outside.ends(1)
    night.settle()
    assert [argv[2] for _, argv, _ in night.outside.started] == ["1", "1"]


def test_the_one_that_came_later_is_the_only_one_that_acts(night: Night) -> None:
    first = night.executor
    night.take_up()
    with pytest.raises(AuditError, match="another orchestrator took over"):
        first.tick(night.view(), {})
    assert night.outside.started == []


def test_no_step_begins_after_a_decision_that_came_in_the_same_tick(night: Night) -> None:
    def begin(step: RunningStep, *, has_zookeeper: bool) -> Held | NotHeld:
        night.say(entries.Paused(by=ANNA, reason="wait"))
        night.outside.begin = begun  # type: ignore[method-assign]
        return begun(step, has_zookeeper=has_zookeeper)

    begun = night.outside.begin
    night.outside.begin = begin  # type: ignore[method-assign]
    night.outside.now = NotStarted()
    assert "paused by anna" in night.settle().holds[0]
    assert (night.outside.started, night.outside.recorded) == ([], None)
    assert "step_started" not in night.kinds()
    night.say(entries.Resumed(by=ANNA, reason="go on"))
    night.settle()
    assert len(night.outside.started) == 1


def test_without_the_lock_no_step_is_begun(night: Night) -> None:
    night.outside.lost = "its ZooKeeper session is lost"
    result = night.settle()
    assert result.holds == ("the lock of the orchestrator: its ZooKeeper session is lost",)
    assert night.outside.started == []
    assert night.kinds().count("lock_lost") == 1
    night.outside.lost = None
    night.settle()
    assert night.outside.started


ELSEWHERE = RunningStep(
    checkpoint="brokers-kraft[1]",
    run="9-brokers-kraft[1]-1",
    host="ops2",
    home="1" * 32,
    since_ms=NOW_MS,
    ends_ms=NOW_MS + 70_000,
)


def test_a_step_is_recorded_while_its_hook_may_run(night: Night) -> None:
    night.settle()
    step = night.outside.recorded
    assert step is not None
    assert (step.checkpoint, step.run) == ("brokers-kraft[1]", night.outside.started[0][0])
    assert (step.host, step.home) == (HOME.host, HOME.id)
    assert step.ends_ms - step.since_ms == 70_000
    night.outside.ends(1)
    night.settle()
    assert night.outside.recorded is None
    assert night.place("brokers-kraft[1]").stage is Stage.ASKS


def test_while_a_hook_of_another_orchestrator_may_run_nothing_is_begun(night: Night) -> None:
    """It is asked for, once, until its record is removed where it began."""
    night.outside.recorded = ELSEWHERE
    result = night.settle()
    assert result.checkpoint == "brokers-kraft[1]"
    assert result.holds[0].startswith(
        "a decision: the step of brokers-kraft[1], begun on ops2 at 2026-09-21 14:13:20 UTC"
    )
    assert "kraftgate decide 'brokers-kraft[1]' --ended --reason WHY" in result.holds[0]
    walk = night.trail.state()
    assert walk is not None
    assert walk.elsewhere == ELSEWHERE
    assert night.kinds().count("step_elsewhere") == 1
    assert night.outside.started == []
    night.say(entries.Aborted(by=ANNA, reason="enough"))
    assert night.look().commands == ()  # `decide` refuses an execution that has ended
    night.begin()
    night.settle()
    night.outside.recorded = None
    night.settle()
    assert night.kinds().count("step_elsewhere_ended") == 1
    assert len(night.outside.started) == 1


def test_a_step_elsewhere_has_not_ended_because_zookeeper_is_off(night: Night) -> None:
    """The hook that finalizes runs on another host, and is not done with the last controller."""
    at_finalize(night)
    night.outside.recorded = ELSEWHERE
    night.settle()
    night.phase = Phase.FINALIZED
    night.outside.reachable = False
    assert night.settle().holds[0].startswith("a decision: ")
    assert "step_elsewhere_ended" not in night.kinds()
    night.say(entries.StepElsewhereEnded(step=ELSEWHERE, by=ANNA, reason="ps shows nothing"))
    assert not night.settle().holds[0].startswith("a decision: ")


def test_a_person_decides_that_the_hook_of_another_orchestrator_has_ended(night: Night) -> None:
    night.outside.recorded = ELSEWHERE
    night.outside.reachable = False
    night.settle()
    night.begin_again()
    ended = entries.StepElsewhereEnded(step=ELSEWHERE, by=ANNA, reason="ps shows nothing")
    night.say(ended)
    assert night.settle().holds[0].startswith("ZooKeeper, to remove the record of the step of")
    assert night.outside.started == []
    night.outside.reachable = True
    night.settle()
    assert len(night.outside.started) == 1
    later = ELSEWHERE.model_copy(update={"since_ms": NOW_MS + 1})
    night.outside.ends(0)
    night.settle()
    night.outside.recorded = later
    into_kraft(night, 1)
    assert night.settle().holds[0].startswith("a decision: ")


def test_a_step_recorded_and_never_started_is_begun_by_the_next_orchestrator(night: Night) -> None:
    """It was killed between the record and the trail's entry."""
    step = ELSEWHERE.model_copy(update={"host": HOME.host, "home": HOME.id})
    night.outside.recorded = step
    night.outside.prepare(step.run, step.model_dump())
    night.outside.now = NotStarted()
    night.settle()
    assert len(night.outside.started) == 1


def test_the_record_of_an_unknown_end_is_kept_until_it_is_decided(night: Night) -> None:
    night.settle()
    night.outside.now = Unknown(why="its supervisor is gone", still_running=())
    night.settle()
    assert night.outside.recorded is not None
    assert night.place("brokers-kraft[1]").stage is Stage.ASKS
    night.say(
        entries.StepDecided(
            checkpoint="brokers-kraft[1]", decision="repeat", by=ANNA, reason="it is gone"
        )
    )
    night.settle()
    assert len(night.outside.started) == 2


def test_paused_no_step_is_begun_and_the_one_under_way_ends(night: Night) -> None:
    night.settle()
    night.say(entries.Paused(by=BORIS, reason="a call"))
    into_kraft(night, 1)
    result = night.settle()
    assert result.checkpoint == "brokers-kraft[2]"
    assert result.holds[0] == "paused by boris: a call"
    assert len(night.outside.started) == 1
    night.say(entries.Resumed(by=BORIS, reason="on"))
    night.settle()
    assert len(night.outside.started) == 2


def test_by_hand_it_says_what_to_do_and_waits_for_the_cluster(tmp_path: Path) -> None:
    night = Night(tmp_path, by_hand=True)
    night.brokers = (replace(migrating(1), host="kafka1"), migrating(2))
    night.settle()
    assert night.place("brokers-kraft[1]").shown == "On kafka1: restart broker 1 of prod."
    night.brokers = (kraft(1), migrating(2))
    night.settle()
    assert night.place("brokers-kraft[1]").stage is Stage.PASSED
    assert night.place("brokers-kraft[2]").stage is Stage.SHOWN
    night.log.close()


def test_by_hand_a_step_is_not_to_be_begun_once_its_guards_do_not_hold(tmp_path: Path) -> None:
    """It may have been shown hours ago; a broker that restarts has begun it."""
    with closing((night := Night(tmp_path, by_hand=True)).log):
        one, shown = migrating(1), "Perform step enter-kraft of brokers-kraft[1]"
        night.brokers = (one, migrating(2))
        first = night.settle()
        assert first.turn == shown
        assert first.shown is not None
        night.brokers = (migrating(2),)  # as a broker in ZooKeeper mode that is down
        gone = night.settle()
        assert gone.turn == shown
        assert gone.why.endswith(
            "; the broker is down: if you did not stop it for this, check its log directories first"
        )
        night.brokers = (one, held(2))
        waits = night.settle()
        assert (waits.stage_text, waits.turn, waits.shown) == ("do not begin it now", "", None)
        assert waits.holds[0].endswith("complete it if it was begun, and do not begin it now")
        assert waits.holds[1] == "nothing_held: held: 2"
        assert waits.findings[0].condition == "nothing_held"  # the headline's, before the gate's
        night.brokers = (replace(one, fenced=True, in_controlled_shutdown=True), held(2))
        assert night.settle().turn == shown
        night.brokers = (replace(one, fenced=True), held(2))
        assert night.settle().turn == "", "it may have halted: see halted_in_migration"
        night.brokers = (held(1), migrating(2))
        seen = night.settle()
        assert (seen.stage_text, seen.turn) == ("step done, its gate is waited for", "")
        night.brokers = (one, migrating(2))
        assert night.settle().turn == shown
        night.say(entries.Paused(by=ANNA, reason="a disk is replaced"))
        paused = night.settle()
        assert paused.turn.startswith("Resume the execution")
        assert paused.shown is None
        assert "paused by anna: a disk is replaced" in paused.holds


@pytest.mark.parametrize("crashed", [True, False])
def test_by_hand_the_guards_count_for_a_broker_that_crashed(tmp_path: Path, crashed: bool) -> None:
    """Its host may come back without a disk, whose replicas the restart would recreate (H1)."""
    back = 'already: ["broker_mode(broker, migrating)"]'
    text = RUNBOOK.replace(back, f"{back}\n        needs: [nothing_held]")
    with closing((night := Night(tmp_path, by_hand=True, runbook=text)).log):
        night.brokers = (kraft(1), kraft(2))
        night.settle()
        night.say(entries.RollbackBegan(path="back", at="finalize", by=ANNA, reason="lag"))
        shown = night.settle()
        assert shown.turn == "Perform step leave-kraft of brokers-back[1]"
        down = replace(kraft(1), fenced=True, in_controlled_shutdown=not crashed)
        night.brokers = (down, held(2))
        seen = night.settle()
        assert seen.turn == ("" if crashed else shown.turn)
        assert ("; the broker is down: " in seen.why) is not crashed


def test_by_hand_it_has_the_values_of_this_cluster_and_names_what_is_unknown(
    tmp_path: Path,
) -> None:
    manual = "format -t {cluster_id}; {quorum_line}; {log_dirs}; {host}"
    old = "On {host}: restart broker {broker} of {cluster}."
    night = Night(tmp_path, by_hand=True, runbook=RUNBOOK.replace(old, manual))
    entry = ClusterEntry.model_validate(
        {"name": "prod", "id": "4L6g3nShT-eMCtK--X86sw", "controllers": {"bootstrap": "c1:9093"}}
    )
    night.brokers = (replace(migrating(1), host=None),)
    instance = CheckpointInstance(
        id="brokers-kraft[1]",
        checkpoint=night.loaded.runbook.checkpoints[0],
        bind={"broker": "1"},
    )
    step = instance.checkpoint.step
    assert step is not None
    voters = "controller.quorum.voters"
    seen = QuorumSeen(at_ms=NOW_MS, leader=7, answering=1, settings={voters: "7@c7:1\x1b"})
    shown = render(
        step.manual, readable_fields(entry, instance, replace(night.view(), quorum=seen))
    )
    assert shown == (f"format -t 4L6g3nShT-eMCtK--X86sw; {voters}=7@c7:1\\x1b; LOG_DIRS; its host")
    down = replace(seen, leader=None, answering=0, settings={})
    shown = render(
        step.manual, readable_fields(entry, instance, replace(night.view(), quorum=down))
    )
    assert f"{voters}=3000@c1:9093" in shown
    night.log.close()


def test_by_hand_the_log_directories_have_the_order_of_the_brokers_setting(
    tmp_path: Path,
) -> None:
    """Kafka puts the metadata log into the first one; its answers have any order."""
    manual = RUNBOOK.replace("On {host}: restart broker {broker} of {cluster}.", "{log_dirs}")
    with closing((night := Night(tmp_path, by_hand=True, runbook=manual)).log):
        instance = CheckpointInstance(
            id="brokers-kraft[1]",
            checkpoint=night.loaded.runbook.checkpoints[0],
            bind={"broker": "1"},
        )
        entry = ClusterEntry.model_validate({"name": "prod"})
        view = night.view()
        known = all_disks(disks(1, directory("/data/d0"), directory("/mnt/ssd")))
        view = replace(view, summary=replace(view.summary, disks=known))
        assert readable_fields(entry, instance, view)["log_dirs"] == "LOG_DIRS"
        settings = SettingsSeen(at_ms=NOW_MS, modes={}, log_dirs={1: ("/mnt/ssd", "/data/d0")})
        view = replace(view, settings=settings)
        assert readable_fields(entry, instance, view)["log_dirs"] == "/mnt/ssd /data/d0"


def test_the_settings_are_polled_for_a_text_that_has_them(tmp_path: Path) -> None:
    class Kept(Fresh):
        sources: frozenset[DataSource] = frozenset()

        def keep_sources(self, sources: Collection[DataSource]) -> None:
            self.sources |= frozenset(sources)

    kept = Kept()
    manual = RUNBOOK.replace("On {host}: restart broker {broker} of {cluster}.", "{log_dirs}")
    with closing((night := Night(tmp_path, by_hand=True, runbook=manual, facts=kept)).log):
        night.look(2)
        assert kept.sources == {DataSource.SETTINGS}


@pytest.mark.parametrize("gate", ["nothing_held", "nothing_held, soak(200ms)"])
def test_by_hand_with_a_gate_that_holds_already_the_person_says_when_it_is_done(
    tmp_path: Path, gate: str
) -> None:
    text = RUNBOOK.replace("opens_when: [finalized]", f"opens_when: [{gate}]")
    night = Night(tmp_path, by_hand=True, runbook=text)
    at_finalize(night)
    approve(night, ANNA)
    approve(night, BORIS)
    result = night.settle()
    assert night.place("finalize").stage is Stage.SHOWN
    assert "decision that the step is done" in result.holds[0]
    assert (result.turn, result.commands) != ("", ())
    night.brokers = (kraft(1), held(2))
    broken = night.settle()
    assert (broken.turn, broken.stage_text) == ("", "do not begin it now")
    assert broken.findings[0].reason == "held: 2"
    assert "decision that the step is done" in broken.holds[-1]
    night.brokers = (kraft(1), kraft(2))
    night.say(
        entries.StepDecided(checkpoint="finalize", decision="done", by=ANNA, reason="I did it")
    )
    night.settle()
    assert night.place("finalize").stage is Stage.PASSED
    night.log.close()


OWN = """
runbook: 1
name: own
title: A gate that only a poll shows
explain: For tests.
conditions:
  - {name: lag, explain: It is low., shell: {argv: ["true"]}}
checkpoints:
  - id: consumers
    title: The consumers move
    explain: By hand.
    step: {name: enter-kraft, manual: Move the consumers.}
    opens_when: [lag]
    rollback: none
    rollback_reason: It is a test.
"""


def test_by_hand_a_gate_that_holds_is_polled_before_the_step(tmp_path: Path) -> None:
    def lag() -> Finding:
        return Finding(condition="lag", verdict=Verdict.SATISFIED, reason="it is 0")

    def now_s() -> float:
        return walker.now_ms / 1000

    with closing(Poller({}, {"lag": OwnPoll(lag)}, clock_s=now_s)) as poller:
        walker = Night(tmp_path, by_hand=True, runbook=OWN, facts=FactFinder(poller))

        def looked() -> bool | None:
            poller.store_answers()
            walker.external = poller.answers.external
            walker.look()
            return walker.place("consumers").stage in (Stage.SHOWN, Stage.PASSED) or None

        until(looked)
        for _ in range(3):
            assert poller.poll_again(60)
            looked()
        assert walker.place("consumers").stage is Stage.SHOWN
        walker.log.close()


def test_a_restart_in_zookeeper_mode_has_no_offset(night: Night) -> None:
    night.settle()
    left = replace(migrating(2), registered_offset=None, epoch=None)
    night.brokers = (migrating(1), left)
    night.settle()
    walk = night.trail.state()
    assert walk is not None
    assert not walk.unexpected, "after a rollback, no registration counts"
    night.brokers = (migrating(1), replace(left, mode=Mode.ZOOKEEPER))
    night.settle()
    walk = night.trail.state()
    assert walk is not None
    assert walk.unexpected[-1][1].endswith(
        "registered again in zookeeper mode, while the current checkpoint was brokers-kraft[1]"
        " (checkpoint 1 of 2, broker 1 of 2)"
    )


def test_who_was_restarted_out_of_turn_is_told_and_waited_for(night: Night) -> None:
    night.settle()
    night.brokers = (migrating(1), held(2, epoch=4711))
    night.settle()
    walk = night.trail.state()
    assert walk is not None
    assert "broker 2 registered again in kraft mode" in walk.unexpected[-1][1]
    assert len(night.outside.started) == 1
    night.brokers = (migrating(1), kraft(2, epoch=4711))
    into_kraft(night, 1)
    assert night.place("brokers-kraft[2]").how == "already"
    assert len(night.outside.started) == 1


def at_finalize(night: Night) -> None:
    night.brokers, night.phase = (kraft(1), kraft(2)), Phase.DUAL_WRITE
    assert night.settle().checkpoint == "finalize"


def approve(night: Night, by: Person, checkpoint: str = "finalize") -> None:
    from orchestrator.execution.approvals import basis

    view = night.view()
    now = basis(view.summary, view.hazards, night.loaded.sha256)
    night.say(entries.Approved(checkpoint=checkpoint, by=by, reason="ok", basis=now))


def test_the_status_has_the_state_that_is_approved_and_what_each_action_concerns(
    night: Night,
) -> None:
    at_finalize(night)
    before = night.settle()
    approve(night, ANNA)
    (given,) = night.place("finalize").approvals
    assert before.basis == given.basis
    assert before.at.keys() == {*before.can}
    night.say(entries.Paused(by=ANNA, reason="lunch"))
    after = night.settle()
    assert {each for each in before.at if after.at.get(each) == before.at[each]} == {
        each for each in before.can if each != "pause"
    }


def test_a_rollback_may_begin_during_a_tick(night: Night, monkeypatch: pytest.MonkeyPatch) -> None:
    night.settle()
    night.outside.ends(0)
    night.settle()  # waits at the gate

    def asked_meanwhile(_: object) -> None:
        monkeypatch.undo()
        night.say(entries.RollbackBegan(path="back", at="brokers-kraft[1]", by=ANNA, reason="lag"))

    monkeypatch.setattr(night.facts, "keep", asked_meanwhile)
    assert night.look().path == "back"
    assert night.settle().outcome == "rolled-back"


def test_what_a_tick_found_is_not_recorded_for_another_execution(
    night: Night, monkeypatch: pytest.MonkeyPatch
) -> None:
    night.settle()
    night.outside.ends(0)
    night.settle()
    night.brokers = (kraft(1), migrating(2))

    def begun_meanwhile(_: object) -> None:
        monkeypatch.undo()
        night.begin_again()

    monkeypatch.setattr(night.facts, "keep", begun_meanwhile)
    assert "has just moved" in night.look().holds[0]
    assert night.place("brokers-kraft[1]").stage is Stage.AHEAD


def test_a_hook_that_never_started_leaves_the_rollback(night: Night) -> None:
    """Kraftgate was killed between the entry and the start: nothing was touched."""
    at_finalize(night)
    approve(night, ANNA)
    approve(night, BORIS)
    night.settle()
    night.say(entries.Paused(by=ANNA, reason="back"))
    night.outside.now, night.outside.recorded = NotStarted(), None
    night.take_up()
    night.settle()
    assert "step_not_started" in night.kinds()
    walk = night.trail.state()
    assert walk is not None
    assert rollback_of(night.loaded.runbook, walk, "finalize", night.view()) == "back"


def test_two_people_must_approve_what_cannot_be_taken_back(night: Night) -> None:
    at_finalize(night)
    approve(night, ANNA)
    approve(night, ANNA)
    assert "approval by 2 people (anna did)" in night.settle().holds[-1]
    assert night.outside.started == []
    approve(night, BORIS)
    night.settle()
    assert night.outside.started[-1][1][1] == "finalize"
    night.phase = Phase.FINALIZED
    night.outside.ends(0)
    night.settle()
    walk = night.trail.state()
    assert walk is not None
    assert walk.outcome == "completed"


def test_one_login_that_approves_under_two_names_is_one_person(night: Night) -> None:
    at_finalize(night)
    approve(night, ANNA)
    approve(night, ANNA.model_copy(update={"who": "boris"}))
    assert "approval by 2 people (anna did)" in night.settle().holds[-1]
    assert night.outside.started == []


def execute(night: Night, checkpoint: str) -> None:
    night.say(
        entries.StepDecided(checkpoint=checkpoint, decision="execute", by=ANNA, reason="tired")
    )


def test_a_shown_step_is_handed_to_its_hook_after_its_guards_and_not_unasked(night: Night) -> None:
    night.by_hand = True
    night.take_up()
    night.settle()
    assert night.place("brokers-kraft[1]").stage is Stage.SHOWN
    night.by_hand = False
    night.take_up()
    started = entries.OrchestratorStarted(
        owner="process 1", version="1", execute=True, hooks_sha256=None, fence=2
    )
    night.say(started)
    assert "kraftgate decide 'brokers-kraft[1]' --execute" in night.settle().holds[-1]
    assert night.outside.started == []
    night.brokers = (migrating(1), held(2))
    execute(night, "brokers-kraft[1]")
    assert night.settle().holds[0].startswith("nothing_held")
    assert night.outside.started == []
    night.brokers = (migrating(1), migrating(2))
    night.settle()
    assert [argv[:3] for _, argv, _ in night.outside.started] == [("do", "enter-kraft", "1")]


def test_a_failed_step_is_not_repeated_with_hooks_that_were_changed(night: Night) -> None:
    """`kraftgate run` has the commands from its start; the operator has corrected the file."""
    started = entries.OrchestratorStarted(
        owner="process 1", version="1", execute=True, hooks_sha256="0" * 64, fence=2
    )
    night.say(started)
    night.settle()
    night.outside.ends(1)
    found = night.settle()
    assert not any("--repeat" in each for each in (*found.commands, *found.holds))
    why = "`runbook.hooks` was changed since kraftgate run started: end it and start it again first"
    assert found.asks == f"the hook ended with exit code 1; {why}"
    night.say(started.model_copy(update={"hooks_sha256": None}))
    assert "--repeat" in night.settle().commands[0]
    night.say(started)
    night.say(
        entries.StepDecided(checkpoint="brokers-kraft[1]", decision="done", by=ANNA, reason="x")
    )
    night.settle()
    night.now_ms += 300_000
    without_effect = night.look()
    assert without_effect.why.endswith(why)
    assert "repeat" not in without_effect.can
    assert not any("--repeat" in each for each in without_effect.commands)


def test_a_step_that_is_handed_over_in_another_state_is_approved_again(night: Night) -> None:
    night.by_hand = True
    night.take_up()
    at_finalize(night)
    approve(night, ANNA)
    approve(night, BORIS)
    night.settle()
    assert night.place("finalize").stage is Stage.SHOWN
    night.by_hand = False
    night.take_up()
    night.brokers = (kraft(1), kraft(2, epoch=4711))
    execute(night, "finalize")
    assert "approval by 2 people" in night.settle().holds[-1]
    assert night.outside.started == []
    approve(night, ANNA)
    approve(night, BORIS)
    night.settle()
    assert [argv[1] for _, argv, _ in night.outside.started] == ["finalize"]


def test_a_step_without_a_hook_is_not_said_to_have_one(night: Night) -> None:
    night.outside.by_hook = frozenset()
    assert "--execute" not in str(night.settle().holds)
    execute(night, "brokers-kraft[1]")
    night.settle()
    assert night.place("brokers-kraft[1]").stage is Stage.SHOWN


def test_an_approval_ends_with_the_state_it_was_given_for(night: Night) -> None:
    at_finalize(night)
    approve(night, ANNA)
    night.settle()
    night.brokers = (kraft(1), kraft(2, epoch=4711))
    night.look()
    approve(night, BORIS)
    result = night.settle()
    assert "approval by 2 people (boris did)" in result.holds[-1]
    (expired,) = [e for e in night.log.entries("prod") if e.kind == "approvals_expired"]
    assert "broker 2" in str(expired.body["changed"])


def test_the_way_back_has_its_own_checkpoints(night: Night) -> None:
    night.settle()
    into_kraft(night, 1)
    night.outside.ends(1)
    night.settle()
    night.say(entries.RollbackBegan(path="back", at="brokers-kraft[2]", by=ANNA, reason="lag"))
    result = night.settle()
    assert result.checkpoint == "brokers-back[1]"
    assert night.outside.started[-1][1][:3] == ("do", "leave-kraft", "1")
    night.outside.ends(0)
    night.brokers = (replace(migrating(1), epoch=990), migrating(2))
    night.settle()
    walk = night.trail.state()
    assert walk is not None
    assert walk.outcome == "rolled-back"
    assert walk.checkpoint("brokers-back[2]").how == "already"


def test_a_runbook_that_was_changed_under_the_walk_holds_it(night: Night) -> None:
    night.loaded = parse(RUNBOOK + "# longer\n", night.outside.folder / "small.yaml")
    night.take_up()
    assert "was changed since this execution began: restore" in night.look().holds[0]
    assert night.outside.started == []


def test_while_the_runbook_differs_the_end_of_its_hook_is_recorded_and_raises_the_alert(
    night: Night,
) -> None:
    night.settle()
    night.loaded = parse(RUNBOOK + "# longer\n", night.outside.folder / "small.yaml")
    night.take_up()
    changed = f"{night.loaded.path} was changed since this execution began"
    assert night.look().asks == f"{changed}; the hook of brokers-kraft[1] runs"
    night.outside.now = Running(ends_ms=night.now_ms - 60_000)
    assert night.look().turn == "Find out on ops1 why the hook of brokers-kraft[1] has not ended"
    night.outside.ends(1)
    found = night.look()
    assert night.kinds()[-1] == "step_ended"
    failed = "brokers-kraft[1] needs a decision, since the hook ended with exit code 1"
    assert (found.asks, found.turn[:7]) == (f"{changed}; {failed}", "Restore")
    assert len(night.outside.started) == 1


def test_the_kept_text_of_a_changed_runbook_is_named(night: Night) -> None:
    """A bundled runbook that an upgrade changed cannot be restored in its place."""
    began = night.loaded
    kept = kept_runbook(night.outside.folder, began.sha256)
    kept.parent.mkdir()
    kept.write_text(RUNBOOK, "utf-8")
    night.loaded = parse(RUNBOOK + "# longer\n", began.path)
    night.take_up()
    result = night.look()
    fix = f"estore {began.path}, or set `runbook.file` to {kept}, the text that it began with"
    assert fix in result.turn
    assert result.commands[0] == "kraftgate help state-and-backup"
    assert f"{fix}, and start `kraftgate run` again" in result.holds[0]
    night.loaded = load(kept)
    night.take_up()
    assert night.settle().checkpoint == "brokers-kraft[1]"


def test_an_execution_that_began_with_the_changed_runbook_asks_for_a_restart(
    night: Night,
) -> None:
    night.settle()
    text = RUNBOOK + "# longer\n"
    night.loaded.path.write_text(text, "utf-8")
    night.say(entries.Aborted(by=ANNA, reason="the runbook is corrected"))
    sha256 = parse(text, night.loaded.path).sha256
    night.say(entries.ExecutionBegan(runbook="small", sha256=sha256, by=ANNA, reason="again"))
    result = night.look()
    assert result.turn == "End `kraftgate run` and start it again"
    assert result.holds[0].startswith(result.turn)
    assert result.commands == ()
    assert "was changed since" not in result.holds[0]


def test_an_execution_of_another_runbook_is_not_said_to_have_a_changed_file(night: Night) -> None:
    """The configuration names another runbook, or `kraftgate run` has one from before."""
    night.say(entries.Aborted(by=ANNA, reason="a disk failed"))
    night.say(entries.ExecutionBegan(runbook="disk", sha256="0" * 64, by=ANNA, reason="again"))
    found = night.look()
    kept = kept_runbook(night.outside.folder, "0" * 64)
    kept.parent.mkdir()
    kept.write_text(RUNBOOK, "utf-8")
    assert found.turn == (
        "If the configuration names disk, end `kraftgate run` and start it again; else set"
        " `runbook.file` to the file of the runbook disk first"
    )
    assert found.why == "`kraftgate run` has the runbook small; the execution is of disk"
    assert found.holds == (f"{found.why}. {found.turn}",)
    assert f"set `runbook.file` to {kept}, the text that it began with first" in night.look().turn


FINAL = """
runbook: 1
name: final
title: What destroys data
explain: For tests.
checkpoints:
  - id: stop
    title: Stop it
    explain: Nothing may come between this and the next.
    needs: [nothing_held, soak(10s)]
    step: {name: finalize, manual: Stop it.}
    opens_when: [nothing_held]
    approval: {people: 1}
    destructive: true
    rollback: none
    rollback_reason: It is a test.
  - id: remove
    title: Remove it
    explain: At once.
    step: {name: enter-kraft, manual: Remove it.}
    opens_when: [nothing_held, soak(10s)]
    approval: {people: 1, given_at: stop}
    destructive: true
    rollback: none
    rollback_reason: It is a test.
"""


@pytest.fixture
def final(tmp_path: Path) -> Iterator[Night]:
    night = Night(tmp_path, runbook=FINAL)
    night.brokers, night.phase = (kraft(1), kraft(2)), Phase.DUAL_WRITE
    yield night
    night.log.close()


def steps_of(night: Night) -> list[str]:
    return [argv[1] for _, argv, _ in night.outside.started]


def test_what_destroys_data_waits_for_its_soak_and_for_a_person(final: Night) -> None:
    assert any(each.startswith("soak(10s)") for each in final.settle().holds)
    final.look(50)
    result = final.settle()
    command = "kraftgate approve stop --reason WHY --confirm prod"
    assert result.holds == (f"approval by a person: {command}",)
    assert (result.turn, result.commands) == ("Approve: Perform step finalize of stop", (command,))
    assert "cannot be undone" in result.why
    assert result.people == 1
    assert steps_of(final) == []
    approve(final, ANNA, "stop")
    final.settle()
    assert steps_of(final) == ["finalize"]


def test_a_soak_that_is_interrupted_begins_anew(final: Night) -> None:
    approve(final, ANNA, "stop")
    final.look(30)
    final.brokers = (kraft(1), held(2))
    final.look()
    final.brokers = (kraft(1), kraft(2))
    final.look()
    approve(final, ANNA, "stop")
    final.look(30)
    assert steps_of(final) == []
    final.look(20)
    assert steps_of(final) == ["finalize"]


def test_a_soak_does_not_count_while_its_gate_is_not_evaluated(tmp_path: Path) -> None:
    """The gate of a step that is not needed is evaluated only as long as it is not needed."""
    gate = 'already: [all_brokers(kraft)]\n    needs: ["broker_mode(2, zookeeper)"]\n    step'
    text = FINAL.replace("step: {name: enter-kraft", f"{gate}: {{name: enter-kraft")
    night = Night(tmp_path, runbook=text)
    night.brokers, night.phase = (kraft(1), kraft(2)), Phase.DUAL_WRITE
    night.settle()
    night.say(entries.CheckpointSkipped(checkpoint="stop", by=ANNA, reason="done by hand"))
    night.look(20)
    night.brokers = (kraft(1), migrating(2))
    night.look(20)
    night.brokers = (kraft(1), kraft(2))
    result = night.look(4)
    assert result.checkpoint == "remove"
    assert result.holds[0].startswith("soak(10s)")
    night.look(45)
    assert night.place("remove").how == "already"
    night.log.close()


def test_a_repeated_step_soaks_again(final: Night) -> None:
    final.look(50)
    approve(final, ANNA, "stop")
    final.look(2)
    final.outside.ends(1)
    final.look(100)
    final.say(entries.StepDecided(checkpoint="stop", decision="repeat", by=ANNA, reason="again"))
    assert any(each.startswith("soak(10s)") for each in final.look(2).holds)
    final.look(50)
    assert steps_of(final) == ["finalize", "finalize"]


def test_what_held_before_a_step_does_not_count_for_the_soak_after_it(final: Night) -> None:
    stopped(final)
    final.look(100)  # the second hook runs: its gate holds all the while, and nobody looks
    final.outside.ends(0)
    assert final.look(4).checkpoint == "remove"
    assert final.place("remove").stage is Stage.STEP_DONE
    final.look(50)
    assert final.place("remove").stage is Stage.PASSED


def stopped(night: Night) -> None:
    """The first step was approved and done; the second one runs."""
    night.look(50)
    approve(night, ANNA, "stop")
    night.look(3)
    night.outside.ends(0)
    night.settle()
    assert night.place("stop").stage is Stage.PASSED
    assert steps_of(night) == ["finalize", "enter-kraft"]


def test_one_approval_covers_two_steps_that_nothing_may_come_between(final: Night) -> None:
    stopped(final)
    assert final.place("remove").approvals == ()


def test_an_approval_that_was_not_given_there_is_asked_for_here(final: Night) -> None:
    final.settle()
    final.say(entries.CheckpointSkipped(checkpoint="stop", by=ANNA, reason="done by hand"))
    result = final.settle()
    assert (result.checkpoint, result.people) == ("remove", 1)
    assert "approval by a person: kraftgate approve remove --reason" in result.holds[-1]
    approve(final, ANNA, "remove")
    final.settle()
    assert steps_of(final) == ["enter-kraft"]


def test_an_approval_of_an_earlier_checkpoint_expires_before_a_step_was_begun(
    final: Night,
) -> None:
    final.settle()
    approve(final, ANNA, "stop")
    final.say(entries.CheckpointSkipped(checkpoint="stop", by=ANNA, reason="done by hand"))
    final.brokers = (kraft(1), kraft(2, epoch=4711))
    result = final.settle()
    assert (result.checkpoint, result.people) == ("remove", 1)
    assert steps_of(final) == []
    (expired,) = [e for e in final.log.entries("prod") if e.kind == "approvals_expired"]
    assert expired.body["checkpoint"] == "stop"


def test_which_brokers_there_are_must_be_known(night: Night) -> None:
    view = replace(night.view(), not_current={DataSource.METADATA_LOG: "it is stale"})
    result = night.executor.tick(view, {})
    assert result is not None
    assert "which brokers there are is not known" in result.holds[0]


def test_no_step_begins_while_processes_of_a_hook_of_unknown_end_run(night: Night) -> None:
    night.settle()
    left = Unknown(why="its supervisor is gone", still_running=(4711,))
    night.outside.now = left
    found = night.settle()
    assert found.asks == (
        "the outcome of the hook is unknown: its supervisor is gone; its processes 4711 still ran"
        " when this was found; the hook of brokers-kraft[1] still has running processes. End them"
        " or wait. If the step is done without them, decide that it is (--done)"
    )
    assert found.holds == (f"a decision, since {found.asks}",)
    assert found.can == ("done", "pause", "abort")
    assert found.commands == (
        "kraftgate help KraftgateStepNeedsDecision",
        "kraftgate decide 'brokers-kraft[1]' --done --reason WHY",
        "kraftgate abort --reason WHY",
    ), "what the commands would refuse is not asked for"
    night.brokers = (kraft(1), migrating(2))  # halfway through the hook
    night.settle()
    night.outside.now = Running()  # its supervisor is alive after all
    night.settle()
    assert [argv[:3] for _, argv, _ in night.outside.started] == [("do", "enter-kraft", "1")]
    night.outside.now = replace(left, still_running=())
    night.settle()
    assert [argv[:3] for _, argv, _ in night.outside.started][1:] == [("do", "enter-kraft", "2")]


@pytest.mark.parametrize("still_running", [(), (4711,)])
def test_a_tick_searches_once_for_the_processes_of_a_hook_of_unknown_end(
    night: Night, monkeypatch: pytest.MonkeyPatch, still_running: tuple[int, ...]
) -> None:
    night.settle()
    night.outside.now = Unknown(why="its supervisor is gone", still_running=still_running)
    night.settle()
    searched: list[str] = []

    def runs(run_id: str) -> bool:
        searched.append(run_id)
        return bool(still_running)

    monkeypatch.setattr(night.outside, "runs", runs)
    assert ("repeat" in night.look().can) is not bool(still_running)
    assert len(searched) == 1
    assert ("repeat" in night.look().can) is not bool(still_running)
    assert len(searched) == 2, "the next tick searches again"


def test_a_gate_that_was_unknown_before_a_step_does_not_show_that_it_is_done(
    tmp_path: Path,
) -> None:
    night = Night(tmp_path, by_hand=True, runbook=OWN)
    for verdict in (Verdict.UNKNOWN, Verdict.SATISFIED):
        night.external = {"lag": Finding(condition="lag", verdict=verdict, reason="x")}
        night.settle()
        assert night.place("consumers").stage is Stage.SHOWN
    night.log.close()


def test_a_new_execution_waits_for_processes_of_a_hook_of_unknown_end(night: Night) -> None:
    night.settle()
    left = Unknown(why="its supervisor is gone", still_running=(4711,))
    night.outside.now = left
    night.settle()
    assert night.place("brokers-kraft[1]").stage is Stage.ASKS
    night.begin_again()
    night.settle()
    assert [argv[:3] for _, argv, _ in night.outside.started] == [("do", "enter-kraft", "1")]
    night.outside.now = replace(left, still_running=())
    night.settle()
    assert [argv[:3] for _, argv, _ in night.outside.started][1:] == [("do", "enter-kraft", "1")]


class Bundled(Night):
    """The bundled runbook in a rollback, by hand; ZooKeeper was last written 10 minutes ago."""

    copied = True
    crashed = False
    differs = True

    def view(self) -> View:
        since_ms = NOW_MS - 600_000 if self.differs else self.now_ms
        log = {DataSource.METADATA_LOG: "no controller answers"} if self.crashed else {}
        replied = SourceStatus(observed_ms=self.now_ms, last_reply_ms=NOW_MS, waiting="refused")
        refused = QuorumSeen(at_ms=self.now_ms, leader=None, refused=("c1:9093",))
        leads = QuorumSeen(at_ms=self.now_ms, leader=3000, answering=1)
        seen = ZooKeeperImage(
            seen_ms=since_ms,
            controller=ZkController(
                id=3000 if self.copied else 1,
                kraft_epoch=1 if self.copied else -1,
                claimed_ms=since_ms,
            ),
            migration=MigrationZnode(
                offset=283 if self.copied else -1,
                controller_id=3000,
                controller_epoch=1,
                metadata_epoch=1,
                written_ms=since_ms,
            ),
        )
        content = Compared(
            at_ms=self.now_ms, compared=40, lasting={"isr_differs": 3} if self.differs else {}
        )
        summary = replace(
            cluster(self.phase, *self.brokers),
            zookeeper=seen,
            content=content,
            disks=DisksImage(),
        )
        return View(
            summary=summary,
            now_ms=self.now_ms,
            stall_after_ms=300_000,
            not_current=log,
            sources={DataSource.METADATA_LOG: replied} if self.crashed else {},
            hazards=hazards(summary, self.now_ms, Currency(not_current=log)),
            settings=SettingsSeen(at_ms=self.now_ms, modes={1: Mode.MIGRATING, 2: Mode.MIGRATING}),
            quorum=refused if self.crashed else leads,
        )

    def approve_the_stop(self) -> ExecutionStatus:
        """Let the soak pass, and approve the stop of the controllers."""
        self.look(75, each_ms=1_000)
        now = basis(self.view().summary, self.view().hazards, self.loaded.sha256)
        self.say(entries.Approved(checkpoint="back-controllers", by=ANNA, reason="ok", basis=now))
        return self.settle()


@pytest.fixture
def bundled(tmp_path: Path) -> Iterator[Bundled]:
    text = shipped()["zk-to-kraft-jbod"].read_text("utf-8")
    night = Bundled(tmp_path, by_hand=True, runbook=text)
    for each in ("preflight", "controllers", "brokers-migration[1]"):
        night.say(entries.CheckpointPassed(checkpoint=each, how="opened", facts={}))
    night.say(entries.CheckpointEntered(checkpoint="brokers-migration[2]"))
    yield night
    night.log.close()


@pytest.mark.parametrize("path", ["to-zookeeper", "from-hybrid"])
def test_the_controllers_are_not_stopped_while_zookeeper_lacks_what_they_have(
    bundled: Bundled, path: str
) -> None:
    """The last broker's restart began the copy; or dual write stopped after the gate opened."""
    bundled.say(entries.RollbackBegan(path=path, at="brokers-migration[2]", by=ANNA, reason="ISR"))
    opened = entries.CheckpointPassed(checkpoint="zookeeper-current", how="opened", facts={})
    bundled.say(opened)
    result = bundled.approve_the_stop()
    assert result.checkpoint == "back-controllers"
    assert any(each.startswith("no_hazard(dual_write_stuck)") for each in result.holds)
    assert any(each.startswith("no_hazard(content_differs)") for each in result.holds)
    assert bundled.place("back-controllers").stage is Stage.ENTERED


def test_controllers_that_crash_do_not_pass_the_step_that_would_stop_them(
    bundled: Bundled,
) -> None:
    """The next step deletes /migration, and with it what ZooKeeper lacks for good."""
    bundled.say(entries.RollbackBegan(path="from-hybrid", at="copied", by=ANNA, reason="ISR"))
    bundled.say(entries.CheckpointPassed(checkpoint="zookeeper-current", how="opened", facts={}))
    bundled.settle()
    bundled.crashed = True
    result = bundled.approve_the_stop()
    assert result.checkpoint == "back-controllers"
    assert any(each.startswith("no_hazard(content_differs)") for each in result.holds)


def test_a_hook_that_stopped_the_controllers_and_failed_may_be_repeated(bundled: Bundled) -> None:
    """Without controllers the guards are unknown; the gate shows that the step was done."""
    bundled.by_hand = False
    bundled.outside.by_hook = frozenset({"deprovision-controllers"})
    bundled.outside.has_zookeeper = True
    bundled.take_up()
    bundled.say(entries.RollbackBegan(path="from-hybrid", at="copied", by=ANNA, reason="ISR"))
    bundled.say(entries.CheckpointPassed(checkpoint="zookeeper-current", how="opened", facts={}))
    bundled.differs = False
    bundled.approve_the_stop()
    assert len(bundled.outside.started) == 1
    bundled.crashed = True
    bundled.outside.ends(1)
    assert bundled.settle().stage == str(Stage.ASKS)
    bundled.say(
        entries.StepDecided(
            checkpoint="back-controllers", decision="repeat", by=ANNA, reason="again"
        )
    )
    assert bundled.settle().checkpoint == "back-znodes"
    assert len(bundled.outside.started) == 1


def test_before_the_copy_the_controllers_are_stopped_whatever_zookeeper_has(
    bundled: Bundled,
) -> None:
    bundled.copied, bundled.phase = False, Phase.PRE_MIGRATION
    bundled.say(
        entries.RollbackBegan(
            path="to-zookeeper", at="brokers-migration[2]", by=ANNA, reason="the disk is bad"
        )
    )
    bundled.approve_the_stop()
    assert bundled.place("back-controllers").stage is Stage.SHOWN


class Disks(Night):
    """The bundled disk-replacement: some directories are bad, some brokers are down."""

    bad: frozenset[int] = frozenset()
    down: frozenset[int] = frozenset()

    def view(self) -> View:
        known = tuple(
            disks(
                id_,
                directory("/d1"),
                directory("/d2", error=56 if id_ in self.bad else 0),
                answered_ms=NOW_MS if id_ in self.down else self.now_ms,
                unreachable="refused" if id_ in self.down else None,
            )
            for id_ in (1, 2, 3)
        )
        summary = replace(
            cluster(Phase.KRAFT, *self.brokers),
            zookeeper=None,
            controllers=(),
            under_replicated=0,
            leaderless=0,
            reassigning=0,
            disks=all_disks(*known),
        )
        return View(
            summary=summary,
            now_ms=self.now_ms,
            stall_after_ms=300_000,
            not_current={},
            configured=frozenset({DataSource.METADATA_LOG, DataSource.LOG_DIRS}),
            hazards=hazards(summary, self.now_ms, CURRENT),
            topics=TopicsSeen(at_ms=self.now_ms, partitions=32, reassigning=0),
            quorum=replace(quorum(), at_ms=self.now_ms),
        )


@pytest.mark.slow
@pytest.mark.parametrize("what", ["a directory fails", "its host reboots"])
def test_a_disk_is_not_replaced_on_the_approval_of_anothers(tmp_path: Path, what: str) -> None:
    """Broker 3 was well when the disk of broker 2 was given up."""
    book = shipped()["disk-replacement"].read_text()
    with closing((night := Disks(tmp_path, runbook=book)).log):
        night.outside.by_hook, night.outside.has_zookeeper = frozenset({"replace-disk"}), False
        night.brokers, night.bad = (kraft(1), kraft(2), kraft(3)), frozenset({2})
        night.settle()
        approve(night, ANNA, "accepted")
        night.settle()
        night.look(75, each_ms=1_000)
        night.settle()
        assert [argv[:3] for _, argv, _ in night.outside.started] == [("do", "replace-disk", "2")]
        night.outside.ends(0)
        if what == "a directory fails":
            night.bad, night.brokers = frozenset({3}), (kraft(1), kraft(2, epoch=900), kraft(3))
        else:
            night.bad, night.down = frozenset(), frozenset({3})
            night.brokers = (kraft(1), kraft(2, epoch=900), kraft(3, fenced=True))
        night.settle()
        night.look(75, each_ms=1_000)
        result = night.settle()
        assert (result.checkpoint, result.stage) == ("disk-replaced[3]", str(Stage.ENTERED))
        assert len(night.outside.started) == 1
        assert any("approval" in each for each in result.holds)
        if what == "a directory fails":
            assert result.why.endswith("one approval is for every broker")


def test_by_hand_a_disk_that_failed_before_its_step_is_replaced_first(tmp_path: Path) -> None:
    """The gate is violated by nature until the disk is replaced, so this asks for the step."""
    book = shipped()["disk-replacement"].read_text()
    with closing((night := Disks(tmp_path, by_hand=True, runbook=book)).log):
        night.brokers, night.bad = (kraft(1), kraft(2), kraft(3)), frozenset({2})
        night.settle()
        approve(night, ANNA, "accepted")
        night.look(75, each_ms=1_000)
        result = night.settle()
        assert (result.checkpoint, result.stage) == ("disk-replaced[2]", str(Stage.SHOWN))
        assert result.turn == "Replace the disk of broker 2 on its host and restart it"
        assert "2. Replace the disk, create a file system" in str(result.shown)
        verdicts = {each.condition: each.verdict for each in result.findings}
        assert verdicts["log_dirs_online(2)"] is Verdict.WAITING
        gate = night.place("disk-replaced[2]").evaluated["opens_when"]
        assert gate.verdict is Verdict.WAITING
        done = entries.StepDecided(
            checkpoint="disk-replaced[2]", decision="done", by=ANNA, reason="replaced"
        )
        night.say(done)
        verdicts = {each.condition: each.verdict for each in night.settle().findings}
        assert verdicts["log_dirs_online(2)"] is Verdict.VIOLATED


def test_by_hand_what_a_step_breaks_is_violated(tmp_path: Path) -> None:
    """The stall began after the step, so the step does not end it."""
    effects = 'already: ["broker_mode(broker, kraft)", "assignments_complete(broker)"]'
    text = RUNBOOK.replace('already: ["broker_mode(broker, kraft)"]', effects)
    with closing((night := Night(tmp_path, by_hand=True, runbook=text)).log):
        assert night.settle().stage == str(Stage.SHOWN)
        night.brokers = (held(1), migrating(2))
        night.now_ms += 400_000
        verdicts = {each.condition: each.verdict for each in night.look().findings}
        assert verdicts["assignments_complete(1)"] is Verdict.VIOLATED


CONTROLLERS = """
runbook: 1
name: small
title: Controllers
explain: For tests.
checkpoints:
  - id: controllers-kraft
    title: Controllers into KRaft mode
    explain: One at a time.
    for_each: controller
    step: {name: restart-controller, manual: "Restart controller {controller}."}
    opens_when: ["controller_mode(controller, kraft)"]
    rollback: none
    rollback_reason: For tests.
"""


def test_the_quorum_is_polled_while_the_controllers_are_unknown(tmp_path: Path) -> None:
    """No condition does it: there is no instance yet."""
    with closing(Poller({DataSource.QUORUM: quorum}, {}, clock_s=lambda: 100.0)) as poller:
        facts = FactFinder(poller)
        night = Night(tmp_path, by_hand=True, runbook=CONTROLLERS, facts=facts)

        def answered() -> QuorumSeen | None:
            assert "which controllers there are is not known" in night.look().holds[0]
            facts.store_answers()
            found = facts.polled().quorum
            return found if isinstance(found, QuorumSeen) else None

        assert until(answered) == quorum()
        night.log.close()
