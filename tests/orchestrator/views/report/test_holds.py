"""What held a checkpoint: each reason from when it began to when it ended, each time counted."""

import pytest

from migration.assessment.conditions import Verdict
from orchestrator.api.report.execution import Hold
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Body, RecordedFinding
from orchestrator.audit.execution.state import Stage, fold
from orchestrator.runbook.model import Approval, Checkpoint, Step
from orchestrator.views.report.accounts.checkpoints import CheckpointRecord
from tests.orchestrator.views.report.making import ANNA, BORIS
from tests.orchestrator.views.report.said import ended, entered, judged, passed, shown, started

AS_OF = 100_000
ID = "brokers-kraft[3]"


BEGAN = entries.ExecutionBegan(runbook="small", sha256="ab", by=ANNA, reason="CHG-1")


class Held:
    """One checkpoint of an execution that entered it at 0, and what holds it.

    `has_step` None: the runbook's text is not available; `before`: entries from before 0.
    """

    def __init__(
        self,
        *before: Body,
        people: int = 0,
        given_at: str | None = None,
        has_step: bool | None = True,
    ) -> None:
        said = [BEGAN, *before, entered(ID)]
        state = fold(None, [(n, 0, body) for n, body in enumerate(said, start=1)])
        assert state is not None
        self.state = state
        known = Checkpoint.model_construct(
            id="brokers-kraft",
            title="Brokers",
            step=Step(name="restart", manual="Restart it.") if has_step else None,
            approval=Approval.model_construct(people=people, given_at=given_at) if people else None,
        )
        self.record = CheckpointRecord(
            id=ID, known=None if has_step is None else known, entered_ms=0
        )
        self.record.update(0, state)

    def take(self, at_ms: int, body: Body) -> None:
        state = fold(self.state, [(3, at_ms, body)])
        assert state is not None
        self.state = state
        if getattr(body, "checkpoint", None) == ID:
            self.record.take(at_ms, body)
        self.record.update(at_ms, state)

    def runs(self, at_ms: int, *, runs: bool) -> None:
        """An orchestrator runs from now on, or none does."""
        self.record.is_away = not runs
        self.record.update(at_ms, self.state)

    def close(self, at_ms: int) -> None:
        self.take(at_ms, passed(ID))

    def holds(self) -> tuple[Hold, ...]:
        return self.record.account(self.state, AS_OF).holds


def held(*said: tuple[int, Body], people: int = 0, has_step: bool | None = True) -> Held:
    holding = Held(people=people, has_step=has_step)
    for at_ms, body in said:
        holding.take(at_ms, body)
    return holding


def told(held: Held) -> dict[str, Hold]:
    return {each.what: each for each in held.holds()}


PAUSED = entries.Paused(by=ANNA, reason="lunch")
RESUMED = entries.Resumed(by=ANNA, reason="back")


def test_a_guard_holds_until_it_is_judged_to_hold_no_more() -> None:
    holding = held(
        (1_000, judged(ID, "needs", ("isr_full", "waiting", "12 partitions"))),
        (4_000, judged(ID, "needs", ("isr_full", "waiting", "3 partitions"))),
        (9_000, judged(ID, "needs")),
        (10_000, started(ID)),
    )
    hold = told(holding)["isr_full"]
    assert (hold.kind, hold.duration_ms, hold.times, hold.verdict) == ("guard", 8_000, 1, "waiting")
    assert (hold.reason, hold.last_reason) == ("12 partitions", "3 partitions")
    assert (hold.began_at, hold.ended_at) == (1_000, 9_000)


def test_conditions_hold_at_the_same_time_and_again() -> None:
    isr, fenced = ("isr_full", "waiting", "a"), ("no_broker_fenced", "violated", "b")
    holding = held(
        (1_000, judged(ID, "needs", isr, fenced)),
        (2_000, judged(ID, "needs", isr)),
        (3_000, judged(ID, "needs", isr, fenced)),
        (7_000, judged(ID, "needs", fenced)),
        (8_000, started(ID)),
    )
    found = told(holding)
    assert (found["isr_full"].duration_ms, found["isr_full"].times) == (6_000, 1)
    assert (found["no_broker_fenced"].duration_ms, found["no_broker_fenced"].times) == (6_000, 2)


def test_the_gravest_verdict_is_kept() -> None:
    holding = held(
        (1_000, judged(ID, "needs", ("isr_full", "waiting", "a"))),
        (2_000, judged(ID, "needs", ("isr_full", "violated", "b"))),
        (3_000, judged(ID, "needs", ("isr_full", "unknown", "c"))),
        (4_000, started(ID)),
    )
    assert told(holding)["isr_full"].verdict == "violated"


