"""The next notifications: once, in order, repeated in time, and resolved only when it is known."""

from collections import defaultdict
from dataclasses import dataclass, field, replace

from hypothesis import given
from hypothesis import strategies as st

from migration.assessment.alerts import Alert
from migration.values.severity import Severity
from orchestrator.notify.delivery import (
    FORGET_MS,
    RESOLVE_AFTER_MS,
    Deliveries,
    due,
    mark_delivered,
    mark_sending,
    update,
)
from orchestrator.notify.notification import Notification
from tests.orchestrator.notify.told import HOUR_MS, POLICY, alert, of, standing, wanted
from tests.support.examples import examples


def told_of(*alerts: Alert, at_ms: int = 0) -> Deliveries:
    """A receiver that took these."""
    found = due({}, wanted(at_ms, *alerts), POLICY, at_ms)
    return mark_delivered(mark_sending({}, found), found, at_ms)


def said(notices: tuple[Notification, ...]) -> list[tuple[str | None, str, str]]:
    return [(e.alert.labels.get("broker"), str(e.alert.severity), e.status) for e in notices]


def test_what_stands_is_told_once_and_again_after_its_time() -> None:
    book = told_of(alert())
    now = wanted(1000, alert(), since_ms=0)
    assert due(update(book, now), now, POLICY, 1000) == ()
    (again,) = due(update(book, now), now, POLICY, POLICY.repeat_ms)
    assert (again.status, again.repeats, again.active_since_ms) == ("firing", 1, 0)


def test_an_active_alert_is_repeated_after_the_clock_was_set_back() -> None:
    """A receiver that has forgotten it meanwhile, such as a restarted Alertmanager, knows it."""
    deliveries = told_of(alert(), at_ms=10 * HOUR_MS)
    now = wanted(8 * HOUR_MS, alert(), since_ms=0)
    (again,) = due(update(deliveries, now), now, POLICY, 8 * HOUR_MS)
    assert (again.status, again.repeats) == ("firing", 1)
    sent = mark_delivered(mark_sending(deliveries, [again]), [again], 8 * HOUR_MS)
    assert due(sent, now, POLICY, 8 * HOUR_MS + POLICY.repeat_ms - 1) == ()
    assert len(due(sent, now, POLICY, 8 * HOUR_MS + POLICY.repeat_ms)) == 1


def test_the_delay_of_a_resolution_begins_again_after_the_clock_was_set_back() -> None:
    """It is not sent at once, since the alert may flap, nor after the length of the set-back."""
    deliveries = update(told_of(alert()), wanted(10 * HOUR_MS))
    at_ms = 8 * HOUR_MS
    nothing = wanted(at_ms)
    deliveries = update(deliveries, nothing)
    assert due(deliveries, nothing, POLICY, at_ms + RESOLVE_AFTER_MS - 1) == ()
    (resolved,) = due(deliveries, nothing, POLICY, at_ms + RESOLVE_AFTER_MS)
    assert (resolved.status, resolved.resolved_ms) == ("resolved", at_ms)


def test_its_words_may_change_meanwhile() -> None:
    later = wanted(1000, alert(description="Broker 3 waits for longer."), since_ms=0)
    book = update(told_of(alert()), later)
    assert due(book, later, POLICY, 1000) == ()
    (kept,) = book.values()
    assert kept.alert.description == "Broker 3 waits for longer."


def test_the_end_is_told_when_it_has_lasted() -> None:
    nothing = wanted(1000)
    book = update(told_of(alert()), nothing)
    assert due(book, nothing, POLICY, 1000 + RESOLVE_AFTER_MS - 1) == ()
    (over,) = due(book, nothing, POLICY, 1000 + RESOLVE_AFTER_MS)
    assert (over.status, over.active_since_ms, over.resolved_ms) == ("resolved", 0, 1000)
    assert said(due(book, nothing, POLICY, 1001, closing=True)) == [("3", "warning", "resolved")], (
        "but not at the end of the run"
    )
    done = mark_delivered(mark_sending(book, [over]), [over], 70_000)
    assert due(update(done, nothing), nothing, POLICY, 10 * HOUR_MS) == ()


