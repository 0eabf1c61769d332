"""The metrics of a night, those left out because they are unknown, and their number."""

from dataclasses import replace

import pytest
from hypothesis import given

from migration.assessment.assess import Journal
from migration.assessment.conditions import View
from migration.assessment.data_source import DataSource
from migration.assessment.hazards import HazardKind
from migration.assessment.waits import WaitKind, nothing_seen
from migration.comparison.result import Compared
from migration.image.summary import BrokerSummary, Mode, Phase, UnfencedEarly
from migration.metadata.events import Event
from migration.observed.log_dirs import BrokerDisks, DisksImage
from migration.observed.source_status import NO_STATUS
from orchestrator.run.reader import ClusterRead, Tally
from orchestrator.views.metrics.collector import metrics
from tests.migration.assessment.conditions.views import broker, migration, views, zookeeper
from tests.orchestrator.views.metrics.everything import (
    ALL_SEEN,
    JMX,
    LIVE,
    RECEIVERS,
    everything,
    on_disk,
)
from tests.orchestrator.views.metrics.scraping import (
    CONFIG,
    Samples,
    registry,
    samples,
    scraped,
    seen,
    with_summary,
    written,
)
from tests.orchestrator.views.metrics.test_walk import WALK_TOLD
from tests.scenes.night import FRESH, HYBRID, NOW_MS, cluster, held, kraft, replicas
from tests.support.examples import examples


def with_disks(*disks: BrokerDisks) -> ClusterRead:
    return with_summary(ALL_SEEN, disks=DisksImage(brokers={each.id: each for each in disks}))


def test_a_held_broker_is_told_with_its_times() -> None:
    found = scraped(ALL_SEEN)
    assert found["kraftgate_broker_held"] == {("1",): 0, ("2",): 0, ("3",): 1}
    assert found["kraftgate_broker_held_since_timestamp_seconds"] == {("3",): 1789999970.0}
    assert found["kraftgate_broker_last_progress_timestamp_seconds"] == {("3",): 1789999996.0}
    assert found["kraftgate_broker_unfenced_early"] == {("1",): 0, ("2",): 0, ("3",): 1}
    assert found["kraftgate_broker_unfenced_early_pending_replicas"] == {("1",): 32, ("3",): 64}
    assert found["kraftgate_broker_unfenced_early_duration_seconds"] == {("1",): 0.07}
    assert {state: n for (id_, state), n in found["kraftgate_replicas"].items() if id_ == "3"} == {
        "migrating": 8,
        "unassigned": 4,
        "assigned": 52,
        "offline": 0,
        "lost": 0,
        "reserved": 0,
    }


def test_the_active_controller_is_told_also_after_a_snapshot() -> None:
    found = scraped(with_summary(ALL_SEEN, active_controller=None))
    assert found["kraftgate_active_controller"] == {("3000",): 1}


def test_no_controller_is_active_after_an_election_that_nobody_has_won() -> None:
    """The log still names its last leader."""
    elects = replace(FRESH, active_controller=None, leader_epoch=8)
    found = scraped(replace(ALL_SEEN, status=elects))
    assert "kraftgate_active_controller" not in found


def test_rate_and_estimate_are_told_of_a_held_broker() -> None:
    found = scraped(ALL_SEEN)
    assert found["kraftgate_broker_assigned_replicas_per_second"] == {
        ("3",): pytest.approx(52 / 25.5)
    }
    times = found["kraftgate_broker_eta_timestamp_seconds"]
    assert set(times) == {("expected", "3"), ("earliest", "3"), ("latest", "3")}
    expected = times["expected", "3"]
    assert expected - NOW_MS / 1000 == pytest.approx(9.733, abs=0.001)
    assert NOW_MS / 1000 < times["earliest", "3"] < expected < times["latest", "3"]
    assert found["kraftgate_eta_timestamp_seconds"] == {
        (bound,): at for (bound, _), at in times.items()
    }


