"""Conditions for --until: read with clear errors, never met on data that is not the present."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migration.source_status import NO_STATUS, SourceStatus
from migration.summary import ClusterSummary, Phase
from orchestrator.errors import ConditionError
from orchestrator.horizon import Horizon
from orchestrator.until import Verdict, parse_condition
from tests.orchestrator.night import FRESH, NOW_MS, cluster, held, kraft, migrating, replicas


def verdict(text: str, summary: ClusterSummary, source: SourceStatus = FRESH) -> Verdict:
    condition = parse_condition(text)
    return condition.judge(summary, source, NOW_MS, caught_up=True).verdict


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("finalized", "phase(finalized)"),
        (" phase( dual-write ) ", "phase(dual-write)"),
        ("assignments_complete(3)", "assignments_complete(3)"),
        ("nothing_held", "nothing_held"),
        ("nothing_held()", "nothing_held"),
        ("offset(1439)", "offset(1439)"),
    ],
)
def test_a_condition_has_one_spelling(text: str, printed: str) -> None:
    assert parse_condition(text).text == printed
    assert parse_condition(printed).text == printed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("finalised", "unknown condition `finalised`; did you mean `finalized`?"),
        ("phase(hybird)", "unknown phase `hybird`; did you mean `hybrid`?"),
        (
            "assignment_complete(1)",
            "unknown condition `assignment_complete`; did you mean `assignments_complete`?",
        ),
        (
            "assignments_complete",
            (
                "the condition `assignments_complete` needs an argument:"
                " write assignments_complete(3)"
            ),
        ),
        ("offset(x)", "`offset` takes a whole number, not 'x': write offset(1439)"),
        ("nothing_held(1)", "the condition `nothing_held` takes no argument"),
        ("finalized(1)", "the phase `finalized` takes no argument: write finalized"),
        ("a b", "'a b' is no condition: write one like finalized or offset(1439)"),
    ],
)
def test_what_is_no_condition_is_told_the_nearest(text: str, said: str) -> None:
    with pytest.raises(ConditionError) as caught:
        parse_condition(text)
    assert str(caught.value) == said


@given(st.text())
def test_any_text_is_a_condition_or_an_error(text: str) -> None:
    try:
        assert parse_condition(text).text
    except ConditionError as error:
        assert str(error)  # noqa: PT017  # either outcome is right


def test_a_phase_is_met_when_it_is_reached_or_passed() -> None:
    assert verdict("hybrid", cluster(Phase.COPYING)) is Verdict.NOT_MET
    assert verdict("hybrid", cluster(Phase.HYBRID)) is Verdict.MET
    assert verdict("hybrid", cluster(Phase.FINALIZED)) is Verdict.MET


def test_a_rolled_back_cluster_meets_no_phase_of_the_way() -> None:
    assert verdict("pre-migration", cluster(Phase.ROLLED_BACK)) is Verdict.NOT_MET
    assert verdict("rolled-back", cluster(Phase.ROLLED_BACK)) is Verdict.MET


def test_assignments_are_complete_only_in_kraft_mode_with_nothing_pending() -> None:
    wanted = "assignments_complete(3)"
    assert verdict(wanted, cluster(Phase.HYBRID, kraft(3))) is Verdict.MET
    assert verdict(wanted, cluster(Phase.HYBRID, held(3))) is Verdict.NOT_MET
    assert verdict(wanted, cluster(Phase.HYBRID, migrating(3))) is Verdict.NOT_MET
    assert verdict(wanted, cluster(Phase.HYBRID, kraft(1))) is Verdict.NOT_MET
    later = kraft(3, replicas=replicas(assigned=31, unassigned=1))
    assert verdict(wanted, cluster(Phase.HYBRID, later)) is Verdict.NOT_MET


def test_nothing_held_needs_brokers() -> None:
    assert verdict("nothing_held", cluster(Phase.HYBRID)) is Verdict.NOT_MET
    assert verdict("nothing_held", cluster(Phase.HYBRID, kraft(1), held(3))) is Verdict.NOT_MET
    assert verdict("nothing_held", cluster(Phase.HYBRID, kraft(1), migrating(2))) is Verdict.MET


def test_an_offset_is_reached() -> None:
    assert verdict("offset(1439)", cluster(Phase.HYBRID)) is Verdict.MET
    assert verdict("offset(1440)", cluster(Phase.HYBRID)) is Verdict.NOT_MET


@pytest.mark.parametrize(
    "source",
    [
        NO_STATUS,
        replace(FRESH, last_reply_ms=None),
        replace(FRESH, last_reply_ms=NOW_MS - 15_001),
        replace(FRESH, observed_ms=NOW_MS - 15_001),
        replace(FRESH, error="refused"),
    ],
)
@pytest.mark.parametrize("text", ["finalized", "nothing_held", "offset(0)"])
def test_data_that_is_not_the_present_meets_nothing(text: str, source: SourceStatus) -> None:
    assert verdict(text, cluster(Phase.FINALIZED, kraft(1)), source) is Verdict.UNKNOWN


def test_records_that_are_yet_to_be_read_meet_nothing() -> None:
    judged = parse_condition("finalized").judge(
        cluster(Phase.FINALIZED), FRESH, NOW_MS, caught_up=False
    )
    assert judged.verdict is Verdict.UNKNOWN


class TestHorizon:
    """Everything committed when watching began, and nothing unread for long."""

    def test_what_was_committed_at_the_beginning_must_be_read(self) -> None:
        horizon = Horizon()
        early = cluster(Phase.HYBRID, offset=100)
        assert not horizon.is_caught_up(early, FRESH, NOW_MS)
        assert not horizon.is_caught_up(cluster(Phase.HYBRID, offset=1438), FRESH, NOW_MS)
        assert horizon.is_caught_up(cluster(Phase.HYBRID, offset=1439), FRESH, NOW_MS)

    def test_trailing_by_a_moment_is_the_present(self) -> None:
        horizon = Horizon()
        read = cluster(Phase.HYBRID, offset=1439)
        assert horizon.is_caught_up(read, FRESH, NOW_MS)
        ahead = replace(FRESH, high_watermark=1500)
        assert horizon.is_caught_up(read, ahead, NOW_MS + 1_000)
        assert horizon.is_caught_up(read, ahead, NOW_MS + 16_000)
        assert not horizon.is_caught_up(read, ahead, NOW_MS + 16_001)
        assert horizon.is_caught_up(cluster(Phase.HYBRID, offset=1499), ahead, NOW_MS + 20_000)

    def test_no_high_watermark_is_not_caught_up(self) -> None:
        unknown = replace(FRESH, high_watermark=None)
        assert not Horizon().is_caught_up(cluster(Phase.HYBRID), unknown, NOW_MS)
        finished = replace(unknown, finished=True)
        assert Horizon().is_caught_up(cluster(Phase.HYBRID), finished, NOW_MS)