def test_what_comes_and_goes_is_told_once() -> None:
    book = told_of(alert())
    for turn in range(20):
        at_ms = turn * 30_000
        now = wanted(at_ms, *([alert()] if turn % 2 else []), since_ms=0)
        book = update(book, now)
        assert due(book, now, POLICY, at_ms) == ()
    nothing = wanted(600_000)
    book = update(book, nothing)
    assert due(book, nothing, POLICY, 600_000 + 8 * RESOLVE_AFTER_MS) == (), (
        "it waits longer each time"
    )
    (over,) = due(book, nothing, POLICY, 600_000 + 16 * RESOLVE_AFTER_MS)
    assert any("flapping" in each for each in over.details())


def test_a_step_that_fails_again_after_a_decision_is_told_again() -> None:
    """Within a second, and however often it has failed before."""
    one = alert(name="KraftgateStepNeedsDecision")
    book = told_of(one)
    for turn in range(5):
        decided, failed = wanted(turn * 2000), wanted(turn * 2000 + 1000, one)
        book = update(book, decided)
        over = due(book, decided, POLICY, decided.at_ms)
        assert [each.status for each in over] == ["resolved"]
        book = mark_delivered(mark_sending(book, over), over, decided.at_ms)
        book = update(book, failed)
        again = due(book, failed, POLICY, failed.at_ms)
        assert [each.status for each in again] == ["firing"]
        book = mark_delivered(mark_sending(book, again), again, failed.at_ms)


def test_what_comes_back_after_its_end_was_told_begins_anew() -> None:
    nothing = wanted(0)
    book = update(told_of(alert()), nothing)
    over = due(book, nothing, POLICY, RESOLVE_AFTER_MS)
    book = mark_delivered(mark_sending(book, over), over, RESOLVE_AFTER_MS)
    soon = wanted(RESOLVE_AFTER_MS + 1000, alert())
    (back,) = due(update(book, soon), soon, POLICY, RESOLVE_AFTER_MS + 1000)
    assert (back.status, back.repeats, back.reactivations) == ("firing", 0, 1)
    assert back.active_since_ms == RESOLVE_AFTER_MS + 1000
    assert back.idempotency_key != over[0].idempotency_key
    assert update(book, wanted(RESOLVE_AFTER_MS + FORGET_MS)) == {}


def test_an_end_is_told_only_where_a_beginning_may_have_been() -> None:
    now = wanted(0, alert())
    assert update({}, wanted(1)) == {}, "it ended before anybody was told"
    unanswered = mark_sending({}, due({}, now, POLICY, 0))
    nothing = wanted(1000)
    assert said(due(update(unanswered, nothing), nothing, POLICY, 1000 + RESOLVE_AFTER_MS)) == [
        ("3", "warning", "resolved")
    ], "it may have been taken"


def test_what_was_left_without_an_answer_is_told_again_at_once() -> None:
    now = wanted(0, alert())
    found = due({}, now, POLICY, 0)
    book = update(mark_sending({}, found), now)
    assert due(book, now, POLICY, 0) == found
    assert [each.idempotency_key for each in found] == [
        each.idempotency_key for each in due(book, now, POLICY, 5000)
    ]


def test_the_most_urgent_is_told_first_and_ends_last() -> None:
    critical = alert(4, Severity.CRITICAL)
    book = update(told_of(alert(9)), wanted(0))
    now = wanted(0, alert(3), critical)
    assert said(due(update(book, now), now, POLICY, RESOLVE_AFTER_MS)) == [
        ("4", "critical", "firing"),
        ("3", "warning", "firing"),
        ("9", "warning", "resolved"),
    ]


def test_only_what_is_urgent_enough_is_told() -> None:
    manner = replace(POLICY, min_severity=Severity.CRITICAL)
    now = wanted(0, alert(3), alert(4, Severity.CRITICAL))
    assert said(due({}, now, manner, 0)) == [("4", "critical", "firing")]


def test_a_warning_is_quiet_while_the_same_is_critical() -> None:
    both = wanted(0, alert(3), alert(3, Severity.CRITICAL), alert(4))
    assert said(due({}, both, POLICY, 0)) == [
        ("3", "critical", "firing"),
        ("4", "warning", "firing"),
    ]
    everybody = replace(POLICY, inhibits=False)
    assert len(due({}, both, everybody, 0)) == 3
    book = told_of(alert(3))
    later = due(update(book, both), both, POLICY, POLICY.repeat_ms)
    assert ("3", "warning", "firing") not in said(later), "nor is it told again"


def test_of_a_cluster_that_is_not_followed_any_more_nothing_is_told() -> None:
    book = told_of(alert())
    elsewhere = replace(wanted(1000), clusters=frozenset({"other"}))
    assert update(book, elsewhere) == book
    assert due(book, elsewhere, POLICY, 10 * HOUR_MS) == ()


