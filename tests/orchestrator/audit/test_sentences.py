"""Each entry as a sentence: of every kind, of an evaluation, and of another version."""

import pytest

from migration.assessment.conditions import Verdict
from orchestrator.audit.entry import Entry
from orchestrator.audit.execution.entries import Evaluated, RecordedFinding
from orchestrator.audit.kinds import EntryKind
from orchestrator.audit.sentences import sentence, weight_of
from orchestrator.output.json_value import JsonValue


def entry(kind: str, body: dict[str, JsonValue]) -> Entry:
    return Entry(sequence=1, at_ms=0, cluster="prod", kind=kind, body=body, previous="", hash="")


def found(verdict: Verdict, reason: str) -> RecordedFinding:
    return RecordedFinding(condition="c", verdict=verdict, reason=reason)


BEHIND = found(Verdict.WAITING, "broker 3 is held")
STALE = found(Verdict.UNKNOWN, "no answer")
GONE = found(Verdict.VIOLATED, "/d1 is offline")


@pytest.mark.parametrize(
    ("part", "verdict", "findings", "expected"),
    [
        ("already", Verdict.SATISFIED, (), "the step of x[1] has nothing left to do"),
        ("already", Verdict.WAITING, (BEHIND,), "the step of x[1] is needed"),
        ("needs", Verdict.SATISFIED, (), "the guards of x[1] hold"),
        ("needs", Verdict.WAITING, (BEHIND,), "the guards of x[1] do not hold: broker 3 is held"),
        (
            "opens_when",
            Verdict.VIOLATED,
            (BEHIND, GONE),
            "the gate of x[1] is closed: /d1 is offline; and 1 more",
        ),
        ("opens_when", Verdict.UNKNOWN, (STALE,), "the gate of x[1] is closed, unknown: no answer"),
        ("opens_when", Verdict.SATISFIED, (), "the gate of x[1] is open"),
    ],
)
def test_an_evaluation_says_what_came_of_it(
    part: str, verdict: Verdict, findings: tuple[RecordedFinding, ...], expected: str
) -> None:
    body = Evaluated.model_validate(
        {
            "checkpoint": "x[1]",
            "part": part,
            "verdict": verdict,
            "findings": [each.model_dump() for each in findings],
            "facts": {},
        }
    )
    told = entry(EntryKind.JUDGED, body.as_json())
    assert sentence(told) == expected
    assert weight_of(told) == ("bad" if verdict is Verdict.VIOLATED else "plain")


def test_an_entry_without_a_typed_body_has_its_kind_s_sentence() -> None:
    told = entry(EntryKind.WRONG_CONSOLE_TOKEN, {"count": 3, "host": "10.0.0.9"})
    assert sentence(told) == (
        "the console received a wrong token from 10.0.0.9, number 3 within a minute"
    )
    assert weight_of(told) == "bad"
    taken = entry(EntryKind.FENCE, {"fence": 2, "by": "b1, process 7"})
    assert sentence(taken) == "b1, process 7 took over, with fence 2"


@pytest.mark.parametrize("kind", ["of_tomorrow", str(EntryKind.APPROVED)])
def test_an_entry_of_another_version_has_its_fields(kind: str) -> None:
    told = entry(kind, {"checkpoint": "finalize[1]", "sooner": True})
    assert sentence(told) == f"{kind} checkpoint=finalize[1] sooner=true"


@pytest.mark.parametrize(
    ("kind", "body", "expected"),
    [
        (
            EntryKind.APPROVED,
            {"by": {"who": "ada", "role": "lead"}, "checkpoint": "x[1]", "reason": "calm"},
            "approved checkpoint=x[1] reason=calm",
        ),
        (EntryKind.SOURCE_SEEN, {"source": "prometheus"}, "source_seen source=prometheus"),
    ],
)
def test_a_value_of_another_version_is_printed_as_it_is(
    kind: EntryKind, body: dict[str, JsonValue], expected: str
) -> None:
    assert sentence(entry(kind, body)) == expected


def test_no_kind_is_without_a_sentence() -> None:
    assert all(each.sentence for each in EntryKind)
