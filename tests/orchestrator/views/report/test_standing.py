"""Hazards, losses and blind times that the night has not."""

from dataclasses import replace
from pathlib import Path

import pytest

from migration.image.summary import BrokerSummary, ClusterSummary, Mode, Phase, UnfencedEarly
from migration.observed.log_dirs import BrokerDisks, DisksImage
from orchestrator.api.report.report import ClusterReport, HazardAccount
from orchestrator.audit import AUDIT_FILE
from orchestrator.audit import run_entries as chronicle
from orchestrator.audit.execution import entries
from orchestrator.views.report.formats.text import html_text, markdown_text
from tests.orchestrator.views.report.making import ANNA, Made, T, now
from tests.orchestrator.views.report.night import follow, hazard, made_ms, registered
from tests.orchestrator.views.report.reporting import report_of
from tests.orchestrator.views.report.said import entered
from tests.scenes.night import cluster, held, kraft


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


SOURCES = ("metadata_log", "zookeeper", "log_dirs")


def cluster_report(made: Made) -> ClusterReport:
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
    (one,) = of(cluster_report(made), "unfenced_early")
    assert one.known_by == "looks"


def test_another_exposure_of_the_same_broker_is_another_hazard(made: Made) -> None:
    exposed(made, 10_000, 60_000)
    exposed(made, 90_000, 90_150)
    made.say(0, follow(1))
    made.say(10_400, early(since_ms=made_ms(10_100)))
    made.say(60_200, OVER)
    looked, short = of(cluster_report(made), "unfenced_early")
    assert (looked.known_by, short.known_by, short.duration_ms) == ("looks", "records", 50)


def test_what_stands_still_lasts_until_now(made: Made) -> None:
    made.say(0, follow(1))
    made.say(10_000, hazard())
    made.status("source.json", 70_000)
    made.summary = cluster(Phase.DUAL_WRITE, kraft(1))
    (one,) = of(cluster_report(made), "dual_write_stuck")
    assert (one.ended_at, one.duration_ms) == (None, 60_000)


def test_a_hazard_that_changed_is_as_it_was_last_judged(made: Made) -> None:
    made.say(0, follow(1))
    made.say(10_000, hazard(severity="warning", blocks=None))
    made.say(20_000, chronicle.HazardChanged.model_validate(
        hazard(blocks="restart", text="worse").model_dump()))  # fmt: skip
    (one,) = of(cluster_report(made), "dual_write_stuck")
    assert (one.severity, one.blocks, one.last_text) == ("critical", "restart", "worse")


def test_a_hazard_that_is_active_has_its_current_text(made: Made) -> None:
    made.say(0, follow(1))
    made.say(10_000, hazard("unfenced_early", broker=3, text="as it began"))
    made.summary = cluster(Phase.DUAL_WRITE, held(3))
    (one,) = of(cluster_report(made), "unfenced_early")
    assert one.text == "as it began"
    assert one.last_text.startswith("broker 3 is unfenced")
    assert f"as it began; at last: {one.last_text}" in markdown_text(report_of(made))


def test_where_nothing_was_kept_the_store_says_what_stands_at_the_end(made: Made) -> None:
    """An older version followed, or only `replay` did."""
    made.summary = cluster(Phase.DUAL_WRITE, held(3))
    report = cluster_report(made)
    (one,) = of(report, "unfenced_early")
    assert (one.known_by, one.exact) == ("store", False)
    assert report.attention[0].startswith("There is no audit trail")
    made.say(1_000, chronicle.SourceSeen(source="zookeeper"))
    assert report_of(made).clusters[0].attention[0].startswith("It is unknown when hazards began")


def test_losses_are_counted_and_come_first(made: Made) -> None:
    offsets = {"start_offset_now": 0, "end_offset_seen_ms": made_ms(5_000)}
    made.tell("records_lost", 9_000, 2, topic="orders", partition=3, first_lost_offset=80,
              last_lost_offset=99, **offsets)  # fmt: skip
    made.tell("records_lost", 9_500, 1, topic="orders", partition=4, first_lost_offset=5,
              last_lost_offset=5, **offsets)  # fmt: skip
    report = cluster_report(made)
    assert [(each.partition, each.records, each.broker) for each in report.losses] == [
        (3, 20, 2),
        (4, 1, 1),
    ]
    assert report.losses[0].last_seen_at == T + 5_000
    assert "Acknowledged records were lost." in report.attention
    assert (
        "Acknowledged records were lost: at least 21 of 2 partitions; see Losses." in report.summary
    )
    for text in (markdown_text(report_of(made)), html_text(report_of(made))):
        assert "offsets, at least" in text