def test_the_confirmation_holds_too() -> None:
    """What holds by the last data is polled once more before it is believed."""
    holding = held(
        (1_000, judged(ID, "needs")),
        (9_500, started(ID)),
        (20_000, ended(ID)),
        (21_000, judged(ID, "opens_when", ("isr_full", "waiting", "a"))),
        (30_000, judged(ID, "opens_when")),
    )
    holding.close(39_000)
    found = told(holding)
    assert found["confirmation of its guard"].duration_ms == 8_500
    assert found["confirmation of its gate"].duration_ms == 9_000
    assert found["isr_full"].kind == "gate"
    assert found["its command"].duration_ms == 10_500
    assert holding.holds()[0].what == "its command"  # the longest first


def test_the_wait_for_an_approver_is_not_the_confirmation_of_the_guards() -> None:
    """The guards hold all the while; the confirmation holds from the last approval to the step."""
    holding = Held(people=1)
    holding.take(1_000, judged(ID, "needs"))
    holding.take(600_000, entries.Approved(checkpoint=ID, by=ANNA, reason="soaked", basis={}))
    holding.take(640_000, started(ID))
    holding.close(640_000)
    found = told(holding)
    assert found["approval by a person"].duration_ms == 600_000
    assert found["confirmation of its guard"].duration_ms == 40_000
    assert holding.holds()[0].kind == "approval"


def test_a_pause_and_a_time_without_an_orchestrator_are_not_the_confirmation() -> None:
    holding = Held()
    holding.take(1_000, judged(ID, "needs"))
    holding.take(2_000, PAUSED)
    holding.runs(5_000, runs=False)
    holding.take(6_000, RESUMED)
    holding.runs(9_000, runs=True)
    holding.take(11_000, started(ID))
    found = told(holding)
    assert found["a pause"].duration_ms == 4_000
    assert found["kraftgate run"].duration_ms == 4_000
    assert found["confirmation of its guard"].duration_ms == 1_000 + 2_000


def test_before_a_step_its_gate_holds_nothing() -> None:
    """It is asked whether it is open already; the step is what opens it."""
    holding = held(
        (1_000, judged(ID, "needs")),
        (2_000, judged(ID, "opens_when", ("broker_mode(3, kraft)", "waiting", "not yet"))),
        (8_000, started(ID)),
    )
    assert "broker_mode(3, kraft)" not in told(holding)


def test_of_what_is_done_already_the_gate_holds() -> None:
    holding = held(
        (1_000, judged(ID, "already")),
        (1_000, judged(ID, "opens_when", ("isr_full", "waiting", "a"))),
    )
    holding.close(5_000)
    assert told(holding)["isr_full"].duration_ms == 4_000


@pytest.mark.parametrize("has_step", [False, None])
def test_without_a_step_the_gate_holds(has_step: bool | None) -> None:
    holding = held(
        (1_000, judged(ID, "opens_when", ("soak(1h)", "waiting", "30 min"))), has_step=has_step
    )
    holding.close(3_000)
    assert told(holding)["soak(1h)"].duration_ms == 2_000


def test_a_failed_step_holds_until_a_person_decides() -> None:
    holding = held(
        (1_000, started(ID)),
        (3_000, ended(ID, exit_code=1)),
        (63_000, entries.StepDecided(checkpoint=ID, decision="repeat", by=ANNA, reason="mended")),
        (64_000, started(ID, attempt=2)),
        (70_000, ended(ID)),
    )
    holding.close(71_000)
    found = told(holding)
    assert found["an operator's decision"].duration_ms == 60_000
    assert "ended with exit code 1" in found["an operator's decision"].reason
    assert (found["its command"].duration_ms, found["its command"].times) == (8_000, 2)


def test_the_reason_of_a_failed_step_is_that_of_status() -> None:
    holding = held((1_000, started(ID)), (3_000, ended(ID, exit_code=1)))
    asks = holding.state.checkpoint(ID).asks
    assert asks == "the hook ended with exit code 1"
    assert told(holding)["an operator's decision"].reason == asks


def test_a_step_whose_end_nobody_knows_asks_too() -> None:
    unknown = entries.StepUnknown(checkpoint=ID, run="r", why="its supervisor is gone")
    holding = held((1_000, started(ID)), (3_000, unknown))
    assert told(holding)["an operator's decision"].reason == "its supervisor is gone"


def test_a_step_that_was_not_started_after_all_is_before_itself_again() -> None:
    holding = held(
        (1_000, started(ID)),
        (2_000, entries.StepNotStarted(checkpoint=ID, run="r")),
        (2_500, judged(ID, "needs", ("isr_full", "waiting", "a"))),
    )
    assert holding.state.checkpoint(ID).stage is Stage.ENTERED
    assert told(holding)["isr_full"].kind == "guard"


def test_a_step_by_hand_holds_until_its_gate_opens() -> None:
    holding = held((1_000, shown(ID)), (1_500, judged(ID, "opens_when", ("kraft", "waiting", "a"))))
    holding.close(61_000)
    assert told(holding)["its step, by hand"].duration_ms == 60_000


