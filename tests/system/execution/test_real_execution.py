"""A whole window on a real cluster: all faults, a rollback to ZooKeeper, then KRaft.

Two brokers with three directories each, three controllers; a producer and a consumer run all the
time. The first execution meets most faults and is rolled back from its last reversible checkpoint;
the second takes the same cluster to finalized KRaft. The configuration is what `kraftgate init`
wrote; Kraftgate runs in a terminal, and a newcomer who reads only its headline decides about each
failed step and replaces a failed disk. The whole second execution is theirs: every action from its
beginning to the finalized cluster, approvals included, comes from the headline.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from migration.assessment.conditions import Verdict
from migration.image.summary import Mode, Phase
from orchestrator.audit import AUDIT_FILE, AuditLog
from orchestrator.audit.execution.entries import Person
from orchestrator.audit.execution.running_step import RunningStep
from orchestrator.audit.execution.state import ExecutionState, Stage
from orchestrator.errors import ExitCode
from orchestrator.execution.locks.zookeeper_lock import STEP
from orchestrator.execution.route import checkpoints
from orchestrator.lab import Lab, LabSpec
from orchestrator.lab.cluster.zookeeper import ZooKeeperShell
from orchestrator.runbook.load import load
from tests.support.approving import APPROVERS
from tests.support.lab_steps import wait_directory_noticed
from tests.system.execution.traffic import Traffic
from tests.system.execution.window import SMALL, WIDE, Window
from tests.system.newcomer import Headline, Newcomer, perform

pytestmark = [pytest.mark.lab, pytest.mark.spark, pytest.mark.long(minutes=7.5)]

PARTITIONS = 12
ZOOKEEPER_DOWN_S = 60.0
"""What the issue asks for: no event ends it."""
HANGS = "30s"
"""The time after which the hook that hangs is killed; ZooKeeper ends in it, also if it is busy."""


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab(LabSpec(brokers=2, directories=3, controllers=3)) as lab:
        lab.start_zookeeper()
        lab.start_brokers()
        lab.create_topic("orders", PARTITIONS, 2)
        yield lab


@pytest.fixture
def window(lab: Lab, tmp_path: Path) -> Iterator[Window]:
    with Window(tmp_path, lab) as window:
        window.initialize()
        yield window


def test_all_faults(lab: Lab, window: Window) -> None:
    """A short name, so that the configuration's path fits on a line of the small terminal."""
    with Traffic(lab.broker_bootstrap, "orders", PARTITIONS) as traffic:
        _the_plan_names_everything(lab, window)
        _a_step_that_was_shown_is_handed_to_its_hook(window)
        _a_second_orchestrator_is_refused(window)
        _a_hook_fails(lab, window)
        _zookeeper_is_down_for_a_minute(lab, window)
        _the_active_controller_is_killed(lab, window)
        _kraftgate_is_killed_during_a_hook(lab, window)
        window.fault("kraft-broker 2", "freeze")
        _a_directory_fails_before_a_restart(lab, window)
        _a_broker_freezes_after_its_registration(lab, window)
        _back_to_zookeeper(lab, window)
        _through_to_kraft(lab, window)
        acknowledged, consumed = traffic.finish()
    assert not traffic.failed
    assert len(acknowledged) > 1000
    assert acknowledged <= consumed
    assert window.interrupt() == 0
    assert not window.leftovers()
    _everything_is_in_the_audit(window)
    _the_report_tells_both_attempts(window)


def _the_plan_names_everything(lab: Lab, window: Window) -> None:
    plan = window.say("run", "--dry-run")
    for broker in lab.spec.broker_ids:
        assert f"migrate-broker {broker}" in plan
        assert f"kraft-broker {broker}" in plan
    for each in load(window.runbook).runbook.checkpoints:
        assert each.title in plan


def _a_step_that_was_shown_is_handed_to_its_hook(window: Window) -> None:
    """Set up the first fault before this: from here the execution continues unattended."""
    window.fault("migrate-broker 2", "fail")
    window.start_by_hand()
    window.wait_at("controllers", Stage.SHOWN)
    assert "without --execute" in window.ask(*HAND_OVER).stderr
    assert window.interrupt() == 0
    window.start_in_terminal(*WIDE)
    window.wait_true(lambda: any("--execute" in e for e in window.holds()), "the way to hooks")
    assert not window.kinds("step_started")
    window.say(*HAND_OVER)
    window.wait_walk(lambda walk: walk.checkpoint("controllers").attempts == 1, "its hook to run")