def store_again(made: Made, *recorded: chronicle.Body) -> None:
    """A run with these entries, and another one that began with a new store."""
    watched(made)
    made.say(5_000, *recorded)
    made.say(60_000, chronicle.FollowEnded(owner="A on ops1"))
    made.say(90_000, follow(2))
    made.tell("broker_registered", 10_000, 1, offset=645, seen=92_000, epoch=645, mode="kraft",
              fenced=True, pending=0, log_dirs=["a", "b"])  # fmt: skip
    made.summary = with_disks(now(1, 645))


ONLY_SINCE = "only since 2026-11-22 01:31:32 UTC"


def test_a_new_store_does_not_hide_the_losses_in_the_trail(made: Made) -> None:
    store_again(made, hazard("records_lost", broker=2))
    report = cluster_report(made)
    losses = (
        "Acknowledged records were lost, or may be, as a hazard reports; see Hazards. The store"
        " does not have their offsets."
    )
    assert report.absences.losses == losses
    assert losses in report.summary
    assert "Acknowledged records were lost, or may be; see Hazards." in report.attention
    assert f"The store has data {ONLY_SINCE}" in report.attention[0]


def test_without_a_loss_in_the_trail_of_a_new_store_losses_are_unknown(made: Made) -> None:
    store_again(made)
    report = cluster_report(made)
    unknown = f"It is unknown whether records were lost: the store has data {ONLY_SINCE}."
    assert report.absences.losses == unknown
    assert not any(each.startswith("Acknowledged records") for each in report.attention)
    assert "No current data of the brokers' log directories for at least" in report.summary[-1]


def test_a_restart_is_no_new_store(made: Made) -> None:
    store_again(made)
    registered(made, 3_000, 2, 600, pending=0)
    report = cluster_report(made)
    assert report.absences.losses == NO_LOSS
    assert not [each for each in report.attention if "The store" in each]


def test_a_clock_that_was_set_back_is_named(made: Made) -> None:
    hour = 3_600_000
    made.say(0, follow(1), entries.ExecutionBegan(runbook="small", sha256="ab", by=ANNA, reason=""))
    made.say(600_000 - hour, hazard())
    made.say(590_000 - hour, entries.Aborted(by=ANNA, reason="next week"))
    report = cluster_report(made)
    assert (
        "The clock of Kraftgate's host was set back 1 time, by at least 50 min in total: times and"
        " durations across it are wrong."
    ) in report.attention
    assert report.walks[0].duration_ms is None
    assert "was aborted in an unknown time" in " ".join(report.summary)
    assert report.window.duration_ms is None
    assert html_text(report_of(made))


def test_a_source_that_is_away_still_is_unseen_still(made: Made) -> None:
    made.tell("zookeeper_blind", 10_000, reason="the connection was lost")
    made.tell("jmx_unreachable", 20_000, node=3000, reason="timed out")
    made.status("source.json", 50_000)
    made.summary = cluster(Phase.DUAL_WRITE, kraft(1))
    zookeeper, jmx = cluster_report(made).unseen
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
    report = cluster_report(made)
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
    (one,) = cluster_report(made).unseen
    assert (one.node, one.duration_ms) == (1, 5_000)


def test_a_run_that_goes_on_has_no_end(made: Made) -> None:
    made.say(0, follow(1))
    made.status("source.json", 50_000)
    (run,) = cluster_report(made).runs
    assert (run.ended_at, run.duration_ms, run.killed) == (None, 900_000, False)


NO_HAZARD = "No hazard was active."
NO_LOSS = (
    "No loss of acknowledged records was detected. A loss of records that were written after the"
    " last poll of the disks is not detected."
)
NO_GAP = "Every followed source was current all the time."
NO_HOLD = (
    "No broker had to be held: every replica had a known directory at once.",
    "Kafka unfenced none of them early.",
)