def test_that_nobody_knows_whether_it_is_over_is_said() -> None:
    unsure = of(0, [standing(alert(), 0, is_known=False)])
    (notice,) = due({}, unsure, POLICY, 0)
    assert "It is unknown whether this is resolved" in notice.details()[-1]


ALERTS = (alert(1), alert(2), alert(2, Severity.CRITICAL), alert(3, name="KraftgateX"))
OUTCOMES = ("taken", "taken", "refused", "no answer", "lost answer", "killed", "killed after")


@dataclass
class World:
    """A receiver, a book that survives everything, and alerts that come and go."""

    book: Deliveries = field(default_factory=dict)
    now_ms: int = 0
    stands: dict[int, int] = field(default_factory=dict)
    took: list[Notification] = field(default_factory=list)
    tried: list[Notification] = field(default_factory=list)

    def look(self) -> tuple[Notification, ...]:
        now = of(self.now_ms, (standing(ALERTS[at], ms) for at, ms in self.stands.items()))
        self.book = update(self.book, now)
        return due(self.book, now, POLICY, self.now_ms)

    def attempt(self, notice: Notification, outcome: str) -> None:
        before = self.book
        self.book = mark_sending(before, [notice])
        self.tried.append(notice)
        if outcome in ("taken", "lost answer", "killed after"):
            self.took.append(notice)
        if outcome == "taken":
            self.book = mark_delivered(self.book, [notice], self.now_ms)
        elif outcome == "refused":
            self.book = before


ATTEMPT = st.tuples(st.sampled_from(OUTCOMES), st.integers(0, 3))
STEP = st.tuples(
    st.integers(0, len(ALERTS) - 1), st.sampled_from([1000, 30_000, 400_000]), st.booleans()
)


@examples(200)
@given(st.lists(st.tuples(STEP, st.lists(ATTEMPT, max_size=4)), max_size=25))
def test_whatever_fails_nothing_is_lost_and_nothing_overtakes(
    steps: list[tuple[tuple[int, int, bool], list[tuple[str, int]]]],
) -> None:
    """At any point the receiver fails, or Kraftgate is killed before or after it was taken.

    Those that failed may come after the others.
    """
    world = World()
    for (at, passes_ms, toggles), outcomes in steps:
        world.now_ms += passes_ms
        if toggles and world.stands.pop(at, None) is None:
            world.stands[at] = world.now_ms
        for outcome, place in outcomes:
            found = world.look()
            if not found:
                break
            for each in found:
                stands_now = {ALERTS[at].fingerprint for at in world.stands}
                assert each.is_resolved is (each.alert.fingerprint not in stands_now)
            world.attempt(found[place % len(found)], outcome)
    for _ in range(200):  # and then everything is well
        found = world.look()
        for each in found:
            world.attempt(each, "taken")
        world.now_ms += 60_000
    _each_end_has_its_beginning(world)
    _the_receiver_knows_what_stands(world)


def _each_end_has_its_beginning(world: World) -> None:
    tried: dict[str, list[str]] = defaultdict(list)
    for each in world.tried:
        tried[each.alert.fingerprint].append(each.status)
    for statuses in tried.values():
        assert statuses[0] == "firing"


def _the_receiver_knows_what_stands(world: World) -> None:
    knows: dict[str, str] = {}
    for each in world.took:
        knows[each.alert.fingerprint] = each.status
    stands = {ALERTS[at].fingerprint for at in world.stands}
    quiet = ALERTS[1].fingerprint if 2 in world.stands else None
    assert {key for key, status in knows.items() if status == "firing"} <= stands
    assert stands - {quiet} <= {key for key, status in knows.items() if status == "firing"}


@given(st.lists(st.integers(1, 10), max_size=30))
def test_without_failures_each_episode_is_told_by_one_beginning_and_one_end(
    minutes: list[int],
) -> None:
    """An alert that stands and is over by turns, each for longer than what comes and goes."""
    world = World()
    for turn, each in enumerate(minutes):
        if turn % 2:
            world.stands.pop(0, None)
        else:
            world.stands[0] = world.now_ms
        for _ in range(each + 16):
            for notice in world.look():
                world.attempt(notice, "taken")
            world.now_ms += 60_000
    expected = ["firing" if turn % 2 == 0 else "resolved" for turn in range(len(minutes))]
    assert [each.status for each in world.took] == expected