def test_an_approval_holds_until_enough_people_gave_it_and_again_when_it_expires() -> None:
    holding = held(
        (10_000, approved(ANNA)),
        (11_000, approved(ANNA)),
        (20_000, approved(BORIS)),
        (30_000, entries.ApprovalsExpired(checkpoint=ID, changed=("broker 3: fenced",))),
        (35_000, approved(ANNA)),
        (36_000, approved(BORIS)),
        people=2,
    )
    hold = told(holding)["approval by 2 people"]
    assert (hold.kind, hold.duration_ms, hold.times) == ("approval", 26_000, 2)
    assert hold.last_reason == "the one given has expired: broker 3: fenced"


def test_a_pause_holds_what_has_not_begun() -> None:
    holding = held()
    holding.take(1_000, PAUSED)
    holding.take(5_000, RESUMED)
    assert (told(holding)["a pause"].duration_ms, told(holding)["a pause"].reason) == (
        4_000,
        "anna: lunch",
    )
    under_way = held((1_000, started(ID)))
    under_way.take(2_000, PAUSED)
    assert "a pause" not in told(under_way)


def test_a_lost_lock_and_an_orchestrator_that_is_away_hold() -> None:
    holding = held()
    holding.take(1_000, entries.LockLost(reason="the session expired"))
    holding.take(4_000, entries.LockAcquired(token=2))
    holding.runs(5_000, runs=False)
    holding.runs(9_000, runs=True)
    holding.runs(20_000, runs=False)
    found = told(holding)
    assert found["the orchestrator's lock"].duration_ms == 3_000
    assert found["kraftgate run"].duration_ms == 4_000 + AS_OF - 20_000
    assert found["kraftgate run"].ended_at is None


def test_a_lock_that_was_lost_before_the_checkpoint_was_entered_holds_it() -> None:
    holding = Held(entries.LockLost(reason="the session expired"))
    holding.take(4_000, entries.LockAcquired(token=2))
    hold = told(holding)["the orchestrator's lock"]
    assert (hold.began_at, hold.duration_ms, hold.reason) == (0, 4_000, "the session expired")


def approved(who: entries.Person, checkpoint: str = ID) -> entries.Approved:
    return entries.Approved(checkpoint=checkpoint, by=who, reason="CHG-1", basis={})


def test_an_approval_covers_a_later_checkpoint() -> None:
    given = (approved(ANNA, "soak"), approved(BORIS, "soak"))
    holding = Held(*given, people=2, given_at="soak")
    holding.take(5_000, started(ID))
    assert "approval by 2 people" not in told(holding)


def test_an_expired_approval_covers_no_later_checkpoint() -> None:
    expired = entries.ApprovalsExpired(checkpoint="soak", changed=("broker 3: fenced",))
    given = (approved(ANNA, "soak"), approved(BORIS, "soak"))
    before = Held(*given, expired, people=2, given_at="soak")
    assert told(before)["approval by 2 people"].began_at == 0
    meanwhile = Held(*given, people=2, given_at="soak")
    meanwhile.take(5_000, expired)
    meanwhile.take(7_000, approved(ANNA))
    meanwhile.take(9_000, approved(BORIS))
    hold = told(meanwhile)["approval by 2 people"]
    assert (hold.began_at, hold.ended_at) == (5_000, 9_000)


def test_a_step_is_repeated_by_the_approval_that_is_in_force() -> None:
    """After a failed step the executor asks again for approvals that expired meanwhile."""
    holding = Held(people=1)
    holding.take(1_000, approved(ANNA))
    holding.take(2_000, started(ID))
    holding.take(3_000, ended(ID, exit_code=1))
    repeat = entries.StepDecided(checkpoint=ID, decision="repeat", by=ANNA, reason="again")
    holding.take(4_000, repeat)
    assert told(holding)["approval by a person"].duration_ms == 1_000
    holding.take(5_000, entries.ApprovalsExpired(checkpoint=ID, changed=("phase: was a, is b",)))
    holding.take(8_000, approved(BORIS))
    hold = told(holding)["approval by a person"]
    assert (hold.duration_ms, hold.times) == (4_000, 2)


def test_what_holds_still_holds_until_now() -> None:
    holding = held((1_000, judged(ID, "needs", ("isr_full", "waiting", "a"))))
    hold = told(holding)["isr_full"]
    assert (hold.ended_at, hold.duration_ms) == (None, AS_OF - 1_000)


def test_what_was_over_at_once_is_left_out() -> None:
    holding = held(
        (1_000, judged(ID, "needs", ("isr_full", "waiting", "a"))), (1_000, judged(ID, "needs"))
    )
    holding.close(1_000)
    assert told(holding) == {}


def test_a_verdict_that_is_none_of_ours_is_refused() -> None:
    with pytest.raises(ValueError, match="verdict"):
        RecordedFinding(condition="isr_full", verdict="fine", reason="")  # type: ignore[arg-type]
    assert Verdict("waiting")
