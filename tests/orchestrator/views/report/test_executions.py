"""Executions that roll back and begin again, are aborted, by hand, under way, unknown."""

from dataclasses import replace
from pathlib import Path

import pytest

from migration.image.summary import Phase
from orchestrator.api.report.execution import ExecutionAccount
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Body
from orchestrator.audit.execution.state import Stage
from orchestrator.run import execution_status
from tests.orchestrator.views.report.making import ANNA, BORIS, Made, T, finalized
from tests.orchestrator.views.report.night import SHA256, began, follow, keep_runbook, orchestrator
from tests.orchestrator.views.report.reporting import report_of
from tests.orchestrator.views.report.said import ended, entered, judged, passed, shown, started
from tests.scenes.night import cluster, held, kraft, migrating

ID = "brokers-kraft[1]"


def decided(decision: entries.Decision) -> entries.StepDecided:
    return entries.StepDecided(checkpoint=ID, decision=decision, by=ANNA, reason="x")


@pytest.fixture
def made(tmp_path: Path) -> Made:
    made = Made(tmp_path)
    keep_runbook(made)
    made.say(0, follow(1), began(), orchestrator(1))
    return made


def executions(made: Made) -> tuple[ExecutionAccount, ...]:
    return report_of(made).clusters[0].walks


def turned_back(made: Made) -> None:
    made.say(1_000, entered("brokers-kraft[1]"))
    made.say(2_000, judged("brokers-kraft[1]", "needs", ("nothing_held", "violated", "held: 2")))
    made.say(60_000, entries.RollbackBegan(
        path="back", at="brokers-kraft[1]", by=ANNA, reason="out of time"))  # fmt: skip
    made.say(61_000, entered("brokers-back[1]"), started("brokers-back[1]"))
    made.say(70_000, ended("brokers-back[1]"))
    made.say(75_000, passed("brokers-back[1]"), passed("brokers-back"))
    made.say(75_000, entries.ExecutionEnded(outcome="rolled-back"))


def test_an_execution_that_rolled_back_says_where_and_by_which_path(made: Made) -> None:
    turned_back(made)
    made.summary = cluster(Phase.ROLLED_BACK, migrating(1))
    made.store()
    report = report_of(made).clusters[0]
    (execution,) = report.walks
    assert (execution.outcome, execution.way_back, execution.turned_at) == (
        "rolled-back",
        "back",
        "brokers-kraft[1]",
    )
    ahead, back = execution.checkpoints
    assert (ahead.result, ahead.way, ahead.duration_ms) == ("turned back", None, 59_000)
    assert (ahead.holds[0].what, ahead.holds[0].duration_ms) == ("nothing_held", 58_000)
    assert (back.result, back.way, back.title) == ("passed", "back", "Brokers back")
    assert report.summary[0].startswith("The cluster prod is back under ZooKeeper's controller.")
    assert report.summary[1].endswith(
        "was rolled back in 1 min 15 s; one step was taken. It was rolled back from"
        " brokers-kraft[1] by back."
    )
    assert report.decisions[-1].reason == "by back: out of time"


def test_an_execution_that_began_while_the_orchestrator_ran_names_it(made: Made) -> None:
    made.say(1_000, entries.Aborted(by=ANNA, reason="enough"), began("again"))
    made.store()
    first, second = executions(made)
    assert second.orchestrators == first.orchestrators
    assert len(second.orchestrators) == 1


def test_a_process_that_started_after_an_execution_is_none_of_its_own(made: Made) -> None:
    made.say(1_000, entries.ExecutionEnded(outcome="completed"))
    made.say(2_000, entries.OrchestratorEnded(owner="A", reason="it was stopped"))
    later = entries.OrchestratorStarted(
        owner="B", version="1", execute=True, hooks_sha256=None, fence=2
    )
    made.say(100_000, later, began("again"))
    made.store()
    first, second = executions(made)
    assert "B" not in {each.owner for each in first.orchestrators}
    assert [each.owner for each in second.orchestrators] == ["B"]