def watched(made: Made) -> None:
    """A run that recorded, whose sources were current."""
    made.say(0, follow(1))
    for source in SOURCES:
        made.say(1_000, chronicle.SourceSeen(source=source))


def with_disks(*brokers: BrokerSummary) -> ClusterSummary:
    described = DisksImage(brokers={1: BrokerDisks(id=1, answered_ms=made_ms(1_000))})
    return replace(cluster(Phase.DUAL_WRITE, *brokers), disks=described)


def require_in_each_format(made: Made, *sentences: str) -> None:
    """The same sentences are in the sections of each format."""
    report = report_of(made)
    absences = report.clusters[0].absences
    assert (absences.hazards, absences.losses, absences.unseen) == sentences
    for text in (markdown_text(report), html_text(report)):
        for known in {NO_HAZARD, NO_LOSS, NO_GAP} - set(sentences):
            assert known not in text
        for sentence in sentences:
            assert sentence in text.replace("\\", "")


def test_what_was_watched_and_not_seen_was_not_there(made: Made) -> None:
    watched(made)
    registered(made, 10_000, 1, 645, pending=0)
    made.summary = with_disks(now(1, 645))
    report = cluster_report(made)
    require_in_each_format(made, NO_HAZARD, NO_LOSS, NO_GAP)
    assert {NO_HAZARD, NO_LOSS, *NO_HOLD} <= set(report.summary)


def test_without_followed_disks_losses_are_unknown(made: Made) -> None:
    watched(made)
    made.summary = replace(with_disks(kraft(1)), disks=None)
    report = cluster_report(made)
    unknown = "It is unknown whether records were lost: the log directories were not followed."
    require_in_each_format(made, NO_HAZARD, unknown, NO_GAP)
    assert unknown in report.summary


def test_what_no_source_could_show_is_unknown(made: Made) -> None:
    """Its principal may be rejected all night, and the brokers may refuse to describe disks."""
    made.say(0, follow(1))
    for source in ("zookeeper", "log_dirs"):
        made.say(1_000, chronicle.SourceSeen(source=source))
    made.summary = replace(with_disks(kraft(1)), disks=DisksImage(brokers={1: BrokerDisks(id=1)}))
    absences = cluster_report(made).absences
    why = "never current: the metadata log"
    assert absences.hazards == f"It is unknown whether a hazard was active: {why}."
    assert absences.unseen == f"It is unknown whether every source was current: {why}."
    assert "not followed" in str(absences.losses)


def test_a_hold_that_ended_with_its_registration_was_not_completed(made: Made) -> None:
    """The assignments stalled, and the broker was taken back into migration mode."""
    watched(made)
    registered(made, 60_000, 2, 700, pending=40)
    made.tell("broker_registered", 1_860_000, 2, offset=900, epoch=900, mode="migrating",
              fenced=True, pending=40, log_dirs=["a", "b"])  # fmt: skip
    made.summary = cluster(Phase.HYBRID, now(2, 900, mode=Mode.MIGRATING))
    summary = " ".join(cluster_report(made).summary)
    assert "had to be held after a registration in KRaft mode, for 30 min." in summary
    assert "until every replica" not in summary
    assert "by another registration or the rollback: of 1 broker (2)." in summary


def test_a_hold_that_the_rollback_ended_was_not_completed(made: Made) -> None:
    watched(made)
    registered(made, 60_000, 2, 700, pending=40)
    made.tell("phase_changed", 300_000, was="dual-write", now="rolled-back")
    made.summary = cluster(Phase.ROLLED_BACK)
    report = cluster_report(made)
    summary = " ".join(report.summary)
    assert "until every replica" not in summary
    assert "by another registration or the rollback: of 1 broker (2)." in summary
    (broker,) = report.brokers
    assert broker.incarnations[0].cut_short


def test_a_hold_that_lasts_has_not_ended(made: Made) -> None:
    watched(made)
    registered(made, 60_000, 2, 700, pending=40)
    made.summary = cluster(Phase.DUAL_WRITE, now(2, 700, held=True))
    summary = " ".join(cluster_report(made).summary)
    assert "until every replica" not in summary
    assert "Still held: 2." in summary