def test_what_has_no_estimate_is_not_told() -> None:
    names = ("kraftgate_broker_eta_timestamp_seconds", "kraftgate_eta_timestamp_seconds")
    stale = replace(ALL_SEEN, status=replace(FRESH, last_reply_ms=NOW_MS - 60_000))
    without_rate = with_summary(ALL_SEEN, brokers=(held(3), held(4, progress=None)))
    assert not set(names) & set(scraped(stale))
    found = scraped(without_rate)
    assert {broker for _, broker in found[names[0]]} == {"3"}
    assert names[1] not in found


def test_before_the_first_progress_the_registration_counts() -> None:
    found = scraped(with_summary(ALL_SEEN, brokers=(held(3, progress=None),)))
    assert found["kraftgate_broker_last_progress_timestamp_seconds"] == {("3",): 1789999970.0}


def test_a_registration_whose_time_is_not_known_has_none() -> None:
    one = held(3, progress=None, registered_ms=None)
    found = scraped(with_summary(ALL_SEEN, brokers=(one,)))
    assert found["kraftgate_broker_held"] == {("3",): 1}
    assert "kraftgate_broker_last_progress_timestamp_seconds" not in found
    assert "kraftgate_broker_held_since_timestamp_seconds" not in found


def test_a_held_broker_that_is_fenced_again_does_not_serve() -> None:
    found = scraped(with_summary(ALL_SEEN, brokers=(held(3, fenced=True),)))
    assert found["kraftgate_broker_unfenced_early"] == {("3",): 0}


def test_a_state_is_one_sample_for_each_value() -> None:
    found = scraped(ALL_SEEN)
    assert {phase for (phase,) in found["kraftgate_phase"]} == set(Phase)
    assert [phase for (phase,), value in found["kraftgate_phase"].items() if value] == ["hybrid"]
    modes = [at for at, value in found["kraftgate_broker_mode"].items() if value]
    assert modes == [("1", "kraft"), ("2", "migrating"), ("3", "kraft")]


def test_when_a_phase_began_is_told_of_the_phase_that_is() -> None:
    event = Event(
        offset=412, timestamp_ms=NOW_MS - 90_000, kind="phase_changed", fields={"now": "hybrid"}
    )
    found = scraped(ALL_SEEN, tally=Tally(last=7, counts={"phase_changed": 3}, phase=event))
    assert found["kraftgate_phase_changed_timestamp_seconds"] == {(): 1789999910.0}
    assert found["kraftgate_events_total"] == {("phase_changed",): 3}
    skipped = replace(event, fields={"now": "copying"})
    found = scraped(ALL_SEEN, tally=Tally(last=7, counts={"phase_changed": 3}, phase=skipped))
    assert "kraftgate_phase_changed_timestamp_seconds" not in found


def test_before_the_first_look_there_is_the_process_alone() -> None:
    found = samples(written(registry(ticked=False)))
    assert found.keys() == {"kraftgate_build_info"}


def test_of_a_cluster_that_was_never_seen_nothing_is_known() -> None:
    never = ClusterRead(summary=nothing_seen("prod"), events=(), status=NO_STATUS)
    found = scraped(never)
    assert found.keys() == {
        "kraftgate_build_info",
        "kraftgate_last_look_timestamp_seconds",
        "kraftgate_source_current",
        "kraftgate_hazards_known",
        "kraftgate_waits",
        "kraftgate_alerts",
    }
    assert set(found["kraftgate_source_current"].values()) == {0}
    assert found["kraftgate_waits"] == {("not_running",): 1}
    assert found["kraftgate_hazards_known"] == {(): 0}


def test_a_broker_that_only_zookeeper_knows_has_a_mode_and_nothing_else() -> None:
    one = broker(1, Mode.ZOOKEEPER, epoch=None, registered_ms=None)
    found = scraped(with_summary(ALL_SEEN, brokers=(one,), disks=DisksImage()))
    told = {name for name, of_name in found.items() if any("1" in at for at in of_name)}
    assert told == {"kraftgate_broker_mode"}