def test_an_execution_begins_with_the_lock_that_the_process_has(made: Made) -> None:
    made.say(1_000, entries.LockLost(reason="the session expired"))
    made.say(2_000, entries.Aborted(by=ANNA, reason="enough"), began("again"))
    made.say(3_000, entered("brokers-kraft[1]"))
    made.say(8_000, entries.LockAcquired(token=9))
    made.store()
    _, second = executions(made)
    (hold,) = second.checkpoints[0].holds
    assert (hold.what, hold.duration_ms) == ("the orchestrator's lock", 5_000)


def test_the_end_of_a_hook_of_an_earlier_execution_ends_no_reason(made: Made) -> None:
    id_ = "brokers-kraft[1]"
    made.say(1_000, entered(id_), started(id_))
    made.say(2_000, entries.Aborted(by=ANNA, reason="enough"), began("again"))
    made.say(3_000, entered(id_), judged(id_, "needs", ("nothing_held", "waiting", "held: 2")))
    made.say(5_000, ended(id_))
    made.say(9_000, judged(id_, "needs"))
    made.store()
    _, second = executions(made)
    hold = next(each for each in second.checkpoints[0].holds if each.what == "nothing_held")
    assert (hold.duration_ms, second.checkpoints[0].steps) == (6_000, ())


def test_a_step_that_took_effect_before_its_hook_failed_was_needed(made: Made) -> None:
    id_ = "brokers-kraft[1]"
    made.say(1_000, entered(id_), started(id_))
    made.say(5_000, ended(id_))
    made.say(9_000, passed(id_, "already"))
    made.store()
    (walk,) = executions(made)
    assert walk.checkpoints[0].result == "passed"


def test_a_second_execution_is_one_of_its_own(made: Made) -> None:
    turned_back(made)
    made.say(1_000_000, began("next night"), orchestrator(2), entered("brokers-kraft[1]"))
    made.say(1_100_000, passed("brokers-kraft[1]", "already"))
    made.say(1_200_000, entries.ExecutionEnded(outcome="completed"))
    made.store()
    report = report_of(made).clusters[0]
    first, second = report.walks
    assert (first.number, first.outcome, first.duration_ms) == (1, "rolled-back", 75_000)
    assert (second.number, second.outcome, second.duration_ms) == (2, "completed", 200_000)
    assert second.checkpoints[0].result == "not needed"
    assert [each.walk for each in report.decisions] == [1, 1, 2]
    assert report.window.duration_ms == 1_200_000
    assert "Execution 1 of 2" in report.summary[1]
    assert "Execution 2 of 2" in report.summary[2]


def test_an_execution_without_a_current_checkpoint_is_at_none(made: Made) -> None:
    made.say(1_000, entered("brokers-kraft[1]"))
    made.say(5_000, entries.Aborted(by=BORIS, reason="enough"), began("again"))
    made.store()
    (line,) = (one for one in report_of(made).clusters[0].summary if "Execution 2 of 2" in one)
    assert line == "Execution 2 of 2 of small has not ended; it has entered no checkpoint yet."
    made.say(6_000, entered("brokers-kraft[1]"), passed("brokers-kraft[1]"))
    (line,) = (one for one in report_of(made).clusters[0].summary if "Execution 2 of 2" in one)
    assert "has not ended; it is between two checkpoints. In " in line


def test_an_aborted_execution_has_ended_where_it_was(made: Made) -> None:
    made.say(1_000, entered("brokers-kraft[1]"))
    made.say(5_000, entries.Aborted(by=BORIS, reason="the wrong cluster"))
    made.store()
    (execution,) = executions(made)
    assert (execution.outcome, execution.checkpoints[0].result) == ("aborted", "aborted")
    assert report_of(made).clusters[0].window.ended


def test_a_skipped_checkpoint_names_who_skipped_it(made: Made) -> None:
    made.say(1_000, entered("preflight"))
    made.say(5_000, entries.CheckpointSkipped(
        checkpoint="preflight", by=BORIS, reason="known"))  # fmt: skip
    made.store()
    passed_by = executions(made)[0].checkpoints[0]
    assert (passed_by.result, passed_by.by) == ("skipped", ("boris (login boris.b)",))


