"""The report of one window: each figure is one that the window was made with."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.api.report.report import ClusterReport
from tests.orchestrator.views.report.making import Made, T
from tests.orchestrator.views.report.night import SHA256, night
from tests.orchestrator.views.report.reporting import report_of, run

SUMMARY = """\
The cluster prod went from ZooKeeper to finalized KRaft. The window was from \
2026-11-22 01:30:00 UTC to 2026-11-22 01:43:21 UTC, 13 min 21 s.
The execution of small was completed in 13 min 21 s; 4 steps were taken, 1 of which failed or \
ended with an unknown outcome.
2 brokers (1, 2) had to be held after a registration in KRaft mode, between 541 ms and 1.1 s \
each, until every replica had a known directory.
Kafka unfenced broker 2 early: it served for 41 ms while 4 of its replicas had no known directory.
It is unknown whether records were lost: the log directories were not followed.
2 hazards occurred, 1 critical, none active at the end: dual_write_stuck, unfenced_early.
1 alert occurred, none active at the end: KraftgateDualWriteStuck.
The audit trail has 7 decisions by anna, boris, 3 approvals among them.
No current data of ZooKeeper for 1 min 37 s in total; see Gaps.
No current data of the brokers' log directories at all."""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> ClusterReport:
    return report_of(night(tmp_path_factory.mktemp("night"))).clusters[0]


def since(moment: int | None) -> int | None:
    return None if moment is None else moment - T


def test_the_window_is_the_walk(told: ClusterReport) -> None:
    window = told.window
    assert (window.of, window.ended, window.duration_ms) == ("walks", True, 801_000)
    assert (since(window.began_at), since(window.ended_at)) == (0, 801_000)
    assert since(told.as_of) == 900_000
    assert told.attention == ()


def test_the_summary_says_it_in_sentences(told: ClusterReport) -> None:
    assert "\n".join(told.summary) == SUMMARY


def test_phases_follow_one_another(told: ClusterReport) -> None:
    assert [(each.phase, since(each.began_at), each.duration_ms) for each in told.phases] == [
        ("zookeeper", None, None),
        ("pre-migration", 60_000, 60_000),
        ("copying", 120_000, 400),
        ("hybrid", 120_400, 280_141),
        ("dual-write", 400_541, 399_459),
        ("finalized", 800_000, 100_000),
    ]
    assert [each.offset for each in told.phases] == [None, 4, 374, 413, 740, 1439]
    assert told.phases[-1].ended_at is None


def test_brokers_have_their_times(told: ClusterReport) -> None:
    one, two = told.brokers
    assert (one.held_ms, one.fenced_ms, one.exposed_ms, one.assigned) == (1_100, 1_300, 0, 4)
    assert (two.held_ms, two.fenced_ms, two.exposed_ms, two.assigned) == (541, 500, 41, 4)
    (first,), (second,) = one.incarnations, two.incarnations
    assert first.assignments is not None
    assert first.assignments.rate_per_second == 6.667
    assert (first.completed_offset, first.unfenced_offset) == (680, 681)
    assert second.assignments is not None
    assert second.assignments.rate_per_second == 133.333
    assert second.exposed[0].pending == 4
    assert (two.host, two.rack, two.mode) == ("b2", "r1", "kraft")


def test_replicas_are_counted_over_time(told: ClusterReport) -> None:
    series = told.replicas
    assert series is not None
    assert (series.assigned[0], series.pending[0]) == (0, 0)
    assert (series.assigned[-1], series.pending[-1]) == (8, 0)
    at = {since(moment): n for n, moment in enumerate(series.at)}
    assert series.pending[at[120_400]] == 8
    assert [each.id for each in series.brokers] == [1, 2]
    assert series.brokers[1].assigned[-1] == 4


def test_checkpoints_say_what_held_them_and_who_let_them(told: ClusterReport) -> None:
    (execution,) = told.walks
    assert (execution.runbook_sha256, execution.runbook_kept, execution.outcome) == (
        SHA256,
        True,
        "completed",
    )
    assert [
        (each.id, each.duration_ms, each.result, each.by) for each in execution.checkpoints
    ] == [
        ("preflight", 9_000, "passed", ()),
        ("brokers-kraft[1]", 200_000, "passed", ()),
        ("brokers-kraft[2]", 200_000, "passed", ()),
        ("finalize", 391_000, "passed", ("anna (login anna.a)", "boris (login boris.b)")),
    ]
    assert execution.checkpoints[1].title == "Brokers into KRaft mode"
    longest = [(each.holds[0].what, each.holds[0].duration_ms) for each in execution.checkpoints]
    assert longest == [
        ("isr_full", 4_000),
        ("its command", 13_000),
        ("a pause", 50_000),
        ("approval by 2 people", 350_000),
    ]


def test_a_kill_holds_the_checkpoint_that_it_falls_into(told: ClusterReport) -> None:
    holds = {each.what: each for each in told.walks[0].checkpoints[2].holds}
    assert holds["kraftgate run"].duration_ms == 30_000
    assert [(each.killed, each.duration_ms) for each in told.runs] == [
        (True, 310_000),
        (False, 560_000),
    ]


