"""A gate is believed only with facts that were asked for after it first held."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import pytest

from migration.assessment.conditions import Condition, DataSource, Finding, Verdict, View
from migration.image.summary import Phase
from migration.observed.source_status import STALE_AFTER_MS
from orchestrator.audit.execution.state import CheckpointState
from orchestrator.execution.evaluation import PartEvaluator
from orchestrator.execution.facts import FactFinder
from tests.scenes.night import NOW_MS, cluster, kraft

AT = CheckpointState(id="copy")


class FakeFacts(FactFinder):
    """Findings when the test says so; what is asked and when is under test, not the asking."""

    def __init__(self) -> None:
        self.wanted: list[int] = []
        self.asked_ms = 0

    def keep(self, conditions: Sequence[Condition]) -> None:
        pass

    def want(self, conditions: Sequence[Condition], since_ms: int) -> None:
        assert conditions
        self.wanted.append(since_ms)

    def is_fresh(
        self, conditions: Sequence[Condition], since_ms: int, without: Collection[DataSource]
    ) -> bool:
        del conditions, without
        return self.asked_ms >= since_ms


def condition(name: str, *, reason: str = "so it is") -> Condition:
    """Holds while `name` is not among the view's brokers' hosts; a stand-in for any rule."""

    def rule(view: View) -> Finding:
        if name == "soak":
            since = view.satisfied_since_ms
            held = since is not None and view.now_ms - since >= 60_000
            return Finding(verdict=Verdict.SATISFIED if held else Verdict.WAITING, reason="soak")
        bad = any(each.host == name for each in view.summary.brokers)
        verdict = Verdict.VIOLATED if bad else Verdict.SATISFIED
        return Finding(verdict=verdict, reason=f"{reason} at {view.now_ms}" if bad else reason)

    return Condition(
        text=name, name=name, needs=frozenset({DataSource.LOG_DIRS}), rule=rule, broker=None
    )


def view(now_ms: int = NOW_MS, *, bad: str | None = None) -> View:
    summary = cluster(Phase.HYBRID, replace(kraft(1), host=bad))
    return View(summary=summary, now_ms=now_ms, stall_after_ms=1, not_current={})


def test_what_holds_is_looked_at_once_more_before_it_is_believed() -> None:
    facts = FakeFacts()
    evaluator = PartEvaluator(facts)
    first = evaluator.evaluate(AT, "needs", [condition("a")], view(), {})
    assert (first.holding_back, first.holds, facts.wanted) == ((), False, [NOW_MS])
    facts.asked_ms = NOW_MS - 1
    assert not evaluator.evaluate(AT, "needs", [condition("a")], view(NOW_MS + 5), {}).holds
    facts.asked_ms = NOW_MS + 1
    assert evaluator.evaluate(AT, "needs", [condition("a")], view(NOW_MS + 9), {}).holds


def test_a_break_begins_the_look_anew() -> None:
    facts = FakeFacts()
    evaluator = PartEvaluator(facts)
    evaluator.evaluate(AT, "needs", [condition("a")], view(), {})
    facts.asked_ms = NOW_MS + 1
    assert not evaluator.evaluate(
        AT, "needs", [condition("a")], view(NOW_MS + 2, bad="a"), {}
    ).holds
    assert not evaluator.evaluate(AT, "needs", [condition("a")], view(NOW_MS + 3), {}).holds
    assert facts.wanted[-1] == NOW_MS + 3


@pytest.mark.parametrize(
    "breaks",
    [
        (10_000, lambda now_ms: view(now_ms, bad="a")),
        # No evaluation: the host slept, or its clock was set.
        (STALE_AFTER_MS + 1, view),
        (-5_000, view),
    ],
)
def test_soak_counts_from_when_the_others_held_and_anew_after_a_break(
    breaks: tuple[int, Callable[[int], View]],
) -> None:
    facts = FakeFacts()
    facts.asked_ms = NOW_MS * 2
    evaluator = PartEvaluator(facts)
    both = [condition("a"), condition("soak")]

    def held(now_ms: int) -> list[bool]:
        times = range(now_ms, now_ms + 61_000, 10_000)
        return [evaluator.evaluate(AT, "opens_when", both, view(at), {}).holds for at in times]

    assert held(NOW_MS) == [False] * 6 + [True]
    after_ms, broken = breaks
    at = NOW_MS + 60_000 + after_ms
    assert not evaluator.evaluate(AT, "opens_when", both, broken(at), {}).holds
    assert held(at + 1000) == [False] * 6 + [True]


def test_soak_of_one_orchestrator_is_not_another_ones() -> None:
    facts = FakeFacts()
    facts.asked_ms = NOW_MS * 2
    both = [condition("a"), condition("soak")]
    PartEvaluator(facts).evaluate(AT, "opens_when", both, view(), {})
    assert (
        not PartEvaluator(facts).evaluate(AT, "opens_when", both, view(NOW_MS + 60_000), {}).holds
    )


def test_a_verdict_is_told_at_once_and_its_words_now_and_then() -> None:
    evaluator = PartEvaluator(FakeFacts())
    place = AT
    told = []
    for second in range(25):
        now = view(NOW_MS + second * 1000, bad=None if second == 20 else "a")
        answer = evaluator.evaluate(place, "needs", [condition("a")], now, {"n": second})
        if answer.entry is not None:
            told.append((second, answer.entry.verdict))
            place = replace(place, evaluated={"needs": answer.entry})
    assert told == [
        (0, Verdict.VIOLATED),
        (10, Verdict.VIOLATED),
        (20, Verdict.SATISFIED),
        (21, Verdict.VIOLATED),
    ]


def test_the_gravest_comes_first() -> None:
    answer = PartEvaluator(FakeFacts()).evaluate(
        AT, "opens_when", [condition("soak"), condition("a")], view(bad="a"), {}
    )
    assert [each.condition for each in answer.holding_back] == ["a", "soak"]


def test_nothing_asked_for_holds() -> None:
    assert PartEvaluator(FakeFacts()).evaluate(AT, "needs", [], view(), {}).holds
