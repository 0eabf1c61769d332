"""Conditions from text: one spelling, arguments bound, clear errors."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from migration.assessment.conditions import (
    ConditionError,
    DataSource,
    Finding,
    Verdict,
    known,
    parse,
)
from tests.migration.assessment.conditions.views import view


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("finalized", "phase(finalized)"),
        (" phase( dual-write ) ", "phase(dual-write)"),
        ("assignments_complete(3)", "assignments_complete(3)"),
        ("nothing_held", "nothing_held"),
        ("nothing_held()", "nothing_held"),
        ("offset(1439)", "offset(1439)"),
        ("broker_mode(3,kraft)", "broker_mode(3, kraft)"),
        ("soak( 90s )", "soak(1m30s)"),
        ("metadata_version(3.9)", "metadata_version(3.9-IV0)"),
        ("isr_full", "isr_full"),
        ("isr_full(03)", "isr_full(3)"),
        ("no_hazard(restart, 3)", "no_hazard(restart, 3)"),
        ("no_hazard(records_lost)", "no_hazard(records_lost)"),
    ],
)
def test_a_condition_has_one_spelling(text: str, printed: str) -> None:
    assert parse(text).text == printed
    assert parse(printed).text == printed


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
        (
            "broker_mode(3)",
            "the condition `broker_mode` needs 2 arguments: write broker_mode(3, kraft)",
        ),
        ("broker_mode(3, kraf)", "`broker_mode` does not take 'kraf'; did you mean `kraft`?"),
        ("offset(x)", "`offset` takes a whole number, not 'x': write offset(1439)"),
        ("offset(1, 2)", "too many arguments of `offset`: write offset(N)"),
        (
            "soak(10)",
            "`soak` does not take '10': the duration 10 has no unit: write 10s, 10m or 10h",
        ),
        ("nothing_held(1)", "the condition `nothing_held` takes no argument"),
        ("finalized(1)", "the phase `finalized` takes no argument: write finalized"),
        ("a b", "'a b' is not a condition: write one like finalized or offset(1439)"),
        (
            "nothing_held_but(broker)",
            "`nothing_held_but` takes a whole number, not 'broker': write nothing_held_but(3)",
        ),
    ],
)
def test_what_is_no_condition_is_told_the_nearest(text: str, said: str) -> None:
    with pytest.raises(ConditionError) as caught:
        parse(text)
    assert str(caught.value) == said


@settings(deadline=None)
@given(st.text())
def test_any_text_is_a_condition_or_an_error(text: str) -> None:
    try:
        assert parse(parse(text).text).text == parse(text).text
    except ConditionError as error:
        assert str(error)  # noqa: PT017  # either outcome is right


def test_an_argument_is_bound_to_the_instance() -> None:
    bound = parse("no_hazard(restart, broker)", bind={"broker": "3"})
    assert bound.text == "no_hazard(restart, 3)"
    assert bound.broker == 3
    assert parse("controller_mode(controller, kraft)", bind={"controller": "3000"}).broker is None


def test_every_kind_is_described_and_can_be_written() -> None:
    names = [doc.name for doc in known()]
    assert len(names) == len(set(names))
    for doc in known():
        assert doc.signature.startswith(doc.name)
        assert doc.explains.endswith(".")


def test_signatures() -> None:
    signatures = {doc.name: doc.signature for doc in known()}
    assert signatures["nothing_held"] == "nothing_held"
    assert signatures["broker_mode"] == "broker_mode(broker, kraft|migrating|zookeeper)"
    assert signatures["isr_full"] == "isr_full[(broker)]"
    assert signatures["no_hazard"] == "no_hazard(restart|migrate|finalize|HAZARD[, broker])"


def test_a_condition_of_the_users_own_has_the_answer_that_was_got_elsewhere() -> None:
    lag = parse("lag-is-low", own={"lag-is-low"})
    assert lag.needs == {DataSource.EXTERNAL}
    assert lag.judge(view()).verdict is Verdict.UNKNOWN
    told = Finding(condition="lag-is-low", verdict=Verdict.WAITING, reason="lag is 4000")
    found = lag.judge(view(external={"lag-is-low": told}))
    assert (found.verdict, found.reason) == (Verdict.WAITING, "lag is 4000")


def test_an_own_condition_takes_no_argument_and_must_be_named() -> None:
    with pytest.raises(ConditionError, match="takes no argument"):
        parse("lag-is-low(3)", own={"lag-is-low"})
    with pytest.raises(ConditionError, match="did you mean `lag-is-low`"):
        parse("lag-is-lo", own={"lag-is-low"})