@pytest.mark.parametrize(
    ("began_ms", "ended_ms", "reported_ms"),
    [(0, 3_600_000, None), (0, None, 3_600_000), (3_600_000, None, 5 * 3_600_000)],
)
def test_while_nobody_followed_nothing_is_known_to_be_absent(
    made: Made, began_ms: int, ended_ms: int | None, reported_ms: int | None
) -> None:
    """The last run ended, or was killed, hours before the execution, or the first began late."""
    made.tell("phase_changed", 0, offset=4, was="zookeeper", now="hybrid")
    made.say(0, entries.ExecutionBegan(runbook="small", sha256="ab", by=ANNA, reason="tonight"))
    made.say(began_ms, follow(1))
    for source in ("metadata_log", "zookeeper", "log_dirs"):
        made.say(began_ms + 1_000, chronicle.SourceSeen(source=source))
    if ended_ms is not None:
        made.say(ended_ms, chronicle.FollowEnded(owner="A on ops1"))
    if reported_ms is not None:
        made.status("source.json", reported_ms)
    made.say(5 * 3_600_000, entries.Aborted(by=ANNA, reason="next week"))
    made.summary = with_disks(kraft(1))
    report = cluster_report(made)
    assert report.absences.hazards == "No hazard was observed; see Gaps."
    sources = {"zookeeper", "log_dirs"} | ({"metadata_log"} if began_ms == 0 else set())
    hours = 4 if began_ms == 0 else 1
    assert {each.source for each in report.unseen} == sources
    assert {round((each.duration_ms or 0) / 3_600_000) for each in report.unseen} == {hours}
    (run,) = report.runs
    assert run.killed == (reported_ms == 3_600_000)
    assert run.ended_at == (None if began_ms else T + 3_600_000)


def test_a_killed_run_holds_the_checkpoint_from_its_last_report(made: Made) -> None:
    made.say(0, follow(1), entries.ExecutionBegan(runbook="small", sha256="ab", by=ANNA, reason=""))
    made.say(0, entered("preflight"))
    made.status("source.json", 600_000)
    made.say(900_000, entries.Aborted(by=ANNA, reason="next week"))
    (hold,) = cluster_report(made).walks[0].checkpoints[0].holds
    assert (hold.kind, hold.began_at, hold.duration_ms) == ("not_running", T + 600_000, 300_000)


def test_a_run_whose_sources_hang_was_not_killed(made: Made) -> None:
    """It records that they are not current."""
    watched(made)
    made.status("source.json", 60_000)
    made.say(80_000, lost("zookeeper", 60_000))
    made.say(90_000, entries.Paused(by=ANNA, reason="what is that"))
    (run,) = cluster_report(made).runs
    assert (run.ended_at, run.killed) == (None, False)


def test_a_run_that_an_error_ended_is_not_reported_as_stopped(made: Made) -> None:
    watched(made)
    made.say(60_000, chronicle.FollowEnded(owner="A on ops1", why="FollowingError: Spark ended"))
    (run,) = cluster_report(made).runs
    assert (run.killed, run.why) == (False, "FollowingError: Spark ended")
    assert '<span class="mark bad">failed</span> FollowingError: Spark ended' in html_text(
        report_of(made)
    )


def test_the_first_gap_ends_when_the_source_became_current(made: Made) -> None:
    """As every later one does: a process that follows has to catch up first."""
    made.say(0, entries.ExecutionBegan(runbook="small", sha256="ab", by=ANNA, reason="tonight"))
    made.say(24_000, follow(1))
    for seen_ms, source in ((31_000, "log_dirs"), (39_000, "zookeeper"), (40_000, "metadata_log")):
        made.say(seen_ms, chronicle.SourceSeen(source=source))
    made.say(60_000, chronicle.FollowEnded(owner="A on ops1"))
    made.summary = with_disks(kraft(1))
    report = cluster_report(made)
    assert [(each.source, each.ended_at) for each in report.unseen if each.began_at == T] == [
        ("log_dirs", T + 31_000),
        ("zookeeper", T + 39_000),
    ]
    assert report.unseen[0].missed == (
        "a failed directory that came back, and every record that was lost before"
    )
    assert "No current data of ZooKeeper for 39.0 s in total; see Gaps." in report.summary