def test_steps_have_their_commands_and_outcomes(told: ClusterReport) -> None:
    failed, repeated = told.walks[0].checkpoints[1].steps
    assert (failed.outcome, failed.exit_code) == ("failed", 1)
    assert failed.output == "ssh: no route to b1\n"
    assert failed.decided == "repeat, by anna: the route is back"
    assert (repeated.attempt, repeated.outcome, repeated.took_ms) == (2, "succeeded", 8_000)
    assert repeated.argv == ("ssh", "host", "restart")


def test_every_decision_has_who_when_and_why(told: ClusterReport) -> None:
    assert [(each.kind, each.who, since(each.at)) for each in told.decisions] == [
        ("walk_began", "anna", 0),
        ("step_decided", "anna", 196_000),
        ("paused", "boris", 250_000),
        ("resumed", "boris", 300_000),
        ("approved", "anna", 500_000),
        ("approvals_expired", None, 520_000),
        ("approved", "anna", 700_000),
        ("approved", "boris", 760_000),
    ]
    approved = told.decisions[-1]
    assert (approved.reason, approved.login, approved.host) == ("CHG-1234", "boris.b", "ops2")
    assert approved.basis == {"phase": "dual-write", "hazards": "none"}
    assert approved.hash.startswith("sha256:")


def test_hazards_are_told_from_their_beginning_to_their_end(told: ClusterReport) -> None:
    stuck, early = told.hazards
    assert (stuck.hazard, since(stuck.began_at), since(stuck.ended_at)) == (
        "dual_write_stuck",
        240_000,
        292_000,
    )
    assert (since(stuck.last_seen_at), since(stuck.since_at)) == (291_750, 209_000)
    assert (stuck.known_by, len(stuck.entries), stuck.blocks) == ("looks", 2, "finalize")
    assert stuck.last_text == "ZooKeeper has not been written for 51 s"
    assert (early.hazard, early.broker, early.known_by) == ("unfenced_early", 2, "records")
    assert (since(early.began_at), early.duration_ms) == (400_500, 41)


def test_alerts_are_told_from_their_beginning_to_their_end(told: ClusterReport) -> None:
    (alert,) = told.alerts
    assert (alert.name, alert.severity) == ("KraftgateDualWriteStuck", "critical")
    assert alert.labels == {"hazard": "dual_write_stuck"}
    assert (since(alert.began_at), since(alert.ended_at)) == (241_000, 292_000)
    assert alert.duration_ms == 51_000
    assert alert.text == "Nothing of prod reaches ZooKeeper since 01:33:29"


def test_what_nobody_saw_is_told_of_each_source(told: ClusterReport) -> None:
    assert [
        (each.source, each.node, since(each.began_at), since(each.ended_at)) for each in told.unseen
    ] == [
        ("zookeeper", None, 230_000, 291_000),
        ("metadata_log", None, 310_000, 345_000),
        ("zookeeper", None, 310_000, 346_000),
        ("log_dirs", 2, 398_000, 404_000),
    ]
    assert told.unseen[1].why == "Kraftgate did not run"


def test_the_timeline_keeps_the_order_of_a_source(tmp_path: Path) -> None:
    made = Made(tmp_path)
    made.tell("zk_controller_gone", 155, was=2)
    made.tell("zk_controller_changed", 0)
    made.store()
    happened = report_of(made).clusters[0].happened
    assert [each.kind for each in happened] == ["zk_controller_gone", "zk_controller_changed"]


def test_a_record_without_a_time_has_none_in_the_timeline(tmp_path: Path) -> None:
    """Only a snapshot shows this election: when it was read says nothing about it."""
    made = Made(tmp_path)
    made.tell("unclean_election", 155, offset=500, topic="t", partition=0, leader=2, isr=[1])
    made.events[-1] = replace(made.events[-1], timestamp_ms=None)
    made.store()
    (elected,) = report_of(made).clusters[0].happened
    assert (elected.kind, elected.at) == ("unclean_election", None)


def test_everything_stands_on_one_axis(told: ClusterReport) -> None:
    moments = [each.at for each in told.happened if each.at is not None]
    assert moments == sorted(moments)
    texts = {each.text for each in told.happened}
    assert "broker 2 serves while 4 of its replicas have no known directory (unfenced early)" in (
        texts
    )
    assert "boris approved finalize: CHG-1234" in texts
    assert "the hook of brokers-kraft[1] ended with exit code 1" in texts
    assert "hazard dual_write_stuck ended" in texts
    assert {each.lane for each in told.happened} == {
        "metadata", "zookeeper", "disks", "walk", "people", "kraftgate",
    }  # fmt: skip


def test_the_versions_and_the_trail_are_named(tmp_path: Path) -> None:
    whole: dict[str, Any] = json.loads(run(night(tmp_path), "--format", "json").stdout)
    audit = whole["audit"]
    assert (audit["intact"], audit["why"]) == (True, "")
    assert audit["head"].startswith("sha256:")
    (cluster,) = whole["clusters"]
    assert cluster["metadata_version"] == "3.9-IV0"
    assert cluster["cluster_id"] == "uSLaubyUxZGsRKrz8FtoCw"
    assert cluster["as_of"] == "2026-11-22T01:45:00.000Z"
    assert {each["version"] for each in cluster["runs"]} == {"0.1.0"}