@pytest.mark.parametrize("phase", [Phase.PRE_MIGRATION, Phase.ROLLED_BACK])
def test_while_zookeeper_rules_the_log_has_no_say_about_replicas(phase: Phase) -> None:
    ruled = zookeeper(kraft=False, migration=migration(written_ms=NOW_MS - 500))
    found = scraped(with_summary(ALL_SEEN, phase=phase, zookeeper=ruled))
    for name in ("topics", "partitions", "replicas", "broker_held", "broker_unfenced_early"):
        assert f"kraftgate_{name}" not in found
    assert found["kraftgate_broker_fenced"] == {("1",): 0, ("2",): 0, ("3",): 0}
    assert found["kraftgate_zookeeper_controller"] == {("kraft",): 0, ("zookeeper",): 1}


def test_directories_are_online_offline_or_unknown() -> None:
    found = scraped(
        with_disks(
            BrokerDisks(
                id=1,
                answered_ms=NOW_MS - 1000,
                log_dirs=(on_disk("/d1"), on_disk("/d2", error=56)),
            ),
            BrokerDisks(
                id=2,
                answered_ms=NOW_MS - 90_000,
                unreachable="refused",
                unreachable_since_ms=NOW_MS - 60_000,
                log_dirs=(
                    on_disk("/d1", readable=True),
                    on_disk("/d2", readable=False),
                    on_disk("/d3"),
                ),
            ),
            BrokerDisks(id=3, unreachable="refused", unreachable_since_ms=NOW_MS - 60_000),
        )
    )
    assert found["kraftgate_broker_log_dirs"] == {
        ("1", "online"): 1,
        ("1", "offline"): 1,
        ("1", "unknown"): 0,
        ("2", "online"): 1,
        ("2", "offline"): 1,
        ("2", "unknown"): 1,
    }
    assert found["kraftgate_log_dir_online"] == {
        ("1", "/d1"): 1,
        ("1", "/d2"): 0,
        ("2", "/d1"): 1,
        ("2", "/d2"): 0,
    }
    assert found["kraftgate_log_dir_size_bytes"] == {("1", "/d1"): 100}
    assert found["kraftgate_log_dir_volume_usable_bytes"] == {("1", "/d1"): 900}
    silent = found["kraftgate_broker_log_dirs_silent_since_timestamp_seconds"]
    assert silent.keys() == {("2",), ("3",)}


def test_a_volume_that_is_not_told_has_no_size() -> None:
    told = on_disk("/d1", total_bytes=None, usable_bytes=None)
    found = scraped(with_disks(BrokerDisks(id=1, answered_ms=NOW_MS, log_dirs=(told,))))
    assert found["kraftgate_log_dir_size_bytes"] == {("1", "/d1"): 100}
    assert "kraftgate_log_dir_volume_bytes" not in found


def test_hazards_that_stand_are_named_and_the_others_are_zero() -> None:
    found = scraped(ALL_SEEN)
    # blocks, broker, hazard, severity
    assert found["kraftgate_hazard"] == {("restart", "3", "unfenced_early", "warning"): 1}
    active = found["kraftgate_hazard_active"]
    assert {kind for (kind,) in active} == set(HazardKind)
    assert {kind for (kind,), value in active.items() if value} == {"unfenced_early"}
    assert found["kraftgate_hazards_known"] == {(): 1}


def test_two_hazards_of_one_kind_and_broker_are_one_sample() -> None:
    bad = (on_disk("/d1", error=56), on_disk("/d2", error=56), on_disk("/d3"))
    found = scraped(with_disks(BrokerDisks(id=2, answered_ms=NOW_MS, log_dirs=bad)))
    assert found["kraftgate_hazard"]["restart", "2", "restart_loses_replicas", "critical"] == 1