def test_several_names_of_one_login_are_one_approval(made: Made) -> None:
    """The second one is for another state; the first has not expired yet."""
    carol = ANNA.model_copy(update={"who": "carol"})
    made.say(1_000, entered("finalize"))
    for who, phase in ((ANNA, "hybrid"), (carol, "dual-write")):
        made.say(2_000, entries.Approved(
            checkpoint="finalize", by=who, reason="", basis={"phase": phase}))  # fmt: skip
    made.store()
    (finalize,) = executions(made)[0].checkpoints
    assert finalize.by == ("carol (login anna.a)",)


def test_a_passed_checkpoint_keeps_its_approvals(made: Made) -> None:
    """They may cover a later checkpoint, and expire there."""
    made.say(1_000, entered("finalize"))
    made.say(2_000, entries.Approved(checkpoint="finalize", by=ANNA, reason="", basis={}))
    made.say(3_000, passed("finalize"))
    made.say(4_000, entries.ApprovalsExpired(checkpoint="finalize", changed=("phase",)))
    made.store()
    (finalize,) = executions(made)[0].checkpoints
    assert finalize.by == ("anna (login anna.a)",)


def test_a_step_by_hand_has_its_text_and_no_command(made: Made) -> None:
    made.say(1_000, entered("brokers-kraft[1]"), shown("brokers-kraft[1]", "On b1: restart."))
    made.say(61_000, passed("brokers-kraft[1]"))
    made.store()
    (step,) = executions(made)[0].checkpoints[0].steps
    assert (step.outcome, step.text, step.argv) == ("by hand", "On b1: restart.", ())
    assert step.took_ms == 60_000


@pytest.mark.parametrize(
    ("later", "outcome", "taken"),
    [
        ([], "shown", "no steps were taken"),
        ([decided("done")], "by hand", "one step was taken"),
        ([decided("execute"), started(ID), ended(ID)], "shown", "one step was taken"),
    ],
    ids=["shown", "done", "executed"],
)
def test_a_step_that_was_only_shown_was_not_taken(
    made: Made, later: list[Body], outcome: str, taken: str
) -> None:
    made.say(1_000, entered(ID), shown(ID))
    made.say(2_000, *later)
    made.say(3_000, entries.RollbackBegan(path="back", at=ID, by=ANNA, reason="out of time"))
    made.store()
    (execution,) = executions(made)
    first = execution.checkpoints[0].steps[0]
    assert (first.outcome, first.took_ms) == (outcome, 1_000 if later else 2_000)
    assert taken in report_of(made).clusters[0].summary[1]


def test_in_its_middle_it_says_where_it_stands_and_why(made: Made) -> None:
    made.say(1_000, entered("brokers-kraft[1]"))
    made.say(2_000, judged("brokers-kraft[1]", "needs", ("nothing_held", "waiting", "held: 2")))
    made.summary = cluster(Phase.HYBRID, migrating(1), held(2, registered_offset=None))
    made.store()
    made.status("source.json", 30_000)
    said = execution_status.ExecutionStatus(
        at_ms=T + 30_000, runbook="small", checkpoint="brokers-kraft[1]", title=None,
        stage=Stage.ENTERED, holds=("nothing_held: held: 2",), findings=(), shown=None, path=None,
        paused=None, outcome=None, execute=True, asks=None, places=(), unexpected=(),
        place="checkpoint 1 of 2, broker 1 of 2",
    )  # fmt: skip
    execution_status.write(made.state / "clusters" / "prod" / execution_status.EXECUTION_FILE, said)
    report = report_of(made).clusters[0]
    (execution,) = report.walks
    assert (execution.outcome, execution.stands_at) == (None, "brokers-kraft[1]")
    assert execution.waiting_for == ("nothing_held: held: 2",)
    (place,) = execution.checkpoints
    assert (place.result, place.duration_ms) == ("stands", 29_000)
    assert place.holds[0].ended_at is None
    assert not report.window.ended
    assert report.attention == ("The window has not ended: this report is incomplete.",)
    assert (
        "has not ended; it is at brokers-kraft[1] (checkpoint 1 of 2, broker 1 of 2):"
        " nothing_held: held: 2."
    ) in report.summary[1]
    assert "Still held: 2." in report.summary


