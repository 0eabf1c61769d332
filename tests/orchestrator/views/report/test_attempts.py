"""A rollback and a second attempt are reported as such, with their phases and metadata logs."""

from dataclasses import replace
from pathlib import Path

import pytest

from migration.image.summary import Phase
from migration.metadata.events import Event
from orchestrator.api.report.report import ClusterReport
from orchestrator.audit.execution import entries
from tests.orchestrator.views.report.making import Made, T, finalized
from tests.orchestrator.views.report.night import SECOND, began
from tests.orchestrator.views.report.reporting import report_of, run

SUMMARY = """\
The cluster prod went from ZooKeeper to finalized KRaft, in attempt 2 of 2. The window was from \
2026-11-22 01:30:30 UTC to 2026-11-22 01:44:10 UTC, 13 min 40 s.
Attempt 1 (metadata log 1) began at 2026-11-22 01:31:00 UTC and was rolled back at \
2026-11-22 01:35:00 UTC, 4 min after it began. It reached hybrid.
Attempt 2 (metadata log 2) began at 2026-11-22 01:36:40 UTC and was finalized at \
2026-11-22 01:43:20 UTC, 6 min 40 s after it began."""


def change(made: Made, ms: int, was: str, now: str, offset: int | None = None) -> None:
    made.tell("phase_changed", ms, offset=offset, was=was, now=now)


def first_attempt(made: Made) -> None:
    """To hybrid, and back: ZooKeeper reports the rollback, no record does."""
    change(made, 60 * SECOND, "zookeeper", "pre-migration", 4)
    change(made, 120 * SECOND, "pre-migration", "copying", 374)
    change(made, 121 * SECOND, "copying", "hybrid", 413)
    change(made, 300 * SECOND, "hybrid", "rolled-back")


def second_log(made: Made, ms: int) -> None:
    """Controllers that were formatted again begin a log; the job reports it, without a record."""
    made.events += [
        Event(offset=None, timestamp_ms=T + ms, kind=kind, fields=fields, seen_ms=T + ms)
        for kind, fields in (
            ("metadata_log_restarted", {"log": 2, "was_offset": 500, "was_phase": "rolled-back"}),
            ("phase_changed", {"was": "rolled-back", "now": "zookeeper"}),
        )
    ]
    change(made, ms, "zookeeper", "pre-migration", 4)


def second_attempt(made: Made) -> None:
    second_log(made, 400 * SECOND)
    change(made, 500 * SECOND, "pre-migration", "hybrid", 300)
    change(made, 700 * SECOND, "hybrid", "dual-write", 800)
    change(made, 800 * SECOND, "dual-write", "finalized", 900)


def blind(made: Made, from_ms: int, to_ms: int | None) -> None:
    made.tell("zookeeper_blind", from_ms, reason="the connection was lost")
    if to_ms is not None:
        made.tell("zookeeper_seen_again", to_ms, server="zk1", blind_ms=to_ms - from_ms,
                  blind_since_ms=T + from_ms)  # fmt: skip


def two_walks(made: Made) -> None:
    made.say(30 * SECOND, began())
    made.say(310 * SECOND, entries.ExecutionEnded(outcome="rolled-back"))
    made.say(390 * SECOND, began("the second attempt"))
    made.say(850 * SECOND, entries.ExecutionEnded(outcome="completed"))


@pytest.fixture
def made(tmp_path: Path) -> Made:
    made = Made(tmp_path)
    first_attempt(made)
    return made


def told(made: Made) -> ClusterReport:
    made.store()
    return report_of(made).clusters[0]


def test_a_rollback_is_not_hidden_by_the_attempt_that_came_after_it(made: Made) -> None:
    second_attempt(made)
    two_walks(made)
    one = told(made)
    first, second = one.attempts
    assert (first.outcome, first.reached, first.metadata_log, first.walks) == (
        "rolled back",
        "hybrid",
        1,
        (1,),
    )
    assert (first.began_at, first.ended_at) == (T + 60 * SECOND, T + 300 * SECOND)
    assert (second.outcome, second.metadata_log, second.walks) == ("finalized", 2, (2,))
    assert (second.began_at, second.ended_at) == (T + 400 * SECOND, T + 800 * SECOND)
    assert "\n".join(one.summary[:3]) == SUMMARY


def test_phases_are_told_by_attempt_and_metadata_log(made: Made) -> None:
    second_attempt(made)
    one = told(made)
    assert [(each.phase, each.attempt, each.metadata_log) for each in one.phases] == [
        ("zookeeper", None, 1),
        ("pre-migration", 1, 1),
        ("copying", 1, 1),
        ("hybrid", 1, 1),
        ("rolled-back", 1, 1),
        ("pre-migration", 2, 2),
        ("hybrid", 2, 2),
        ("dual-write", 2, 2),
        ("finalized", 2, 2),
    ]
    assert one.phases[4].ended_at == T + 400 * SECOND
    assert all(each.duration_ms != 0 for each in one.phases)


def test_a_rollback_that_nothing_followed_is_told_with_its_time(made: Made) -> None:
    made.summary = replace(finalized(), phase=Phase.ROLLED_BACK)
    one = told(made)
    assert [each.outcome for each in one.attempts] == ["rolled back"]
    assert one.summary[1].startswith("The attempt (metadata log 1) began at")


def test_a_log_that_ends_without_a_rollback_was_abandoned(tmp_path: Path) -> None:
    made = Made(tmp_path)
    change(made, 60 * SECOND, "zookeeper", "pre-migration", 4)
    second_attempt(made)
    assert [each.outcome for each in told(made).attempts] == ["abandoned", "finalized"]


def test_one_attempt_that_went_well_needs_no_words_of_its_own(tmp_path: Path) -> None:
    made = Made(tmp_path)
    change(made, 60 * SECOND, "zookeeper", "pre-migration", 4)
    change(made, 70 * SECOND, "pre-migration", "hybrid", 40)
    change(made, 80 * SECOND, "hybrid", "finalized", 80)
    one = told(made)
    assert [each.number for each in one.attempts] == [1]
    assert not any("ttempt" in each for each in one.summary)


def test_zookeeper_is_not_missed_once_it_is_not_needed(made: Made) -> None:
    """It is switched off as planned after the end, and nobody saw it from before to after."""
    second_attempt(made)
    blind(made, 790 * SECOND, 810 * SECOND)
    blind(made, 820 * SECOND, None)
    one = told(made)
    assert [(each.source, each.began_at, each.ended_at) for each in one.unseen] == [
        ("zookeeper", T + 790 * SECOND, T + 800 * SECOND)
    ]
    assert "No current data of ZooKeeper for 10.0 s in total; see Gaps." in one.summary


@pytest.mark.slow
def test_the_page_and_the_ticket_have_the_attempts(made: Made) -> None:
    second_attempt(made)
    made.store()
    page = run(made, "--format", "html").stdout
    ticket = run(made, "--format", "markdown").stdout
    for text in (page, ticket):
        assert "rolled back" in text
        assert "Attempt" in text
    assert "attempt 1: phase hybrid" in page