def test_a_hazard_that_nobody_could_see_is_not_said_to_be_absent() -> None:
    found = scraped(replace(ALL_SEEN, log_dirs=NO_STATUS))
    active = found["kraftgate_hazard_active"]
    assert active == {("unfenced_early",): 1}
    assert found["kraftgate_hazards_known"] == {(): 0}


def test_waits_are_counted_by_name_and_only_the_sources_while_it_is_blind() -> None:
    found = scraped(ALL_SEEN)
    assert found["kraftgate_waits"]["broker_held",] == 1
    assert found["kraftgate_waits"]["broker_stalled",] == 0
    blind = scraped(ALL_SEEN, now_ms=NOW_MS + 60_000)
    assert blind["kraftgate_waits"] == {("not_running",): 1}
    assert set(blind["kraftgate_source_current"].values()) == {0}


def test_after_a_rollback_no_wait_is_missing() -> None:
    """The metadata log is over: that no controller answers hides nothing."""
    silent = replace(ALL_SEEN, status=replace(FRESH, last_reply_ms=NOW_MS - 60_000))
    ruled = with_summary(silent, phase=Phase.ROLLED_BACK, zookeeper=zookeeper(kraft=False))
    assert scraped(ruled)["kraftgate_waits"].keys() == {(each,) for each in WaitKind}


def test_while_run_hangs_no_other_wait_is_said_to_be_absent() -> None:
    earlier = WALK_TOLD.model_copy(update={"at_ms": NOW_MS - 180_000})
    found = scraped(replace(ALL_SEEN, execution=earlier))
    assert found["kraftgate_waits"] == {("not_running",): 1}


def test_sources_are_those_that_are_configured_and_in_use() -> None:
    journals = {
        DataSource.ZOOKEEPER: Journal(last=12, read=10, unread_ms=NOW_MS - 15_001),
        DataSource.LOG_DIRS: Journal(last=None, read=3),
    }
    status = replace(FRESH, high_watermark=1500, due_offset=1440)
    one = replace(ALL_SEEN, journals=journals, status=status)
    found = scraped(one)
    assert found["kraftgate_source_current"] == {
        ("metadata_log",): 1,
        ("zookeeper",): 0,
        ("log_dirs",): 0,
    }
    assert found["kraftgate_source_unread"] == {("metadata_log",): 60, ("zookeeper",): 2}
    assert found["kraftgate_metadata_high_watermark"] == {(): 1500}
    finalized = scraped(with_summary(one, phase=Phase.FINALIZED))
    assert ("zookeeper",) not in finalized["kraftgate_source_current"]
    jmx = CONFIG + "jmx: {exporters: {'1': 'http://b1:7071/metrics'}}\n"
    with_jmx = scraped(replace(one, jmx=LIVE), jmx)
    assert with_jmx["kraftgate_source_last_reply_timestamp_seconds"]["jmx",] == 1789999999.6
    alone = scraped(one, "cluster: {name: prod}\ncontrollers: {bootstrap: 'c1:9093'}\n")
    assert alone["kraftgate_source_current"].keys() == {("metadata_log",)}


def test_an_error_of_a_source_is_told() -> None:
    refused = replace(FRESH, error="cluster id other")
    found = scraped(replace(ALL_SEEN, status=refused))
    assert found["kraftgate_source_error"]["metadata_log",] == 1
    assert found["kraftgate_source_current"]["metadata_log",] == 0


def test_a_cluster_is_told_by_its_id_and_version() -> None:
    found = scraped(replace(ALL_SEEN, status=replace(FRESH, cluster_id="4L6g3nShT-eMCtK--X86sw")))
    told = found["kraftgate_cluster_info"]
    assert told == {("4L6g3nShT-eMCtK--X86sw", "3.9-IV0", ""): 1}


