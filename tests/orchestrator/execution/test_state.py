"""The execution's state follows from its entries alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migration.assessment.conditions import Verdict
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Approved, Body, Person
from orchestrator.audit.execution.state import (
    CheckpointState,
    ExecutionState,
    Stage,
    fold,
)
from orchestrator.execution.route import was_begun

ANNA = Person(who="anna", login="anna", host="ops1", uid=1001)
BORIS = Person(who="boris", login="boris", host="ops1", uid=1002)
BEGAN = entries.ExecutionBegan(runbook="zk-to-kraft-jbod", sha256="ab", by=ANNA, reason="tonight")


def walked(*bodies: Body) -> ExecutionState:
    walk = fold(None, [(n, 1000 * n, body) for n, body in enumerate((BEGAN, *bodies), start=1)])
    assert walk is not None
    return walk


def started(id_: str = "copy", *, open_before: bool = False) -> entries.StepStarted:
    return entries.StepStarted(
        checkpoint=id_,
        run="r1",
        attempt=1,
        argv=("do",),
        token=1,
        open_before=open_before,
        facts={},
    )


def ended(id_: str = "copy", exit_code: int | None = 0) -> entries.StepEnded:
    return entries.StepEnded(
        checkpoint=id_,
        run="r1",
        succeeded=exit_code == 0,
        how=f"ended with exit code {exit_code}",
        exit_code=exit_code,
        signal=None,
        took_ms=5,
        output="",
        output_bytes=0,
        output_sha256="",
        still_running=(),
    )


NOT_STARTED = entries.StepNotStarted(checkpoint="copy", run="r1")


def entered(id_: str = "copy") -> entries.CheckpointEntered:
    return entries.CheckpointEntered(checkpoint=id_)


def passed(id_: str = "copy") -> entries.CheckpointPassed:
    return entries.CheckpointPassed(checkpoint=id_, how="opened", facts={})


def approved(by: Person, phase: str = "hybrid") -> entries.Approved:
    return entries.Approved(checkpoint="copy", by=by, reason="ok", basis={"phase": phase})


@pytest.mark.parametrize("was_started", [True, False])
def test_a_command_that_the_system_did_not_start_began_nothing(was_started: bool) -> None:
    refused = ended(exit_code=None).model_copy(update={"started": was_started})
    state = walked(entered(), started(), refused).checkpoint("copy")
    assert (state.stage, was_begun(state)) == (Stage.ASKS, was_started)


def test_nothing_before_it_begins() -> None:
    assert fold(None, [(1, 1000, entered())]) is None


@pytest.mark.parametrize(
    ("bodies", "stage", "asks"),
    [
        ((entered(),), Stage.ENTERED, None),
        ((entered(), started()), Stage.RUNNING, None),
        ((entered(), started(), ended()), Stage.STEP_DONE, None),
        (
            (entered(), started(), ended(exit_code=1)),
            Stage.ASKS,
            "the hook ended with exit code 1",
        ),
        ((entered(), started(), NOT_STARTED), Stage.ENTERED, None),
        ((entered(), started(), ended(), passed()), Stage.PASSED, None),
    ],
)
def test_a_step(bodies: tuple[Body, ...], stage: Stage, asks: str | None) -> None:
    place = walked(*bodies).checkpoint("copy")
    assert (place.stage, place.asks) == (stage, asks)


def test_a_repeated_step_needs_its_guards_again_and_a_done_one_its_gate() -> None:
    failed = (entered(), started(), ended(exit_code=1))
    for decision, stage in (("repeat", Stage.ENTERED), ("done", Stage.STEP_DONE)):
        decided = entries.StepDecided.model_validate(
            {"checkpoint": "copy", "decision": decision, "by": ANNA, "reason": "seen"}
        )
        place = walked(*failed, decided).checkpoint("copy")
        assert (place.stage, place.asks, place.attempts) == (stage, None, 1)


def test_of_an_unknown_end_it_is_remembered_whether_the_gate_can_tell() -> None:
    unknown = entries.StepUnknown(checkpoint="copy", run="r1", why="the machine went down")
    place = walked(entered(), started(open_before=True), unknown).checkpoint("copy")
    assert (place.outcome_unknown, place.open_before, place.asks) == (
        True,
        True,
        "the machine went down",
    )
    again = walked(entered(), started(), unknown, started()).checkpoint("copy")
    assert (again.outcome_unknown, again.stage) == (False, Stage.RUNNING)


def test_one_person_approves_once_and_expiry_ends_all() -> None:
    two = walked(entered(), approved(ANNA), approved(BORIS), approved(ANNA, "dual-write"))
    assert [(each.by.who, each.basis["phase"]) for each in two.checkpoint("copy").approvals] == [
        ("boris", "hybrid"),
        ("anna", "dual-write"),
    ]
    expired = entries.ApprovalsExpired(checkpoint="copy", changed=("phase: was hybrid, is x",))
    none = walked(entered(), approved(ANNA), expired)
    assert none.checkpoint("copy").approvals == ()


@pytest.mark.parametrize(
    "again",
    [
        ANNA.model_copy(update={"who": "boris"}),
        ANNA.model_copy(update={"login": "uid 1001", "who": "boris"}),
        ANNA.model_copy(update={"uid": None, "who": "boris"}),
    ],
)
def test_one_login_counts_once_whatever_name_it_gives(again: Person) -> None:
    place = walked(entered(), approved(ANNA), approved(again)).checkpoint("copy")
    assert [each.by for each in place.approvals] == [ANNA]
    changed = approved(again).model_copy(update={"basis": {"phase": "dual-write"}})
    place = walked(entered(), approved(ANNA), changed).checkpoint("copy")
    assert [each.by for each in place.approvals] == [again], "the state is another one"


def test_an_approval_of_an_older_version_counts_by_the_login_that_it_has() -> None:
    old = {
        "checkpoint": "copy",
        "by": {"who": "boris", "login": "anna", "host": "ops1"},
        "reason": "ok",
        "basis": {"phase": "hybrid"},
    }
    place = walked(entered(), approved(ANNA), Approved.model_validate(old)).checkpoint("copy")
    assert [each.by.words() for each in place.approvals] == ["anna"]


def test_a_shown_step_that_is_handed_to_its_hook_is_before_its_step_again() -> None:
    step = entries.StepShown(checkpoint="copy", text="Copy it.", open_before=False, facts={})
    decided = entries.StepDecided(checkpoint="copy", decision="execute", by=ANNA, reason="tired")
    place = walked(entered(), step, decided).checkpoint("copy")
    assert (place.stage, place.shown) == (Stage.ENTERED, "Copy it.")


def test_a_checkpoint_for_each_broker_is_passed_by_its_own_entry() -> None:
    one = walked(entered("kraft[1]"), passed("kraft[1]"))
    assert not one.passed("kraft")
    assert one.current is None
    both = walked(entered("kraft[1]"), passed("kraft[1]"), passed("kraft"))
    assert both.passed("kraft")


def test_what_stood_before_the_turn_is_not_passed() -> None:
    turn = entries.RollbackBegan(path="back", at="copy", by=ANNA, reason="lag")
    walk = walked(passed("controllers"), entered(), turn, entered("back/brokers"))
    assert walk.path == "back"
    assert not walk.passed("copy")
    assert walk.passed("controllers")
    assert walk.current == CheckpointState(id="back/brokers", stage=Stage.ENTERED, entered_ms=5000)


def test_a_new_walk_knows_nothing_of_the_one_before() -> None:
    walk = walked(entered(), entries.Aborted(by=ANNA, reason="enough"), BEGAN)
    assert (walk.checkpoints, walk.outcome, walk.sequence) == ({}, None, 4)


@pytest.mark.parametrize(
    "body",
    [
        BEGAN,
        approved(BORIS),
        started(),
        ended(exit_code=None),
        entries.Evaluated(
            checkpoint="copy",
            part="needs",
            verdict=Verdict.UNKNOWN,
            findings=(
                entries.RecordedFinding(
                    condition="isr_full",
                    verdict=Verdict.UNKNOWN,
                    reason="stale",
                    evidence=("a", "b"),
                ),
            ),
            facts={"metadata_offset": 7},
        ),
    ],
)
def test_an_entry_comes_back_from_the_trail_as_it_was(body: Body) -> None:
    assert type(body).model_validate(body.as_json()) == body


def orchestrated(*, execute: bool) -> entries.OrchestratorStarted:
    return entries.OrchestratorStarted(
        owner="process 1", version="1", execute=execute, hooks_sha256=None, fence=1
    )


ABORTED = entries.Aborted(by=ANNA, reason="enough")
LOCK_LOST = entries.LockLost(reason="its session is lost")
LOCK_HELD = entries.LockAcquired(token=2)


def test_a_new_walk_inherits_the_orchestrator_and_its_lock() -> None:
    walk = walked(orchestrated(execute=True), LOCK_LOST, ABORTED, BEGAN)
    assert (walk.execute, walk.lock_lost) == (True, "its session is lost")


def test_a_new_walk_inherits_the_hook_that_still_runs_until_its_end() -> None:
    walk = walked(entered(), started(), ABORTED, BEGAN)
    assert walk.left_running == walked(entered(), started()).checkpoint("copy")
    after = walked(entered(), started(), ABORTED, BEGAN, ended(exit_code=1))
    assert (after.left_running, after.checkpoints) == (None, {})


def test_an_aborted_walk_knows_the_hook_that_still_runs_until_its_end() -> None:
    walk = walked(entered(), started(), ABORTED)
    assert walk.left_running == walked(entered(), started()).checkpoint("copy")
    after = walked(entered(), started(), ABORTED, ended(exit_code=1))
    assert (after.left_running, after.checkpoint("copy").stage) == (None, Stage.ASKS)


STEPS = st.sampled_from(
    [
        entered(),
        started(),
        ended(),
        ended(exit_code=2),
        passed(),
        approved(ANNA),
        entries.Paused(by=ANNA, reason="tea"),
        entries.Resumed(by=ANNA, reason="on"),
        entered("next"),
        passed("next"),
        BEGAN,
        ABORTED,
        LOCK_LOST,
        LOCK_HELD,
        orchestrated(execute=True),
        orchestrated(execute=False),
    ]
)


@given(st.lists(STEPS, max_size=30), st.integers(0, 30))
def test_it_does_not_matter_in_how_many_reads_the_trail_came(bodies: list[Body], cut: int) -> None:
    told = [(n, n, body) for n, body in enumerate([BEGAN, *bodies], start=1)]
    assert fold(fold(None, told[:cut]), told[cut:]) == fold(None, told)


@given(st.lists(STEPS, max_size=30))
def test_whether_hooks_are_run_is_what_the_last_orchestrator_said(bodies: list[Body]) -> None:
    said = [each.execute for each in bodies if isinstance(each, entries.OrchestratorStarted)]
    assert walked(*bodies).execute is (said[-1] if said else False)


@given(st.lists(STEPS, max_size=30))
def test_whether_the_lock_is_held_is_what_was_said_last(bodies: list[Body]) -> None:
    said = [getattr(b, "reason", None) for b in bodies if b.kind in LOCK_KINDS]
    assert walked(*bodies).lock_lost == (said[-1] if said else None)


LOCK_KINDS = ("lock_lost", "lock_held", "orchestrator_started")


@pytest.mark.parametrize(
    "then",
    [
        [entries.RollbackBegan(path="back", at="brokers-kraft[2]", by=BORIS, reason="x")],
        [
            entries.Aborted(by=BORIS, reason="x"),
            entries.ExecutionBegan(runbook="r", sha256="ab", by=BORIS, reason="x"),
        ],
    ],
    ids=["a rollback", "a new execution"],
)
def test_a_pause_lasts_until_somebody_ends_it(then: list[Body]) -> None:
    paused = entries.Paused(by=ANNA, reason="until the disk is checked")
    assert walked(entered("brokers-kraft[2]"), paused, *then).paused == paused