def test_the_timeline_folds_what_was_checked(made: Made) -> None:
    made.say(1_000, entered("brokers-kraft[1]"))
    for n in range(92):
        said = ("nothing_held", "waiting", f"held: {n}")
        made.say(2_000 + n, judged("brokers-kraft[1]", "needs", said))
    made.say(3_000, judged("brokers-kraft[1]", "needs"))
    made.store()
    checked = [e.text for e in report_of(made).clusters[0].happened if e.kind == "judged"]
    assert checked == ["the guards of brokers-kraft[1] hold (checked 93 times)"]


def test_the_second_instance_of_an_approved_checkpoint_waits_for_nobody(made: Made) -> None:
    made.say(1_000, entered("finalize"))
    for who in (ANNA, BORIS):
        made.say(2_000, entries.Approved(checkpoint="finalize", by=who, reason="", basis={}))
    made.say(3_000, started("finalize"))
    made.say(4_000, ended("finalize", exit_code=1))
    made.say(5_000, entries.StepDecided(
        checkpoint="finalize", decision="done", by=ANNA, reason="it is"))  # fmt: skip
    made.store()
    (finalize,) = executions(made)[0].checkpoints
    holds = {each.what: each.duration_ms for each in finalize.holds}
    assert holds["approval by 2 people"] == 1_000
    assert finalize.steps[0].decided == "done, by anna: it is"


def test_what_no_step_did_is_told(made: Made) -> None:
    made.say(1_000, entries.UnexpectedChange(text="broker 2 registered anew", broker=2))
    made.say(2_000, entries.LockLost(reason="the session expired"), entries.LockAcquired(token=9))
    made.store()
    report = report_of(made).clusters[0]
    (noticed,) = report.walks[0].unexpected
    assert (noticed.broker, noticed.text) == (2, "broker 2 registered anew")
    assert "the lock was lost: the session expired" in {each.text for each in report.happened}


def test_without_the_runbook_s_text_there_are_no_titles(made: Made) -> None:
    made.say(1_000, entered("brokers-kraft[1]"))
    made.store()
    (made.state / "runbooks" / f"{SHA256}.yaml").write_text("runbook: 1\n")
    (execution,) = executions(made)
    assert not execution.runbook_kept
    assert execution.checkpoints[0].title is None


def test_without_a_runbook_the_window_is_the_migration(tmp_path: Path) -> None:
    made = Made(tmp_path)
    made.tell("phase_changed", 60_000, offset=4, was="zookeeper", now="pre-migration")
    made.tell("phase_changed", 90_000, offset=400, was="pre-migration", now="finalized")
    made.summary = finalized(kraft(1))
    made.store()
    report = report_of(made).clusters[0]
    assert (report.window.of, report.window.ended) == ("migration", True)
    assert (report.window.began_at, report.window.ended_at) == (T + 60_000, T + 90_000)
    assert report.walks == ()
    assert report.attention[0].startswith("There is no audit trail")


def test_a_migration_has_not_ended_while_a_broker_is_held(tmp_path: Path) -> None:
    made = Made(tmp_path)
    made.tell("phase_changed", 60_000, offset=4, was="dual-write", now="finalized")
    made.summary = cluster(Phase.FINALIZED, kraft(1), held(2))
    made.store()
    assert not report_of(made).clusters[0].window.ended


def test_a_cluster_that_never_migrated_was_followed(tmp_path: Path) -> None:
    """An earlier release recorded the phase `zookeeper` before the first record."""
    made = Made(tmp_path)
    made.tell("phase_changed", 1_000, offset=4, was="zookeeper", now="kraft")
    made.summary = replace(cluster(Phase.KRAFT, kraft(1)), observed_ms=T + 9_000)
    made.store()
    report = report_of(made).clusters[0]
    assert report.window.of == "followed"
    assert not any("not ended" in each for each in report.attention)
    assert "is in KRaft mode and did not migrate" in report.summary[0]
    assert [(each.phase, each.offset) for each in report.phases] == [("kraft", 4)]
    assert "the phase is kraft" in [each.text for each in report.happened]
