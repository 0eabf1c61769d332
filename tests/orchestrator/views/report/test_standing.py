"""Hazards, losses and blind times that the night has not."""

from pathlib import Path

import pytest

from migration.image.summary import Phase
from orchestrator.api.report.report import ClusterReport, HazardAccount
from orchestrator.audit import run_entries as chronicle
from tests.orchestrator.views.report.making import Made, T
from tests.orchestrator.views.report.night import follow, hazard, made_ms, registered
from tests.orchestrator.views.report.reporting import report_of
from tests.scenes.night import cluster, held, kraft


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


def told(made: Made) -> ClusterReport:
    made.store()
    return report_of(made).clusters[0]


def of(report: ClusterReport, name: str) -> list[HazardAccount]:
    return [each for each in report.hazards if each.hazard == name]


def exposed(made: Made, ms: int, until_ms: int) -> None:
    registered(made, ms, 2, 700, pending=4)
    made.tell("broker_unfenced", ms + 100, 2, offset=702)
    made.tell("broker_unfenced_early", ms + 100, 2, offset=702, pending=4)
    made.tell("assignments_complete", until_ms, 2, offset=740)


OVER = chronicle.HazardEnded(
    hazard="unfenced_early", broker=2, text=None, evidence=(), last_seen_ms=None
)


def early(**changes: object) -> chronicle.HazardBegan:
    return hazard("unfenced_early", broker=2, **changes)


def test_an_exposure_that_a_look_caught_is_told_once(made: Made) -> None:
    exposed(made, 10_000, 60_000)
    made.say(0, follow(1))
    made.say(10_400, early(since_ms=made_ms(10_100)))
    made.say(60_200, OVER)
    (one,) = of(told(made), "unfenced_early")
    assert one.known_by == "looks"


def test_another_exposure_of_the_same_broker_is_another_hazard(made: Made) -> None:
    exposed(made, 10_000, 60_000)
    exposed(made, 90_000, 90_150)
    made.say(0, follow(1))
    made.say(10_400, early(since_ms=made_ms(10_100)))
    made.say(60_200, OVER)
    looked, short = of(told(made), "unfenced_early")
    assert (looked.known_by, short.known_by, short.duration_ms) == ("looks", "records", 50)


def test_what_stands_still_lasts_until_now(made: Made) -> None:
    made.say(0, follow(1))
    made.say(10_000, hazard())
    made.status("source.json", 70_000)
    made.summary = cluster(Phase.DUAL_WRITE, kraft(1))
    (one,) = of(told(made), "dual_write_stuck")
    assert (one.ended_at, one.duration_ms) == (None, 60_000)


def test_a_hazard_that_changed_is_as_it_was_last_judged(made: Made) -> None:
    made.say(0, follow(1))
    made.say(10_000, hazard(severity="warning", blocks=None))
    made.say(20_000, chronicle.HazardChanged.model_validate(
        hazard(blocks="restart", text="worse").model_dump()))  # fmt: skip
    (one,) = of(told(made), "dual_write_stuck")
    assert (one.severity, one.blocks, one.last_text) == ("critical", "restart", "worse")


def test_where_nothing_was_kept_the_store_says_what_stands_at_the_end(made: Made) -> None:
    """An older version followed, or only `replay` did."""
    made.summary = cluster(Phase.DUAL_WRITE, held(3))
    report = told(made)
    (one,) = of(report, "unfenced_early")
    assert (one.known_by, one.exact) == ("store", False)
    assert report.attention[0].startswith("There is no audit trail")
    made.say(1_000, chronicle.SourceSeen(source="zookeeper"))
    assert report_of(made).clusters[0].attention[0].startswith("It is unknown when hazards began")


def test_losses_are_counted_and_come_first(made: Made) -> None:
    lost = {"start_offset_now": 0, "end_offset_seen_ms": made_ms(5_000)}
    made.tell("records_lost", 9_000, 2, topic="orders", partition=3, first_lost_offset=80,
              last_lost_offset=99, **lost)  # fmt: skip
    made.tell("records_lost", 9_500, 1, topic="orders", partition=4, first_lost_offset=5,
              last_lost_offset=5, **lost)  # fmt: skip
    report = told(made)
    assert [(each.partition, each.records, each.broker) for each in report.losses] == [
        (3, 20, 2),
        (4, 1, 1),
    ]
    assert report.losses[0].last_seen_at == T + 5_000
    assert "Acknowledged records were lost." in report.attention
    assert "Acknowledged records were lost: 21 of 2 partitions; see Losses." in report.summary


def test_a_source_that_is_away_still_is_unseen_still(made: Made) -> None:
    made.tell("zookeeper_blind", 10_000, reason="the connection was lost")
    made.tell("jmx_unreachable", 20_000, node=3000, reason="timed out")
    made.status("source.json", 50_000)
    made.summary = cluster(Phase.DUAL_WRITE, kraft(1))
    zookeeper, jmx = told(made).unseen
    assert (zookeeper.source, zookeeper.ended_at, zookeeper.duration_ms) == (
        "zookeeper",
        None,
        40_000,
    )
    assert (jmx.source, jmx.node, jmx.duration_ms) == ("jmx", 3000, 30_000)


def test_records_that_were_trimmed_before_they_were_read_are_unseen(made: Made) -> None:
    made.tell("snapshot_loaded", 1_000, offset=100, skipped=None, phase="hybrid", held=[],
              unfenced_early=[], unregistered=[])  # fmt: skip
    made.tell("snapshot_loaded", 9_000, offset=900, skipped=240, phase="dual-write", held=[],
              unfenced_early=[], unregistered=[])  # fmt: skip
    report = told(made)
    (one,) = report.unseen
    assert (one.source, one.why, one.exact) == (
        "metadata_log",
        "240 records were trimmed before they were read",
        False,
    )
    assert "The time of some phase changes is not exact." in report.attention


def test_numbers_that_came_again_were_unseen_for_so_long(made: Made) -> None:
    made.tell("jmx_unreachable", 20_000, node=1, reason="timed out")
    made.tell("jmx_answers_again", 25_000, node=1, silent_ms=5_000)
    (one,) = told(made).unseen
    assert (one.node, one.duration_ms) == (1, 5_000)


def test_a_run_that_goes_on_has_no_end(made: Made) -> None:
    made.say(0, follow(1))
    made.status("source.json", 50_000)
    (run,) = told(made).runs
    assert (run.ended_at, run.duration_ms, run.killed) == (None, 900_000, False)