HAND_OVER = ("decide", "controllers", "--execute", "--reason", "the hook is ready now")


def _a_second_orchestrator_is_refused(window: Window) -> None:
    """Uses a separate state directory, as on another host."""
    window.wait_walk(lambda walk: walk.execute, "the first one to have the lock")
    other = window.config.with_name("other.yaml")
    text = window.config.read_text("utf-8").replace(str(window.state), f"{window.state}-other")
    lines = [line for line in text.splitlines() if not line.startswith("console:")]
    other.write_text("\n".join(lines), "utf-8")
    command = [sys.executable, "-m", "orchestrator", "run", "--execute", "--config", str(other)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == ExitCode.FAILED
    assert f"process {window.pid}" in done.stderr


def _a_hook_fails(lab: Lab, window: Window) -> None:
    """Broker 1 started first, is ZooKeeper's controller, and is processed last."""
    window.wait_at("brokers-migration[2]", Stage.ASKS)
    window.wait_true(lambda: "KraftgateStepNeedsDecision" in _alerts(window), "the alert")
    (ended,) = [each for each in window.kinds("step_ended") if not each["succeeded"]]
    assert ended["exit_code"] == 1
    assert "hush-hush-123" not in str(ended)
    _follow(lab, window, lambda walk: walk.passed("brokers-migration[2]"))
    window.screen.resize(*SMALL)
    _follow(lab, window, lambda walk: walk.passed("brokers-migration"))
    decided = [each["decision"] for each in window.kinds("step_decided")]
    assert decided[:2] == ["execute", "repeat"]


def _follow(lab: Lab, window: Window, holds: Callable[[ExecutionState], bool]) -> list[Headline]:
    """Do as a newcomer what the headline of the terminal says, until it holds; return it."""
    asked: list[Headline] = []

    def act(now: Headline) -> None:
        asked.append(now)
        if now.text.startswith("Approve: "):
            window.approve_as_asked(now)
        else:
            perform(lab, now, "the screen asks for it")

    newcomer = Newcomer(window, window.headline, act)
    newcomer.follow(lambda _: holds(window.walk_now()))
    return asked


def _zookeeper_is_down_for_a_minute(lab: Lab, window: Window) -> None:
    """Happens while the copy's gate waits for two comparisons of the content."""
    window.wait_at("copied", Stage.ENTERED)
    lab.kill("zookeeper")
    down_s = time.monotonic()
    window.wait_for_event(lambda event: event.kind == "zookeeper_blind")
    window.wait_true(
        lambda: any(each.startswith("copied (unknown)") for each in window.holds()),
        "the gate to hold",
    )
    while time.monotonic() - down_s < ZOOKEEPER_DOWN_S:
        time.sleep(1)
    assert window.walk_now().checkpoint("copied").stage is Stage.ENTERED
    lab.restart("zookeeper")
    window.wait_for_event(lambda event: event.kind == "zookeeper_seen_again")


def _the_active_controller_is_killed(lab: Lab, window: Window) -> None:
    active = f"controller-{lab.active_controller()}"
    lab.kill(active)
    window.wait_true(
        lambda: any(each.startswith("quorum_healthy") for each in window.holds()),
        "the gate to hold for the quorum",
    )
    window.fault("kraft-broker 1", "mark")
    lab.restart(active)


def _kraftgate_is_killed_during_a_hook(lab: Lab, window: Window) -> None:
    """ZooKeeper shows every orchestrator the step until its hook has ended."""
    window.wait_hook("kraft-broker 1")
    window.kill_only_kraftgate()
    (step,) = _recorded_steps(lab)
    assert step.checkpoint == "brokers-kraft[1]"
    window.say("pause", "--reason", "a disk of broker 2")  # nobody walks: it is read afterwards
    window.limit("decommission-zookeeper", HANGS)
    window.start_in_terminal(*SMALL)
    window.wait_walk(
        lambda walk: walk.checkpoint("brokers-kraft[1]").stage is Stage.PASSED,
        "broker 1 to be through",
    )
    started = [e for e in window.kinds("step_started") if e["checkpoint"] == "brokers-kraft[1]"]
    assert len(started) == 1
    window.wait_true(lambda: not _recorded_steps(lab), "the step's record to be removed")


def _recorded_steps(lab: Lab) -> list[RunningStep]:
    shell = ZooKeeperShell(lab.zookeeper_connect)
    shell.open()
    try:
        data = shell.get(STEP)
    finally:
        shell.close()
    return [] if data is None else [RunningStep.from_json(data.decode())]


def _a_directory_fails_before_a_restart(lab: Lab, window: Window) -> None:
    window.wait_at("brokers-kraft[2]", Stage.ENTERED)
    lab.fail_directory(2, 0)
    window.wait_true(
        lambda: any("no_hazard(restart, 2) (violated)" in each for each in window.holds()),
        "the guards to name the hazard",
    )
    window.wait_true(
        lambda: "KraftgateCheckpointViolated" in _alerts(window),
        "the alert, which stands when that has lasted two minutes",
    )
    asked = window.ask("wait", "--condition", "no_hazard(restart, 2)", "--timeout", "1s")
    assert asked.returncode == ExitCode.HAZARD
    done = _follow(lab, window, lambda walk: walk.paused is None)
    assert str(lab.broker(2).directories[0]) in done[0].text
    assert done[-1].text.startswith("Resume ")


def _a_broker_freezes_after_its_registration(lab: Lab, window: Window) -> None:
    """Its hook reports success; the gate sees the broker."""
    window.wait_true(
        lambda: any(each.startswith("broker_unfenced(2)") for each in window.holds()),
        "the gate to hold for the frozen broker",
    )
    lab.thaw("broker-2")
    window.wait_walk(lambda walk: walk.passed("brokers-kraft"), "all brokers in KRaft mode")


def _back_to_zookeeper(lab: Lab, window: Window) -> None:
    window.wait_walk(_stands_at("soak", "finalize"), "the last reversible checkpoint")
    window.say("rollback", "--reason", "the change is called off")
    window.approve_alone("back-controllers")  # and with it back-znodes, which needs no approval
    helps = _an_operator_of_leaders(lab, window)
    window.wait_walk(
        lambda walk: walk.outcome == "rolled-back" or helps(),
        "the rollback",
    )
    summary = window.summary()
    assert summary is not None
    assert summary.phase is Phase.ROLLED_BACK
    assert {lab.mode(f"broker-{each}") for each in lab.spec.broker_ids} == {Mode.ZOOKEEPER}


def _an_operator_of_leaders(lab: Lab, window: Window) -> Callable[[], bool]:
    """Restart the leaders of the partitions that the gate has named out of sync for a minute.

    Kafka 3.9.1, at the change from a KRaft controller to ZooKeeper's: the thread that asks the
    controller can die ("A metric named 'outgoing-byte-total' ... already exists"), and a request
    to the stopped controllers can stay unanswered. No ISR that the leader waits for then grows
    before its restart, which also makes its followers fetch in the new epoch.
    """
    since_s: float | None = None

    def helps() -> bool:
        nonlocal since_s
        now_s = time.monotonic()
        if not any(each.startswith("isr_full") for each in window.holds()):
            since_s = None
        elif since_s is None:
            since_s = now_s
        elif now_s - since_s > HELD_S_MAX:
            stuck = lab.out_of_sync()
            print("out of sync, with their leaders:", stuck)  # noqa: T201
            for leader in sorted(set(stuck.values()) - {-1}):
                if lab.mode(f"broker-{leader}") is Mode.MIGRATING:
                    lab.revert_to_zookeeper(leader)
                else:
                    lab.restart(leader)
            since_s = None
        return False

    return helps


HELD_S_MAX = 60.0


def _through_to_kraft(lab: Lab, window: Window) -> None:
    """A hook fails; while its step waits for a decision, so does a directory of another broker.

    Broker 1 is restarted for its new disk out of order, and the last hook hangs.
    """
    window.fault("kraft-broker 2", "fail")
    window.say("begin", "--reason", "the second attempt")
    assert window.walk_now().execute
    began = window.walk_now().sequence

    def is_at(walk: ExecutionState, id_: str, stage: Stage) -> bool:
        return walk.sequence == began and walk.checkpoint(id_).stage is stage

    asked = _follow(lab, window, lambda walk: is_at(walk, "brokers-kraft[2]", Stage.ASKS))
    assert not any(each.answers for each in asked), "nobody had to decide or approve"
    lab.fail_directory(1, 1)
    wait_directory_noticed(lab, 1, 1)
    window.wait_for_event(lambda each: each.kind == "log_dir_offline" and each.broker == 1)
    asked = _follow(lab, window, lambda walk: is_at(walk, "zookeeper-off", Stage.ENTERED))
    assert any(str(lab.broker(1).directories[1]) in each.text for each in asked)
    assert any(
        "decide 'brokers-kraft[2]'" in command for each in asked for command in each.commands
    )
    named = "broker 1 registered again in kraft mode"
    assert any(named in text for _, text in window.walk_now().unexpected)
    _zookeeper_is_not_stopped_unasked(lab, window)
    window.fault("stop zookeeper", "hang")
    asked += _follow(lab, window, lambda walk: is_at(walk, "zookeeper-off", Stage.ASKS))
    assert "did not end in time" in window.kinds("step_ended")[-1]["how"]
    assert lab.is_alive("zookeeper")
    asked += _follow(lab, window, lambda walk: walk.outcome == "completed")
    assert any("decide zookeeper-off" in each.commands[0] for each in asked if each.answers)
    approvals = [each for each in asked if each.text.startswith("Approve: ")]
    assert len(approvals) == len(APPROVERS) + 1
    summary = window.summary()
    assert summary is not None
    assert summary.phase is Phase.FINALIZED
    assert not lab.is_alive("zookeeper")


def _zookeeper_is_not_stopped_unasked(lab: Lab, window: Window) -> None:
    """Its guards have soaked, and it still waits for an approval."""
    window.wait_true(
        lambda: [each.partition(":")[0] for each in window.holds()] == ["approval by a person"],
        "the guards to have soaked",
    )
    assert lab.is_alive("zookeeper")


def _everything_is_in_the_audit(window: Window) -> None:
    assert "intact" in window.say("audit", "verify")
    runbook = load(window.runbook).runbook
    with AuditLog.open_readonly(window.state / AUDIT_FILE) as log:
        entries = log.entries("lab")
    last = max(e.sequence for e in entries if e.kind == "walk_began")
    opened = {
        str(e.body["checkpoint"]).partition("[")[0]
        for e in entries
        if e.kind == "judged"
        and e.sequence > last
        and e.body["part"] == "opens_when"
        and e.body["verdict"] == Verdict.SATISFIED
    }
    assert opened == {each.id for each in checkpoints(runbook, None) if each.opens_when}
    by = [Person.model_validate(e.body["by"]) for e in entries if e.kind == "approved"]
    assert {each.who for each in by} == set(APPROVERS)
    assert len({each.login for each in by}) == len(APPROVERS)


def _the_report_tells_both_attempts(window: Window) -> None:
    (report,) = json.loads(window.say("report", "--format", "json"))["clusters"]
    assert [
        (each["outcome"], each["metadata_log"], each["walks"]) for each in report["attempts"]
    ] == [
        ("rolled back", 1, [1]),
        ("finalized", 2, [2]),
    ]
    assert "in attempt 2 of 2" in report["summary"][0]
    assert all(each["duration_ms"] != 0 for each in report["phases"])
    finalized = report["phases"][-1]["began_at"]
    unseen = [each for each in report["unseen"] if each["source"] == "zookeeper"]
    assert all(each["ended_at"] <= finalized for each in unseen)


def _alerts(window: Window) -> set[str]:
    """Return the names of the active and pending alerts."""
    status = window.status()
    return {str(each["name"]) for each in [*status["alerts"], *status["pending_alerts"]]}


def _stands_at(*ids: str) -> Callable[[ExecutionState], bool]:
    def there(walk: ExecutionState) -> bool:
        current = walk.current
        return current is not None and current.id.partition("[")[0] in ids

    return there