def test_a_source_that_was_never_current_has_a_sentence(made: Made) -> None:
    """Next to a hazard, or a gap of another source, no list is empty."""
    made.say(0, follow(1))
    for source in ("metadata_log", "zookeeper"):
        made.say(1_000, chronicle.SourceSeen(source=source))
    made.say(10_000, hazard())
    made.say(22_000, lost("zookeeper", 20_000))
    made.summary = cluster(Phase.DUAL_WRITE, kraft(1))
    assert "No current data of the brokers' log directories at all." in cluster_report(made).summary


def lost(source: str, last_seen_ms: int) -> chronicle.SourceLost:
    why = "journaled facts have not been processed yet"
    return chronicle.SourceLost(source=source, why=why, last_seen_ms=made_ms(last_seen_ms))


@pytest.mark.parametrize("source", ["log_dirs", "zookeeper"])
def test_beside_a_gap_a_hazard_was_only_not_observed(made: Made, source: str) -> None:
    """ZooKeeper may be connected meanwhile: then no event reports it."""
    watched(made)
    made.say(2_000, lost(source, 2_000))
    made.say(42_000, chronicle.SourceSeen(source=source))
    made.status("source.json", 70_000)
    made.summary = with_disks(kraft(1))
    report = cluster_report(made)
    assert report.absences.hazards == "No hazard was observed; see Gaps."
    (gap,) = report.unseen
    assert (gap.source, gap.duration_ms) == (source, 40_000)
    words = {"log_dirs": "the brokers' log directories", "zookeeper": "ZooKeeper"}[source]
    assert f"No current data of {words} for 40.0 s in total; see Gaps." in report.summary


def test_a_source_that_became_current_hours_later_was_not_current_until_then(made: Made) -> None:
    made.say(0, entries.ExecutionBegan(runbook="small", sha256="ab", by=ANNA, reason="tonight"))
    made.say(2_000, follow(1))
    hours_ms = 3 * 3_600_000
    for seen_ms, source in (
        (62_000, "log_dirs"),
        (62_001, "metadata_log"),
        (hours_ms, "zookeeper"),
    ):
        made.say(seen_ms, chronicle.SourceSeen(source=source))
    made.status("source.json", hours_ms + 60_000)
    made.summary = with_disks(kraft(1))
    report = cluster_report(made)
    assert [(e.source, e.began_at, e.ended_at, e.why) for e in report.unseen] == [
        ("metadata_log", T + 2_000, T + 62_001, "it was not current yet"),
        ("zookeeper", T + 2_000, T + hours_ms, "it was not current yet"),
    ]
    assert report.absences.hazards == "No hazard was observed; see Gaps."


@pytest.mark.parametrize(
    ("read", "late_ms", "began_ms"),
    [("record", 60_000, None), ("record", 60_001, 600_000), ("snapshot", 0, 0)],
)
def test_a_metadata_log_is_late_only_since_it_exists(
    made: Made, read: str, late_ms: int, began_ms: int | None
) -> None:
    """The controllers are provisioned in the window; a snapshot does not show when."""
    made.say(0, follow(1), entries.ExecutionBegan(runbook="small", sha256="ab", by=ANNA, reason=""))
    if read == "record":
        made.tell("phase_changed", 600_000, offset=4, was="zookeeper", now="pre-migration")
    else:
        made.tell("snapshot_loaded", 600_000, offset=4, skipped=None, phase="pre-migration",
                  held=[], unfenced_early=[], unregistered=[])  # fmt: skip
    made.say(600_000 + late_ms, chronicle.SourceSeen(source="metadata_log"))
    made.status("source.json", 700_000)
    made.summary = cluster(Phase.PRE_MIGRATION)
    found = cluster_report(made).unseen
    late = [each for each in found if each.why == "it was not current yet"]
    assert [each.began_at for each in late] == ([] if began_ms is None else [T + began_ms])
    assert {each.missed for each in late} <= {
        "what the first snapshot of the quorum that was read does not show; without one, nothing"
    }