def test_jmx_numbers_are_told_as_they_were_read_and_not_after() -> None:
    found = scraped(with_summary(ALL_SEEN, jmx=JMX))
    assert found["kraftgate_jmx_zk_write_behind_lag_records"] == {("3000",): 7}
    assert found["kraftgate_jmx_zk_migration_state"] == {("1",): 4}
    assert found["kraftgate_jmx_contradictions"] == {("3000",): 0, ("1",): 1}
    assert found["kraftgate_jmx_silent_since_timestamp_seconds"] == {("2",): 1789999920.0}
    read = found["kraftgate_jmx_read_timestamp_seconds"]
    assert read == {("3000",): 1789999995.0, ("1",): 1789999995.0, ("2",): 1789999910.0}
    assert "kraftgate_jmx_offline_log_directories" not in found


def test_comparisons_are_told_once_there_was_one() -> None:
    compared = Compared(at_ms=NOW_MS - 30_000, compared=32, lasting={"isr": 2, "config": 1})
    found = scraped(with_summary(ALL_SEEN, content=compared))
    assert found["kraftgate_comparison_differences"] == {("zookeeper",): 3}
    assert found["kraftgate_comparison_timestamp_seconds"] == {("zookeeper",): 1789999970.0}


def test_clusters_have_separate_samples() -> None:
    other = replace(HYBRID, summary=replace(cluster(Phase.FINALIZED, kraft(1)), cluster="test"))
    text = written(registry(seen(ALL_SEEN), seen(other, "cluster: {name: test}\n")))
    assert 'kraftgate_phase{cluster="prod",phase="hybrid"} 1.0' in text
    assert 'kraftgate_phase{cluster="test",phase="finalized"} 1.0' in text


def test_every_metric_has_a_scrape_that_shows_it() -> None:
    """So none is declared and never filled."""
    found = samples(written(registry(everything(), receivers=RECEIVERS)))
    assert {each.name for each in metrics()} == found.keys()


@examples(60)
@given(views())
def test_any_cluster_makes_a_valid_exposition_without_negative_numbers(any_view: View) -> None:
    one = replace(ALL_SEEN, summary=replace(any_view.summary, cluster="prod"))
    for name, of_name in scraped(one).items():
        if name != "kraftgate_migration_znode_offset":  # -1 before the copy, as Kafka writes it
            assert all(value >= 0 for value in of_name.values()), (name, of_name)


def big(brokers: int, log_dirs: int) -> ClusterRead:
    def one(id_: int) -> BrokerSummary:
        early = UnfencedEarly(pending=64, duration_ms=70)
        return held(id_, unfenced_early=early, under_replicated=3, replicas=replicas(unassigned=9))

    disks = {
        id_: BrokerDisks(
            id=id_,
            answered_ms=NOW_MS,
            unreachable_since_ms=NOW_MS,
            log_dirs=tuple(on_disk(f"/data/disk-{each}") for each in range(log_dirs)),
        )
        for id_ in range(brokers)
    }
    return with_summary(
        ALL_SEEN,
        brokers=tuple(one(id_) for id_ in range(brokers)),
        disks=DisksImage(brokers=disks),
        topics=5_000,
        partitions=1_000_000,
    )


def count(found: Samples) -> int:
    return sum(map(len, found.values()))


@pytest.mark.slow
def test_the_number_of_samples_is_bounded_by_brokers_and_directories() -> None:
    """At 300 x 12 it is what Prometheus takes from a node exporter or two; partitions add none."""
    small = count(scraped(big(1, 1)))
    per_broker = count(scraped(big(2, 1))) - small - 5
    assert per_broker <= 33, "two of them are alerts of the broker"
    assert count(scraped(big(1, 2))) - small == 5
    whole = count(scraped(big(300, 12)))
    assert whole <= small + 299 * per_broker + 5 * (300 * 12 - 1)
    assert whole < 29_000