def test_only_what_was_read_again_is_reported_as_read_afterwards(made: Made) -> None:
    made.tell("phase_changed", 0, offset=4, was="zookeeper", now="hybrid")
    watched(made)
    for source in SOURCES:
        made.say(2_000, lost(source, 2_000))
    made.say(42_000, chronicle.SourceSeen(source="zookeeper"))
    made.say(50_000, lost("zookeeper", 50_000))
    made.tell("zookeeper_blind", 49_000, reason="the connection was lost")
    made.tell("zookeeper_seen_again", 51_000, blind_since_ms=made_ms(49_000), server="zk1:2181")
    made.status("source.json", 70_000)
    made.summary = with_disks(kraft(1))
    missed = {(e.source, e.ended_at is None): e.missed for e in cluster_report(made).unseen}
    assert missed == {
        ("zookeeper", False): (
            "changes that were reverted meanwhile; everything else was read afterwards"
        ),
        ("zookeeper", True): "every change since then: no later reading is recorded",
        ("log_dirs", True): (
            "every failed directory and every lost record since then: no later reading is recorded"
        ),
        ("metadata_log", True): "every record since then: no later reading is recorded",
    }
    for text in (markdown_text(report_of(made)), html_text(report_of(made))):
        assert all(each in text for each in missed.values())


@pytest.mark.parametrize("seen_ms", [602_000, None])
def test_a_loss_of_zookeeper_is_one_gap_with_its_event(made: Made, seen_ms: int | None) -> None:
    """A host that was suspended dates the lost connection by the time at which it goes on."""
    watched(made)
    made.say(600_000, lost("zookeeper", 2_000))
    made.tell("zookeeper_blind", 598_000, reason="the connection was lost")
    made.tell("zookeeper_seen_again", 601_000, blind_since_ms=made_ms(598_000), server="zk1:2181")
    if seen_ms is not None:
        made.say(seen_ms, chronicle.SourceSeen(source="zookeeper"))
    made.status("source.json", 700_000)
    made.summary = with_disks(kraft(1))
    (gap,) = cluster_report(made).unseen
    ended_at = None if seen_ms is None else T + seen_ms
    assert (gap.began_at, gap.ended_at) == (T + 2_000, ended_at)


def test_without_an_audit_trail_hazards_and_gaps_are_unknown(made: Made) -> None:
    made.summary = with_disks(kraft(1))
    report = cluster_report(made)
    hazards = "It is unknown whether a hazard was active: there is no audit trail."
    gaps = "It is unknown whether every source was current: there is no audit trail."
    require_in_each_format(made, hazards, NO_LOSS, gaps)
    assert hazards in report.summary


@pytest.mark.parametrize(
    ("recorded", "why"),
    [
        (chronicle.SourceSeen(source="zookeeper"), "an older kraftgate run followed, or none"),
        (follow(1), "never current: the brokers' log directories, the metadata log, ZooKeeper"),
    ],
)
def test_a_trail_that_watched_nothing_proves_nothing(
    made: Made, recorded: chronicle.Body, why: str
) -> None:
    made.say(0, recorded)
    absences = cluster_report(made).absences
    assert absences.hazards == f"It is unknown whether a hazard was active: {why}."
    assert absences.unseen == f"It is unknown whether every source was current: {why}."


def test_a_changed_trail_proves_nothing(made: Made) -> None:
    watched(made)
    trail = made.state / AUDIT_FILE
    trail.write_bytes(trail.read_bytes().replace(b"ops1", b"ops2"))
    absences = cluster_report(made).absences
    assert absences.hazards == (
        "It is unknown whether a hazard was active: the audit trail is not intact."
    )


def test_without_a_valid_entry_decisions_are_unknown(made: Made) -> None:
    made.say(0, entries.Aborted(by=ANNA, reason="next week"))
    trail = made.state / AUDIT_FILE
    trail.write_bytes(trail.read_bytes().replace(b"next week", b"last week"))
    report = cluster_report(made)
    unknown = "It is unknown which decisions were made: the audit trail is not intact."
    assert report.absences.decisions == unknown
    assert report.attention[0].endswith("None of its entries is used here: what they record is"
                                        " unknown.")  # fmt: skip
    assert all(unknown in each for each in (markdown_text(report_of(made)),
                                            html_text(report_of(made))))  # fmt: skip


def test_a_phase_that_no_source_showed_is_unknown(made: Made) -> None:
    """Only the brokers were polled: neither the metadata log nor ZooKeeper was read."""
    watched(made)
    made.summary = replace(with_disks(kraft(1)), metadata_offset=None, zookeeper=None)
    report = cluster_report(made)
    assert (report.phase, report.window.ended) == ("unknown", None)
    assert report.summary[0].startswith(
        "The phase of the cluster prod is unknown: neither the metadata log nor ZooKeeper was read."
    )


def test_holds_before_the_first_read_snapshot_are_unknown(made: Made) -> None:
    watched(made)
    made.summary = cluster(Phase.DUAL_WRITE, kraft(1, registered_ms=None), now(2, 700))
    registered(made, 10_000, 2, 700, pending=0)
    report = cluster_report(made)
    assert not {*NO_HOLD} & {*report.summary}
    assert (
        "Holds and early unfencing before a snapshot was read are unknown: it had the registration"
        " of 1 broker (1)."
    ) in report.summary


@pytest.mark.parametrize("is_early", [False, True])
def test_of_skipped_records_early_unfencing_is_unknown(made: Made, is_early: bool) -> None:
    """It may have begun and ended in them; the snapshot shows what has not ended."""
    watched(made)
    registered(made, 10_000, 2, 700, pending=40)
    shown = [2] if is_early else []
    made.tell("snapshot_loaded", 90_000, offset=9_000, skipped=8_300, phase="dual-write",
              held=shown, fenced=[], unfenced_early=shown, unregistered=[])  # fmt: skip
    early = held(2, epoch=700, unfenced_early=UnfencedEarly(pending=40, duration_ms=None))
    made.summary = with_disks(early if is_early else now(2, 700))
    summary = " ".join(cluster_report(made).summary)
    assert not any(each in summary for each in NO_HOLD)
    assert "in records that were never read are unknown; see Gaps." in summary
    served = "broker 2 early: it served for an unknown time so far while 40 of its replicas"
    assert (served in summary) == is_early


def test_fences_of_a_broker_that_a_snapshot_had_are_reported(made: Made) -> None:
    watched(made)
    made.tell("broker_fenced", 10_000, 1, offset=901)
    made.tell("broker_unfenced", 2_410_000, 1, offset=950)
    made.summary = with_disks(now(1, 645, registered_ms=None))
    (broker,) = cluster_report(made).brokers
    assert broker.fenced_ms == 2_400_000
    assert [each.mode for each in broker.incarnations] == ["kraft"]


def test_an_unknown_duration_is_not_zero(made: Made) -> None:
    """A snapshot had the registration, so its time is unknown."""
    watched(made)
    served = UnfencedEarly(pending=12, duration_ms=None)
    early = held(1, epoch=645, registered_ms=None, unfenced_ms=None, unfenced_early=served)
    made.summary = with_disks(early)
    report = cluster_report(made)
    (broker,) = report.brokers
    assert (broker.held_ms, broker.fenced_ms, broker.exposed_ms) == (None, 0, None)
    summary = " ".join(report.summary)
    held_for = (
        "1 broker (1) had to be held after a registration in KRaft mode, for an unknown time."
    )
    assert held_for in summary
    assert "broker 1 early: it served for an unknown time so far while 12" in summary
    assert "| unknown | 0 ms | unknown |" in markdown_text(report_of(made))
    page = html_text(report_of(made))
    assert '<td class="n">unknown</td><td class="n">-</td>' in page
    assert "held unknown, fenced 0 ms, unfenced early unknown" in page


def test_durations_of_which_some_are_unknown_have_a_least(made: Made) -> None:
    watched(made)
    exposed(made, 10_000, 490_000)
    served = UnfencedEarly(pending=12, duration_ms=None)
    early = held(1, epoch=645, registered_ms=None, unfenced_ms=None, unfenced_early=served)
    made.summary = with_disks(early, now(2, 700))
    report = cluster_report(made)
    summary = " ".join(report.summary)
    assert "2 brokers (1, 2) had to be held after a registration in KRaft mode, the longest" in (
        summary
    )
    assert "for at least 8 min." in summary
    assert "the longest known of them broker 2: it served for at least 7 min 59 s while" in summary
